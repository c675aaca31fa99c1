"""Requests made of the description find no fault of the server, and no answer it does not tell of.

schemathesis makes them: good ones and bad ones, each parameter at its edges and all at random. It
holds statuses, headers, types and bodies of the answers against the description, sends methods
that are not described and leaves credentials out. One of its checks is not made: that what agrees
with the description is accepted, for which parameters go together no schema can tell.

A longer run: TREEDB_OPENAPI_SECONDS=600.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.server_process import StartServer
from treedb.server.openapi import description

SECONDS = os.environ.get("TREEDB_OPENAPI_SECONDS")
# So many examples of each request, beside those at the edges; or as many as there is time for.
LENGTH = ("--max-time", SECONDS) if SECONDS else ("--max-examples", "12")
# What the other phases need, operations that lead to one another, the description has not.
PHASES = "examples,coverage,fuzzing"
# A POST that acts as GET or DELETE does not look at its body, so a bad one is no reason to refuse.
SETTINGS = """
[checks.positive_data_acceptance]
enabled = false

[[operations]]
include-operation-id = ["pushRoot", "pushPlace"]
[operations.checks.negative_data_rejection]
enabled = false
"""


def test_requests_made_of_the_description_are_answered_as_it_says(
    start_server: StartServer, tmp_path: Path, seed: int
) -> None:
    server = start_server("--jsonp")
    described = description()
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    (tmp_path / "openapi.json").write_text(json.dumps(described))
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("schemathesis"), "--config-file", "schemathesis.toml"),
            *("run", "openapi.json", "--url", server.url, "--phases", PHASES, "--seed", str(seed)),
            *LENGTH,
            *("--header", "Authorization: Bearer owner"),
            *("--generation-with-security-parameters", "false"),
            *("--generation-database", "none", "--request-timeout", "20", "--warnings", "off"),
            *("--continue-on-failure", "--no-color"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"with the seed {seed}:\n{done.stdout}{done.stderr}"
    count = sum(len(item.keys() - {"parameters"}) for item in described["paths"].values())
    assert f"Tested: {count}\n" in done.stdout
