"""A client of one stream that reads it as the HTML standard says (9.2.6), a few bytes at a time."""

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from tests.server.live_server import HOST

TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Event:
    """An event that was dispatched, and the last id that was given by then."""

    name: str
    data: str
    last_id: str

    @property
    def json(self) -> Any:
        return json.loads(self.data)


class EventParser:
    """Bytes in, events out; what is cut off in the middle of an event is no event."""

    def __init__(self) -> None:
        self.last_id = ""
        self._id = ""
        self._rest = b""
        self._name = ""
        self._data: list[str] = []

    def begin_anew(self) -> None:
        """Forget what a cut connection left unfinished, but not the last id."""
        self._rest, self._name, self._data, self._id = b"", "", [], self.last_id

    def feed(self, raw: bytes) -> Iterator[Event]:
        *lines, self._rest = (self._rest + raw).split(b"\n")
        for line in lines:
            if line:
                self._field(line.decode())
            else:
                self.last_id = self._id
                name, data = self._name, self._data
                self._name, self._data = "", []
                if data:
                    yield Event(name, "\n".join(data), self.last_id)

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value


class EventStream:
    """One connection to a stream; with a parser of an earlier one, it comes back by its id."""

    def __init__(
        self,
        port: int,
        target: str,
        parser: EventParser | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        receive_bytes: int | None = None,
    ) -> None:
        self.parser = parser or EventParser()
        self.parser.begin_anew()
        self.bytes_read = 0
        self._waiting: list[Event] = []
        self._connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_SECONDS)
        every = {"Accept": "text/event-stream", **(headers or {})}
        if self.parser.last_id:
            every["Last-Event-ID"] = self.parser.last_id
        self._socket = socket.socket()
        if receive_bytes is not None:  # before it connects, so that it holds for the window
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._socket.settimeout(TIMEOUT_SECONDS)
        self._socket.connect((HOST, port))
        self._connection.sock = self._socket
        self._connection.request("GET", target, headers=every)
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()
        self._connection.close()
        self._socket.close()

    def read(self, most_bytes: int) -> list[Event] | None:
        """Wait for at most so many bytes; return the events they end, None when it is over."""
        try:
            raw = self._response.read1(most_bytes)
        except (OSError, http.client.HTTPException):
            return None
        self.bytes_read += len(raw)
        return list(self.parser.feed(raw)) if raw else None

    def next(self) -> Event | None:
        """Wait for the next event; None at the end."""
        while not self._waiting:
            events = self.read(65536)
            if events is None:
                return None
            self._waiting = events
        return self._waiting.pop(0)

    def told(self) -> tuple[str, Any]:
        """Wait for the next event; return its name and what its data says; ("", None) at the end."""
        event = self.next()
        if event is None:
            return "", None
        return event.name, event.data if event.name == "auth_revoked" else event.json

    def cut(self) -> None:
        """End the connection, also while somebody waits for it in another thread."""
        self._socket.shutdown(socket.SHUT_RDWR)
