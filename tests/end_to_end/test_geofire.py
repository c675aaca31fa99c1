"""The npm package `geofire`, unmodified: places, and circles whose members move."""

from collections.abc import Callable

import pytest

from tests.server_process import ServerProcess


def test_its_usual_operations_work(
    server: ServerProcess,
    run_node: Callable[..., str],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SEED", str(seed))
    run_node(server, "--test", "geofire.test.mjs")
