"""The websocket answers every row of the tables of wrong frames and wrong messages as they say."""

import json
import logging
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.server.bad_inputs import Row, Table, limits_of, load_table
from tests.server.live_server import LiveServer, errors_logged, live_server
from tests.server.raw_websocket import RawWebSocket, masked
from treedb.config import Limits

ROOT = Path(__file__).parents[2]
FRAMES = load_table("bad_frames.json")
MESSAGES = load_table("bad_messages.json")
OWNER = {"Authorization": "Bearer owner"}
FENCE = 999  # the number of a request after those of a row

ServerFor = Callable[[Row], LiveServer]


def rows_to_send(table: Table) -> list[Row]:
    return [row for row in table["rows"] if "held_by" not in row]


@pytest.fixture(scope="module")
def server_for(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerFor]:
    """Give the server with the limits of a row, its tree empty; rows share servers."""
    servers: dict[Limits, LiveServer] = {}
    rules = json.dumps(MESSAGES["rules"])
    with ExitStack() as stack:

        def find(row: Row) -> LiveServer:
            limits = limits_of(row)
            if limits not in servers:
                folder = tmp_path_factory.mktemp("server")
                servers[limits] = stack.enter_context(live_server(folder, limits=limits))
                put = servers[limits].ask("PUT", "/.settings/rules.json", rules, OWNER)
                assert put.status == 200
            assert servers[limits].ask("DELETE", "/.json", None, OWNER).text == "null"
            return servers[limits]

        yield find


def bytes_of(recipe: Any) -> bytes:
    if isinstance(recipe, list):
        return b"".join(map(bytes_of, recipe))
    return bytes.fromhex(recipe["hex"]) * int(recipe.get("times", 1))


def check_answers(client: RawWebSocket, row: Row) -> None:
    """Hold the answers to a row's, up to that of a request after them, and nothing else comes."""
    client.ask(FENCE, "echo", {"d": "fence"})
    answers: list[Any] = []
    pushes = 0
    while not answers or answers[-1]["r"] != FENCE:
        message = client.read()
        assert isinstance(message, dict), message
        content = message["d"]
        if "r" in content:
            answers.append(content)
        else:
            pushes += content["a"] in ("d", "m")
    for answer, (number, status, *data) in zip(answers[:-1], row["answers"], strict=True):
        assert (answer["r"], answer["b"]["s"]) == (number, status), answer
        assert data in ([], [answer["b"]["d"]])
    if "pushes" in row:
        assert pushes == row["pushes"]


@pytest.mark.parametrize("row", rows_to_send(FRAMES), ids=lambda row: row["id"])
def test_frames(server_for: ServerFor, row: Row, caplog: pytest.LogCaptureFixture) -> None:
    with RawWebSocket(server_for(row).port) as client:
        client.send(bytes_of(row["bytes"]))
        if "close" in row:
            heard = client.read_all()
            assert heard[-1] == row["close"]
            assert all(each["t"] == "c" for each in heard[:-1])
        else:
            check_answers(client, row)
    assert errors_logged(caplog) == []


@pytest.mark.parametrize("row", rows_to_send(MESSAGES), ids=lambda row: row["id"])
def test_messages(server_for: ServerFor, row: Row, caplog: pytest.LogCaptureFixture) -> None:
    with RawWebSocket(server_for(row).port) as client:
        client.say(*row["frames"])
        if "close" in row:
            told, code = client.read_all()
            assert (told["t"], told["d"]["t"], code) == ("c", "e", row["close"])
        else:
            check_answers(client, row)
    assert errors_logged(caplog) == []


def test_a_mebibyte_of_stats_is_taken_and_not_logged(
    server_for: ServerFor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "treedb")
    with RawWebSocket(server_for({}).port) as client:
        client.ask(1, "s", {"c": {"sdk": "x" * 2**20}})
        check_answers(client, {"answers": [[1, "ok", {}]]})
    assert not [record for record in caplog.records if "xxx" in record.getMessage()]


def test_a_reset_in_the_middle_of_a_message_ends_the_session_quietly(
    server_for: ServerFor, caplog: pytest.LogCaptureFixture
) -> None:
    server = server_for({})
    with RawWebSocket(server.port) as watching, RawWebSocket(server.port) as client:
        watching.ask(1, "q", {"p": "/open/left", "h": ""})
        assert watching.read()["d"]["b"]["s"] == "ok"
        client.ask(1, "o", {"p": "/open/left", "d": "yes"})
        assert client.read()["d"]["b"]["s"] == "ok"
        client.send(masked("3") + masked("{") + masked("}")[:3])
        reset = struct.pack("ii", 1, 0)  # closing sends a reset in place of an end
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        client._stream.close()
        client.socket.close()
        assert watching.read()["d"] == {"a": "d", "b": {"p": "open/left", "d": "yes"}}
        watching.ask(2, "echo", {"d": 1})
        assert watching.read()["d"]["r"] == 2
    assert errors_logged(caplog) == []


def test_an_end_of_the_stream_ends_the_session(
    server_for: ServerFor, caplog: pytest.LogCaptureFixture
) -> None:
    server = server_for({})
    with RawWebSocket(server.port) as client:
        client.ask(1, "o", {"p": "/open/left", "d": "yes"})
        assert client.read()["d"]["b"]["s"] == "ok"
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read_all() == [None]
    with RawWebSocket(server.port) as watching:
        watching.ask(1, "q", {"p": "/open/left", "h": ""})
        assert watching.read()["d"]["b"]["d"] in ("yes", {})
    assert errors_logged(caplog) == []


@pytest.mark.parametrize("table, letter, last", [(FRAMES, "G", 20), (MESSAGES, "H", 32)])
def test_every_row_is_there(table: Table, letter: str, last: int) -> None:
    names = {row["id"].partition("-")[0] for row in table["rows"]}
    assert names == {f"{letter}{number}" for number in range(1, last + 1)}


def test_what_another_test_holds_is_held() -> None:
    for row in (*FRAMES["rows"], *MESSAGES["rows"]):
        if "held_by" in row:
            path, _, name = row["held_by"].partition("::")
            assert f"def {name}(" in (ROOT / path).read_text(), row
