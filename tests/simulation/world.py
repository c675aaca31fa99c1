"""A server that a test moves and lets crash: its store, its writer, its event loop, its clients.

The store is LMDB on a disk. The writer is treedb's own, without its thread: the test says when it
takes what waits. A crash throws away everything but the store.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from tests.simulation.history import CLOSED, MEMBERS, OPEN, SIGNED, History
from tests.simulation.loop import START_MS, SimulatedClock, SimulatedLoop
from tests.simulation.peer import Connection, ListenKey
from treedb.access import Access
from treedb.auth.identity import Auth
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database
from treedb.errors import ExpiredToken, InvalidToken
from treedb.paths.path import ROOT
from treedb.server.callers import Callers
from treedb.tree.commit import Commit
from treedb.writes.writer import Writer

CLIENTS = ("one", "two", "three")
LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 24, outbox_bytes=700, write_batch=8)

_MEMBER = "root.child('members').child($room).child(auth.uid).exists()"
_INDEXED = '".indexOn": ["n"]'


def _guarded(rooms: str, lists: str, index: str) -> str:
    return f"""{{"rules": {{".write": true,
        "rooms": {{"$room": {{".read": "{rooms}"}}}},
        "lists": {{"$room": {{".read": "{lists}", {index}}}}}}}}}"""


# Rules texts by their name, each with the kind of access it gives; some have no index.
RULES = {
    f'{{"rules": {{".read": true, ".write": true, "lists": {{"$room": {{{_INDEXED}}}}}}}}}': OPEN,
    '{"rules": {".read": true, ".write": true}}': OPEN,
    _guarded(_MEMBER, _MEMBER, _INDEXED): MEMBERS,
    _guarded(_MEMBER, _MEMBER, '".validate": true'): MEMBERS,
    _guarded("auth != null", "auth != null && query.orderByChild === 'n'", _INDEXED): SIGNED,
    '{"rules": {".write": true}}': CLOSED,
}
FIRST_RULES = _guarded(_MEMBER, _MEMBER, _INDEXED)


class SteppedWriter(Writer):
    """treedb's writer without its thread."""

    on_disk: Callable[[Commit], None]

    def start(self) -> None:
        self._guard(self._declare_indexes)

    def stop(self) -> None:
        """There is no thread to end."""

    @property
    def is_idle(self) -> bool:
        return self._queue.empty()

    def take(self, most: int) -> None:
        """Do as the thread does with at most so much of what waits."""
        jobs: list[Any] = []
        while len(jobs) < most and not self._queue.empty():
            job = self._queue.get()
            if job is not None:
                jobs.append(job)
        if jobs:
            batch = self._completed(self._process(jobs))
            for commit in batch.commits:
                self.on_disk(commit)
            self._done(batch)

    def build(self) -> None:
        for work in self._background:
            self._guard(partial(self._step, work))


@dataclass
class World:
    """One namespace over its crashes, and its clients over their connections."""

    folder: FilePath
    random: random.Random
    limits: Limits = LIMITS
    clock: SimulatedClock = field(default_factory=SimulatedClock)
    history: History = field(default_factory=History)
    connections: dict[str, Connection] = field(default_factory=dict)
    copies: dict[str, dict[ListenKey, Any]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def open(self) -> None:
        """Start a server on what is on disk."""
        # Of a loop's many methods it has those that a session and a database need.
        self.loop = SimulatedLoop(self.clock)  # type: ignore[abstract]
        access = Access(FIRST_RULES)
        self.database = Database.open(
            self.folder, "default", self.limits, self.clock, access, fsync=False
        )
        writer = self.database._writer
        assert isinstance(writer, SteppedWriter), "the test replaces the thread"
        self.writer = writer
        writer.on_disk = self._on_disk
        started = self.loop.create_task(self.database.start())
        while not started.done():
            self.move_all()
        started.result()
        with self.database._store.snapshot() as snapshot:
            assert snapshot.revision == self.history.last, "a crash loses no commit"
            assert snapshot.tree.get(ROOT) == self.history.trees[-1], "nor anything of it"

    def _on_disk(self, commit: Commit) -> None:
        kind = self.history.rules[-1] if commit.rules is None else RULES[commit.rules]
        self.history.append(commit, kind)

    def crash(self) -> None:
        """End the process at this very moment; tasks are ended only to be tidy."""
        for connection in self.connections.values():
            connection.cut()
        self.connections.clear()
        store = self.database._store
        self.close_handed()
        for task in self.loop.tasks:
            task.cancel()
        while self.loop.ready:
            self.loop.run_one()
        self.faults += [str(fault) for fault in self.loop.faults]
        self.database._follower.close()
        store.close()

    def close_handed(self) -> None:
        """Let go of the snapshots of batches that were never taken."""
        for handle in self.loop.handed:
            for argument in handle._args or ():
                snapshot = getattr(argument, "snapshot", None)
                if snapshot is not None:
                    snapshot.close()
        self.loop.handed.clear()

    # Moves

    def connect(self, client: str) -> Connection:
        """Let a client connect, with the copies it has from before."""
        copies = self.copies.setdefault(client, {})
        connection = Connection(client, self.loop, self.history, copies)
        asyncio._set_running_loop(self.loop)
        try:
            connection.open(self.database, Callers(self.authenticate, explains_to_all=False))
        finally:
            asyncio._set_running_loop(None)
        self.connections[client] = connection
        return connection

    def authenticate(self, credential: str) -> Auth:
        """Take a credential "uid" or "uid@expiry in ms"."""
        uid, _, expiry = credential.partition("@")
        if not uid.isalpha():
            raise InvalidToken
        auth = Auth(uid, {}, is_admin=False, expires_at_ms=int(expiry) if expiry else None)
        if auth.has_expired(self.clock.now_ms()):
            raise ExpiredToken
        return auth

    def move_all(self) -> None:
        """Give everything that can go on one move."""
        self.writer.take(8)
        self.loop.take_handed()
        if self.loop.threads:
            self.loop.finish_thread(0)
        self.loop.run_one()
        for connection in self.connections.values():
            connection.door.read()

    def settle(self) -> None:
        """Let everything come to its end, without faults."""
        for _ in range(12):
            self.loop.pass_time(0.15)
            self.writer.build()
            while not self.is_quiet:
                self.move_all()
        for connection in self.connections.values():
            for listen in connection.listens.values():
                listen.end_uid = connection.uid

    @property
    def is_quiet(self) -> bool:
        waiting = self.loop.ready or self.loop.handed or self.loop.threads
        unread = any(each.door.unsent for each in self.connections.values())
        return not waiting and not unread and self.writer.is_idle


def expiry_in(clock: SimulatedClock, seconds: float) -> int:
    return START_MS + int((clock.seconds + seconds) * 1000)
