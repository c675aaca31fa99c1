"""The server answers every row of the table of odd, wrong and hostile requests as it says."""

import json
import logging
import select
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.server.bad_inputs import (
    ANSWERS,
    OPEN,
    Row,
    check_answer,
    facts_of,
    headers_of,
    limits_of,
    load_table,
    number_of,
    part_of,
    target_of,
    text_of,
)
from tests.server.live_server import (
    TIMEOUT_SECONDS,
    Answer,
    LiveServer,
    RawClient,
    live_server,
)
from treedb.config import MIB, Settings

TABLE = load_table(ANSWERS)
OWNER = {"Authorization": "Bearer owner"}
MOST_MS = 60_000  # of a step that names no bound of its own
MOST_MIB = 4096
LAST = {"A": 36, "B": 60, "C": 27, "D": 33}

ServerFor = Callable[[Row], LiveServer]


@pytest.fixture(scope="module")
def server_for(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerFor]:
    """Give the server with the limits and settings of a row; rows that name the same share it."""
    servers: dict[str, LiveServer] = {}
    with ExitStack() as stack:

        def find(row: Row) -> LiveServer:
            key = json.dumps([row.get("limits"), row.get("settings")])
            if key not in servers:
                folder = tmp_path_factory.mktemp("server")
                settings = settings_of(row, folder / "data")
                serving = live_server(folder, limits=limits_of(row), settings=settings)
                servers[key] = stack.enter_context(serving)
            return servers[key]

        yield find


def settings_of(row: Row, folder: Path) -> Settings:
    named = row.get("settings", {})
    lists = {name: tuple(value) for name, value in named.items() if isinstance(value, list)}
    return Settings(data=folder, dev=True, **{**named, **lists})


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: row["id"])
def test_the_answer_is_that_of_the_table(
    server_for: ServerFor, row: Row, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "treedb")
    server, defaults = server_for(row), TABLE["parts"][part_of(row)]
    given = {"rules": OPEN, "tree": None, **defaults, **row}
    for target, name in (("/.settings/rules.json", "rules"), ("/.json", "tree")):
        assert server.ask("PUT", target, json.dumps(given[name]), OWNER).status == 200
    with ExitStack() as stack:
        run = Run(server, defaults, stack)
        for step in row["steps"]:
            run.step(step)
    assert [each.getMessage() for each in caplog.records if is_a_fault(each)] == []


def is_a_fault(record: logging.LogRecord) -> bool:
    """Tell a log line of a fault of ours, or one into which a client wrote raw characters."""
    return record.levelno >= logging.ERROR or not record.getMessage().isprintable()


class Run:
    """The steps of one row, sent to a server."""

    def __init__(self, server: LiveServer, defaults: Row, stack: ExitStack) -> None:
        self._server = server
        self._defaults = defaults
        self._stack = stack
        self._stream: RawClient | None = None

    def step(self, step: Row) -> None:
        started, before = time.monotonic(), resident_bytes()
        if "raw" in step:
            self._raw(step)
        elif "hears" in step:
            self._hear(step)
        elif "statuses" in step:
            self._at_once(step)
        else:
            for _ in range(step.get("times", 1)):
                self._ask(step)
        assert (time.monotonic() - started) * 1000 < step.get("within_ms", MOST_MS)
        assert resident_bytes() - before < step.get("grows_mib", MOST_MIB) * MIB

    def _request(self, step: Row, body: bytes | None) -> Answer:
        method = str(step.get("method", self._defaults["method"]))
        target = target_of(self._defaults, step)
        return self._server.ask(method, target, body, headers_of(step))

    def _ask(self, step: Row) -> None:
        answer = self._request(step, text_of(step["body"]) if "body" in step else None)
        check_answer(facts_of(TABLE, step["answer"]), answer)

    def _at_once(self, step: Row) -> None:
        """Send so many requests at once; a body's {} is the number of its request."""
        count = sum(step["statuses"].values())
        bodies = [step["body"].replace("{}", str(number)).encode() for number in range(count)]
        with ThreadPoolExecutor(count) as threads:
            answers = list(threads.map(lambda body: self._request(step, body), bodies))
        statuses = [answer.status for answer in answers]
        assert {str(each): statuses.count(each) for each in statuses} == step["statuses"]

    def _raw(self, step: Row) -> None:
        """Send bytes and read the answers; `endless` bytes follow until the server has enough."""
        with self._server.connect() as client:
            client.send(text_of(step["raw"]))
            if "endless" in step:
                send_until_refused(client, text_of(step["endless"]), step["most_mib"] * MIB)
            methods = step.get("methods", ["GET"] * len(step["answers"]))
            for method, expected in zip(methods, step["answers"], strict=True):
                check_answer(facts_of(TABLE, expected), client.answer(method))
            if step.get("closed"):
                assert client.is_closed_by_peer()

    def _hear(self, step: Row) -> None:
        """Open a stream or go on with the one that is open; these events come next."""
        if "stream" in step:
            self._stream = self._stack.enter_context(self._server.connect())
            head = "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            self._stream.send((head % step["stream"] + "Connection: close\r\n\r\n").encode())
        assert self._stream is not None
        lines = self._stream._stream
        for event in step["hears"]:
            found = next(line for line in lines if line.startswith(b"event: "))
            assert found == f"event: {event}\n".encode()
        if step.get("closed"):
            assert b"event: " not in lines.read()


def send_until_refused(client: RawClient, piece: bytes, most_bytes: int) -> None:
    """Send a piece again and again until the server answers or hangs up."""
    sent = 0
    client.socket.setblocking(False)
    with suppress(ConnectionError):
        while not select.select([client.socket], [client.socket], [])[0]:
            assert sent < most_bytes, "the server takes it all"
            sent += client.socket.send(piece)
    client.socket.settimeout(TIMEOUT_SECONDS)


def resident_bytes() -> int:
    """Return the memory of this process, in which the server runs too."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_every_row_is_there() -> None:
    found: dict[str, set[int]] = {}
    for row in TABLE["rows"]:
        found.setdefault(part_of(row), set()).add(number_of(row))
    assert found == {part: set(range(1, last + 1)) for part, last in LAST.items()}


def test_every_name_of_an_answer_is_used() -> None:
    rows = json.dumps(TABLE["rows"])
    assert [name for name in TABLE["answers"] if f'"{name}"' not in rows] == []
