"""REST answers every row of the tables of odd and wrong inputs as they say."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.server.bad_inputs import (
    Row,
    Table,
    check_answer,
    limits_of,
    load_table,
    target_of,
    text_of,
)
from tests.server.live_server import LiveServer, errors_logged, live_server
from treedb.config import Limits

PATHS = load_table("bad_paths.json")
BODIES = load_table("bad_bodies.json")
PARAMETERS = load_table("bad_parameters.json")
OWNER = {"Authorization": "Bearer owner"}

ServerFor = Callable[[Row], LiveServer]


@pytest.fixture(scope="module")
def server_for(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerFor]:
    """Give the server with the limits of a row, its tree empty; rows share servers."""
    servers: dict[Limits, LiveServer] = {}
    with ExitStack() as stack:

        def find(row: Row) -> LiveServer:
            limits = limits_of(row)
            if limits not in servers:
                folder = tmp_path_factory.mktemp("server")
                servers[limits] = stack.enter_context(live_server(folder, limits=limits))
            assert servers[limits].ask("DELETE", "/.json").text == "null"
            return servers[limits]

        yield find


@pytest.mark.parametrize("row", PATHS["rows"], ids=lambda row: row["id"])
def test_paths(server_for: ServerFor, row: Row, caplog: pytest.LogCaptureFixture) -> None:
    run_row(PATHS, row, "GET", server_for(row))
    assert errors_logged(caplog) == []


@pytest.mark.parametrize("row", BODIES["rows"], ids=lambda row: row["id"])
def test_bodies(server_for: ServerFor, row: Row, caplog: pytest.LogCaptureFixture) -> None:
    server = server_for(row)
    started = time.monotonic()
    run_row(BODIES, row, "PUT", server)
    if "within_ms" in row:
        assert (time.monotonic() - started) * 1000 < row["within_ms"]
    assert errors_logged(caplog) == []


@pytest.mark.parametrize("row", PARAMETERS["rows"], ids=lambda row: row["id"])
def test_parameters(server_for: ServerFor, row: Row, caplog: pytest.LogCaptureFixture) -> None:
    server = server_for(row)
    rules = json.dumps(PARAMETERS["rules"])
    assert server.ask("PUT", "/.settings/rules.json", rules, OWNER).status == 200
    server.put("/list.json", PARAMETERS["list"])
    run_row(PARAMETERS, row, "GET", server)
    assert errors_logged(caplog) == []


@pytest.mark.parametrize("table, last", [(PATHS, 36), (BODIES, 60), (PARAMETERS, 27)])
def test_every_row_is_there(table: Table, last: int) -> None:
    numbers = {int(row["id"][1:].partition("-")[0]) for row in table["rows"]}
    assert numbers == set(range(1, last + 1))


def run_row(table: Table, row: Row, default_method: str, server: LiveServer) -> None:
    for step in row["steps"]:
        if "raw" in step:
            run_raw(table, step, server)
            continue
        answer = server.ask(
            step.get("method", default_method),
            target_of(table, step),
            text_of(step["body"]) if "body" in step else None,
            step.get("headers"),
        )
        check_answer(table, step["answer"], answer)


def run_raw(table: Table, step: Row, server: LiveServer) -> None:
    """Send bytes and read the answers; after them, the server closes the connection."""
    with server.connect() as client:
        client.send(text_of(step["raw"]))
        for expected in step["answers"]:
            check_answer(table, expected, client.answer())
        if step["answers"]:
            assert client.is_closed_by_peer()
