"""Writes may name how long they are to take at most; the rest is in test_rest.py."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.server.live_server import LiveServer, live_server
from treedb.config import DEFAULT_LIMITS

TEXT = "Data to write exceeds the maximum size that can be modified with a single request."
# A node takes a tenth of a second, and a byte a thousandth.
DEAR = replace(DEFAULT_LIMITS, node_write_ns=100_000_000, byte_write_ns=1_000_000)
NINE_NODES = json.dumps(dict.fromkeys("abcdefgh", 1))
TEN_NODES = json.dumps(dict.fromkeys("abcdefghi", 1))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("writing"), limits=DEAR) as server:
        yield server


WRITES = [
    ("PUT", "tiny", NINE_NODES, 200),
    ("PUT", "tiny", TEN_NODES, 400),
    ("PUT", "small", TEN_NODES, 200),
    ("PUT", "tiny", '"' + "x" * 898 + '"', 200),
    ("PUT", "tiny", '"' + "x" * 899 + '"', 400),
    ("PUT", "small", json.dumps([1] * 100), 400),
    ("PUT", "medium", json.dumps([1] * 100), 200),
    ("PUT", "medium", json.dumps([1] * 300), 400),
    ("PUT", "large", json.dumps([1] * 300), 200),
    ("PUT", "large", json.dumps([1] * 600), 400),
    ("PUT", "unlimited", json.dumps([1] * 600), 200),
    ("POST", "tiny", TEN_NODES, 400),
    ("PATCH", "tiny", TEN_NODES, 200),  # of an update its members count
    ("PATCH", "tiny", json.dumps(dict.fromkeys("abcdefghij", 1)), 400),
    ("DELETE", "tiny", None, 200),
    ("GET", "tiny", None, 200),
]


@pytest.mark.parametrize("method, size, body, status", WRITES)
def test_a_write_estimated_to_take_longer_is_refused(
    server: LiveServer, method: str, size: str, body: str | None, status: int
) -> None:
    server.put("/v.json?writeSizeLimit=unlimited", "before")
    answer = server.ask(method, f"/v.json?writeSizeLimit={size}", body)
    assert answer.status == status
    if status == 400:
        assert answer.json["error"] == TEXT
        assert server.get("/v.json") == "before"


def test_the_estimate_is_told(server: LiveServer) -> None:
    answer = server.ask("PUT", "/v.json?writeSizeLimit=small", json.dumps([1] * 100))
    assert answer.json["detail"] == (
        "101 nodes in 300 bytes are estimated to take 10.4 s, and writeSizeLimit allows 10 s; send "
        "it in several writes, or allow a larger one."
    )


@pytest.mark.parametrize(
    "kind, body",
    [
        ("json-patch", [{"op": "add", "path": "/x", "value": [1] * 10}]),
        ("merge-patch", {"x": [1] * 10}),
    ],
)
def test_standard_patches_are_estimated_too(server: LiveServer, kind: str, body: object) -> None:
    headers = {"Content-Type": f"application/{kind}+json"}
    target = "/v.json?writeSizeLimit="
    assert server.ask("PATCH", f"{target}tiny", json.dumps(body), headers).status == 400
    assert server.ask("PATCH", f"{target}small", json.dumps(body), headers).status != 400


def test_without_a_size_every_write_within_the_limits_is_taken(server: LiveServer) -> None:
    assert server.ask("PUT", "/v.json", json.dumps([1] * 1000)).status == 200
