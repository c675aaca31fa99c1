"""Reads end within their time, and give up what they hold; the rest is in test_rest.py."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.server.live_server import LiveServer, live_server
from treedb.config import DEFAULT_LIMITS

ROWS = 20_000  # read one by one, with a turn of the event loop between: a second, roughly
SLOW = replace(DEFAULT_LIMITS, slice_rows=1)
TIMEOUT = "The read takes longer than the timeout that was asked for."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Serve a wide tree whose reads take long."""
    with live_server(tmp_path_factory.mktemp("reading"), limits=SLOW) as server:
        server.put("/wide.json", {f"k{number:05}": "x" * 2000 for number in range(ROWS)})
        server.put("/small.json", {"a": 1})
        rules = '{"rules": {".read": true, ".write": true, "wide": {".indexOn": ".value"}}}'
        headers = {"Authorization": "Bearer owner"}
        assert server.ask("PUT", "/.settings/rules.json", rules, headers).status == 200
        yield server


def snapshots_held(server: LiveServer) -> int:
    """Count the read transactions that the store's environment has open."""
    environment: Any = server.databases._databases["default"]._store._environment
    lines = environment.readers().splitlines()[1:]
    return sum(not line.split()[-1].startswith("-") for line in lines)


@pytest.mark.parametrize(
    "query", ["", "&format=export", "&shallow=true", "&depth=1", "&print=pretty"]
)
def test_a_read_that_takes_too_long_is_given_up(server: LiveServer, query: str) -> None:
    answer = server.ask("GET", f"/wide.json?timeout=1ms{query}")
    assert (answer.status, answer.json["error"]) == (400, TIMEOUT)
    assert "/wide took longer than 1 ms" in answer.json["detail"]
    assert snapshots_held(server) == 0


def test_a_tagged_read_is_given_up_too(server: LiveServer) -> None:
    headers = {"X-Firebase-ETag": "true"}
    answer = server.ask("GET", "/wide.json?timeout=1ms", headers=headers)
    assert (answer.status, answer.json["error"]) == (400, TIMEOUT)


def test_a_stream_whose_first_value_takes_too_long_is_refused(server: LiveServer) -> None:
    headers = {"Accept": "text/event-stream"}
    answer = server.ask("GET", "/wide.json?timeout=1ms", headers=headers)
    assert (answer.status, answer.json["error"]) == (400, TIMEOUT)
    assert server.databases._databases["default"].watched_places == 0


@pytest.mark.parametrize("timeout", ["3s", "3min", "15min"])
def test_a_read_within_its_time_is_answered(server: LiveServer, timeout: str) -> None:
    assert server.get(f"/small.json?timeout={timeout}") == {"a": 1}


def test_every_read_has_the_longest_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    limits = replace(SLOW, read_timeout_ms=1)
    with live_server(tmp_path_factory.mktemp("short"), limits=limits) as server:
        server.put("/wide.json", {f"k{number:05}": "x" * 2000 for number in range(2_000)})
        answer = server.ask("GET", "/wide.json")
        assert (answer.status, answer.json["error"]) == (400, TIMEOUT)
        assert server.ask("GET", "/wide.json?timeout=15min").status == 400


def test_a_write_has_no_timeout(server: LiveServer) -> None:
    assert server.ask("PUT", "/small.json?timeout=1ms", '{"a":1}').status == 200
