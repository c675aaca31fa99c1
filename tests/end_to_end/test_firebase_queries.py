"""Queries and windows, as the unmodified npm package `firebase` asks and shows them."""

from collections.abc import Callable

import pytest

from tests.server_process import ServerProcess, StartServer

RunNode = Callable[..., str]
HISTORIES = 30
STEPS = 25


@pytest.mark.parametrize("scenarios", ["queries", "live_queries", "compat_queries"])
def test_the_sdk_finds_what_firebase_would_give(
    server: ServerProcess, run_node: RunNode, scenarios: str
) -> None:
    run_node(server, "--test", f"{scenarios}.test.mjs")


@pytest.mark.parametrize("rules", ["indexed", "unindexed"])
def test_after_random_histories_all_answers_are_the_naive_one(
    start_server: StartServer, run_node: RunNode, seed: int, rules: str
) -> None:
    """Without flushes to the disk: many small writes, one after the other, are asked for."""
    server = start_server("--unsafe-no-fsync")
    print(run_node(server, "random_queries.mjs", str(seed), str(HISTORIES), str(STEPS), rules))
