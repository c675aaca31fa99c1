"""One connection of a simulated client: a real Session, and a peer that reads when it is told to.

Everything is recorded as it is written, under the listen that it is for; the peer's own copies
change when it reads. What was written and not read when the connection is cut is lost.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.history import (
    Acknowledged,
    History,
    Keys,
    Listen,
    Push,
    Refused,
    changed,
    hash_of,
)
from tests.simulation.loop import SimulatedLoop
from tests.wire.dialogue import server_messages
from treedb.database import Database
from treedb.server.callers import Callers
from treedb.server.session import Session

HIGH_BYTES, LOW_BYTES = 300, 100
TIMER_MS = 2  # a timer is set from whole milliseconds, and runs so much later at most

ListenKey = tuple[Keys, str]
Effect = Callable[[], None]


@dataclass
class PeerDoor:
    """A door whose peer takes one message at a time."""

    written: Callable[[Any], Effect]
    closed_by_us: Callable[[], None]
    unsent: deque[tuple[int, Effect]] = field(default_factory=deque)
    unsent_bytes: int = 0
    congested: bool = False
    was_congested: bool = False
    is_closed: bool = False
    _relaxed: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, ready: bytes) -> None:
        if self.is_closed:
            return
        messages = server_messages(ready)
        size = len(ready) // len(messages)
        for message in messages:
            self.unsent.append((size, self.written(message)))
            self.unsent_bytes += size
        self.congested = self.congested or self.unsent_bytes > HIGH_BYTES
        self.was_congested |= self.congested

    def buffered(self) -> int:
        return self.unsent_bytes

    async def drain(self) -> None:
        while self.congested and not self.is_closed:
            self._relaxed.clear()
            await self._relaxed.wait()

    def close(self, code: int, reason: str) -> None:
        if not self.is_closed:
            self.cut()
            self.closed_by_us()

    def cut(self) -> None:
        self.is_closed = True
        self.unsent.clear()
        self.congested = False
        self._relaxed.set()

    def read(self) -> None:
        """Let the peer take the oldest message."""
        if not self.unsent:
            return
        size, effect = self.unsent.popleft()
        self.unsent_bytes -= size
        effect()
        if self.unsent_bytes <= LOW_BYTES:
            self.congested = False
            self._relaxed.set()


@dataclass(frozen=True)
class Request:
    """A request that is not answered yet."""

    action: str
    listen: Listen | None = None
    key: ListenKey | None = None
    stamp: int = 0
    uid: str | None = None
    expires_at_ms: int | None = None


@dataclass(eq=False)
class Connection:
    """A client's connection, from its beginning to its end; `copies` outlive it."""

    client: str
    loop: SimulatedLoop
    history: History
    copies: dict[ListenKey, Any]
    uid_given: str | None = None
    expires_at_ms: int | None = None
    requests: dict[int, Request] = field(default_factory=dict)
    listens: dict[ListenKey, Listen] = field(default_factory=dict)
    tags: dict[int, ListenKey] = field(default_factory=dict)
    numbers: int = 0
    is_over: bool = False
    frames: deque[str] = field(default_factory=deque)

    def open(self, database: Database, callers: Callers) -> None:
        self.door = PeerDoor(self._written, self.cut)
        self.session = Session(database, self.door, callers)
        self._something = asyncio.Event()
        self.loop.create_task(self._serve())

    async def _serve(self) -> None:
        """Do as the websocket endpoint does: one frame after the other, and an end."""
        while not self.is_over:
            if self.frames:
                await self.session.receive(self.frames.popleft())
            else:
                self._something.clear()
                await self._something.wait()
        self.session.end()

    def cut(self) -> None:
        """Lose the connection, whoever ends it."""
        self.is_over = True
        self.door.cut()
        self._something.set()
        for listen in self.listens.values():
            self._end(listen, "cut")
        self.listens.clear()

    @property
    def uid(self) -> str | None:
        """Return who the client is, by a token that was not noticed to have expired."""
        expires = self.expires_at_ms
        if expires is not None and expires + TIMER_MS <= self.loop.noticed_ms:
            return None
        return self.uid_given

    @property
    def may_have_expired(self) -> bool:
        """Tell whether the token has expired, noticed or not."""
        expires = self.expires_at_ms
        return expires is not None and expires <= self.loop.clock.now_ms()

    def send(self, action: str, body: dict[str, Any], request: Request) -> None:
        self.numbers += 1
        self.requests[self.numbers] = request
        message = {"t": "d", "d": {"r": self.numbers, "a": action, "b": body}}
        self.frames.append(json.dumps(message))
        self._something.set()

    def listen(self, place: Keys, query: dict[str, Any] | None) -> None:
        """Listen, with the hash of the copy that is left from before."""
        key = (place, str(query))
        copy = self.copies.get(key)
        listen = Listen(self.client, place, query, self.history.last, first=copy)
        body: dict[str, Any] = {"p": "/" + "/".join(place), "h": hash_of(copy)}
        if query is not None:
            body |= {"q": query, "t": self.numbers + 1}
            self.tags[self.numbers + 1] = key
        self.listens[key] = listen
        self.send("q", body, Request("q", listen, key))

    def unlisten(self, key: ListenKey) -> None:
        listen = self.listens[key]
        body: dict[str, Any] = {"p": "/" + "/".join(listen.place)}
        if listen.query is not None:
            tag = next(tag for tag, each in reversed(self.tags.items()) if each == key)
            body |= {"q": listen.query, "t": tag}
        self.send("n", body, Request("n", listen, key))

    # What is written to the peer.

    def _written(self, message: Any) -> Effect:
        content = message["d"]
        if message["t"] != "d":
            return _nothing
        if "r" in content:
            return self._answered(content["r"], content["b"]["s"])
        if content["a"] in ("d", "m"):
            return self._told(content["a"], content["b"])
        if content["a"] == "c":
            self._cancelled(content["b"])
        elif content["a"] == "ac":
            self.uid_given = None
            self.history.note("cancelled by expiry")
        return _nothing

    def _answered(self, number: int, status: str) -> Effect:
        if number not in self.requests:
            self.history.strays.append(f"{self.client} was answered {number}, which it never asked")
            return _nothing
        request = self.requests.pop(number)
        if request.action == "auth":
            self.uid_given = request.uid if status == "ok" else None
            self.expires_at_ms = request.expires_at_ms if status == "ok" else None
        elif request.action == "unauth":
            self.uid_given, self.expires_at_ms = None, None
        elif request.action == "q":
            return self._listen_answered(request, status)
        elif request.action == "n" and request.key is not None and request.listen is not None:
            if self.listens.get(request.key) is request.listen:
                self._end(self.listens.pop(request.key), "unlistened")
        elif request.stamp and status == "ok":
            self.history.acknowledged.append(Acknowledged(request.stamp, self._heard()))
        return _nothing

    def _heard(self) -> tuple[tuple[Listen, int], ...]:
        """Return how far each plain listen has been told, for a client that always kept up."""
        if self.door.was_congested:
            return ()
        plain = (each for each in self.listens.values() if each.query is None and each.is_answered)
        return tuple((each, len(each.pushes)) for each in plain)

    def _listen_answered(self, request: Request, status: str) -> Effect:
        listen, key = request.listen, request.key
        assert listen is not None
        assert key is not None
        if status != "ok":
            refused = Refused(listen, self.uid, self.may_have_expired, self.history.last)
            self.history.refused.append(refused)
            self.listens.pop(key, None)
            return _nothing
        listen.is_answered = True
        self.history.listens.append(listen)
        if listen.begun_at == 0 and listen.first_uid is None:
            self._begin(listen, listen.first)
            listen.is_resumed = True
            kind = "resumed with the right hash" if listen.first is not None else "began empty"
            self.history.note(kind)
        return _nothing

    def _begin(self, listen: Listen, value: Any) -> None:
        listen.first = value
        listen.begun_at = self.history.last
        listen.first_uid = self.uid or "nobody"

    def _told(self, action: str, body: dict[str, Any]) -> Effect:
        place = tuple(filter(None, body["p"].split("/")))
        key = self.tags.get(body["t"]) if "t" in body else self._plain_key(place)
        listen = self.listens.get(key) if key is not None else None
        if key is None or listen is None:
            self.history.strays.append(f"{self.client} was told of {body}, it listens to no such")
            return _nothing
        changes = _changes(action, place, body["d"])
        if not listen.is_answered and listen.first_uid is None:
            if changes[0][0] != listen.place:
                self.history.strays.append(f"{listen} begins with {body}")
            self._begin(listen, changes[0][1])
        else:
            may_start_anew = self.door.was_congested
            push = Push(changes, self.history.last, self.uid, may_start_anew)
            listen.pushes.append(push)
        return lambda: self._apply(key, changes)

    def _plain_key(self, place: Keys) -> ListenKey | None:
        for key, listen in self.listens.items():
            if listen.query is None and place[: len(listen.place)] == listen.place:
                return key
        return None

    def _apply(self, key: ListenKey, changes: tuple[tuple[Keys, Any], ...]) -> None:
        copy = self.copies.get(key)
        for path, value in changes:
            copy = changed(copy, path[len(key[0]) :], value)
        self.copies[key] = copy

    def _cancelled(self, body: dict[str, Any]) -> None:
        place = tuple(filter(None, body["p"].split("/")))
        query = body["q"][0] if "q" in body else None
        listen = self.listens.pop((place, str(query)), None)
        if listen is None:
            self.history.strays.append(f"{self.client} was cancelled {body}, it has no such listen")
            return
        is_changing = any(each.action in ("auth", "unauth") for each in self.requests.values())
        is_doubtful = is_changing or self.may_have_expired
        self._end(listen, "cancelled as somebody else" if is_doubtful else "cancelled")
        self.history.note("cancelled")

    def _end(self, listen: Listen, how: str) -> None:
        listen.ended, listen.end_uid, listen.end_on_disk = how, self.uid, self.history.last


def _changes(action: str, place: Keys, data: Any) -> tuple[tuple[Keys, Any], ...]:
    if action == "d":
        return ((place, data),)
    changes = [((*place, *path.split("/")), value) for path, value in data.items()]
    return tuple(sorted(changes, key=lambda change: change[0]))


def _nothing() -> None:
    """A message that changes no copy."""
