"""Random histories with faults keep the listener contract: L1 to L8 of the fault model.

`TREEDB_SIMULATIONS=20000 make test` runs as many; a failure names its seed.
"""

import os
from collections import Counter
from pathlib import Path as FilePath

import pytest

from tests.server.live_server import errors_logged
from tests.simulation.simulation import findings, simulate
from tests.simulation.validators import kinds_of_steps

HISTORIES = int(os.environ.get("TREEDB_SIMULATIONS", "150"))
# What must have happened at least once in so many histories, or they show less than they seem to.
FAULTS_OF_EVERY_RUN = {
    "crash",
    "rules",
    "cancelled",
    "cancelled by expiry",
    "closed by the server",
    "resumed with the right hash",
    "a slow read was under way",
    "a window was refilled",
    "a window was told whole",
    "started anew",
    "told of a commit",
}


def test_histories_keep_the_listener_contract(
    tmp_path: FilePath,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    happened: Counter[str] = Counter()
    for number in range(seed, seed + HISTORIES):
        history = simulate(tmp_path / str(number), number, monkeypatch)
        assert [f"seed {number}: {finding}" for finding in findings(history)] == []
        assert errors_logged(caplog) == [], number
        happened.update(history.happened)
        happened.update(kinds_of_steps(history))
    assert FAULTS_OF_EVERY_RUN - set(happened) == set()
