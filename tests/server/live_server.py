"""The application under uvicorn in a thread, and a client that sends bytes as they are."""

import json
import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import uvicorn

from treedb.auth.authenticator import build_authenticator
from treedb.auth.claims import Binding
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits, Settings
from treedb.server.app import build_app
from treedb.server.namespaces import Databases
from treedb.server.protocol import uvicorn_options
from treedb.server.rules_file import RulesFile

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class RawClient:
    """One connection; nothing is escaped, corrected or added."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), TIMEOUT_SECONDS)
        self._stream = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stream.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, method: str = "GET") -> Answer:
        """Read one answer; its body goes by its Content-Length, which all of ours have."""
        status = int(self._stream.readline().split()[1])
        headers: dict[str, str] = {}
        while line := self._stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        size = 0 if method == "HEAD" or status in (204, 304) else int(headers["content-length"])
        return Answer(status, headers, self._stream.read(size))

    def is_closed_by_peer(self) -> bool:
        return self._stream.read(1) == b""


class LiveServer:
    """What a test asks of a running server."""

    def __init__(self, databases: Databases, port: int) -> None:
        self.databases = databases
        self.port = port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def connect(self) -> RawClient:
        return RawClient(self.port)

    def ask(
        self,
        method: str,
        target: str | bytes,
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request on a connection of its own."""
        with self.connect() as client:
            client.send(request_bytes(method, target, body, headers or {}))
            return client.answer(method)

    def get(self, target: str) -> Any:
        """Return the value that a GET answers with."""
        answer = self.ask("GET", target)
        assert answer.status == 200, answer
        return answer.json

    def put(self, target: str, value: object) -> None:
        assert self.ask("PUT", target, json.dumps(value)).status == 200


def request_bytes(
    method: str, target: str | bytes, body: str | bytes | None, headers: Mapping[str, str]
) -> bytes:
    raw_target = target.encode() if isinstance(target, str) else target
    raw_body = body.encode() if isinstance(body, str) else body
    every = {"Host": "localhost", "Connection": "close", **headers}
    if raw_body is not None:
        every["Content-Length"] = str(len(raw_body))
    head = "".join(f"{name}: {value}\r\n" for name, value in every.items())
    return b"%s %s HTTP/1.1\r\n%s\r\n%s" % (
        method.encode(),
        raw_target,
        head.encode("latin-1"),
        raw_body or b"",
    )


@contextmanager
def live_server(
    folder: Path, *, limits: Limits = DEFAULT_LIMITS, settings: Settings | None = None
) -> Iterator[LiveServer]:
    """Serve from a data folder until the block ends; with --dev unless settings are given."""
    chosen = settings or Settings(data=folder / "data", dev=True)
    clock = SystemClock()
    rules_file = None if chosen.rules is None else RulesFile.load(chosen.rules)
    databases = Databases(chosen, limits, clock, rules_file)
    authenticator = build_authenticator(
        admin_token=chosen.admin_token,
        auth_secret=chosen.auth_secret,
        binding=Binding(chosen.auth_audience, chosen.auth_issuer),
        is_dev=chosen.dev,
        now_ms=clock.now_ms,
    )
    app = build_app(databases, chosen, limits, authenticator.authenticate)
    options = {**uvicorn_options(limits), "log_config": None}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    listener = socket.create_server((HOST, 0))
    thread = threading.Thread(target=server.run, args=([listener],), name="live-server")
    thread.start()
    try:
        yield LiveServer(databases, listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(TIMEOUT_SECONDS)
        listener.close()
    assert not thread.is_alive()


def errors_logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
