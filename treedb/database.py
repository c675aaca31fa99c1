"""Database: one namespace, as the servers and tools above see it.

It ties the parts together: the store that keeps the tree, the writer that changes it, and the
follower that tells who listens. The writer's thread hands every group commit to the event loop,
where the follower publishes it and then answers its senders, so that a client always has the data
of its write before the acknowledgement.

All methods run in the event loop that `start` was called in. Who reads or listens is a Caller;
the rules are asked on the same snapshot that is read.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.errors import TreeError, Unavailable
from treedb.follower import Access, Follower, Schedule
from treedb.paths.path import Path
from treedb.paths.push_id import PushIds
from treedb.rules.authority import Caller
from treedb.rules.cache import ruleset_of
from treedb.rules.coverage import merge_reports
from treedb.rules.ruleset import Ruleset
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.reading import Result, Steps, read_json, read_truncated, read_value
from treedb.store.store import Snapshot, Store
from treedb.sync.delivery import Listener
from treedb.tree.forms import Form
from treedb.tree.values import Value
from treedb.writes.request import RulesChange, Write
from treedb.writes.rules_in_force import RulesInForce
from treedb.writes.writer import Batch, Outcome, Request, Writer, Written

log = logging.getLogger("treedb.database")

READER_CHECK_SECONDS = 30.0


class Database:
    """The tree of one namespace: read it, write it, listen to it, guard it."""

    def __init__(
        self, namespace: str, store: Store, limits: Limits, clock: SystemClock, access: Access
    ) -> None:
        self.namespace = namespace
        self.limits = limits
        self._store = store
        self._clock = clock
        self._access = access
        self._push_ids = PushIds(clock.random_bits)
        self._rules_in_force = RulesInForce(access.authority(), counting=access.counts_coverage)
        self._writer = Writer(store, clock, self._rules_in_force, self._batch_done)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started: Follower | None = None
        self._reader_check: asyncio.TimerHandle | None = None
        self._closing = False

    @classmethod
    def open(
        cls,
        directory: FilePath,
        namespace: str,
        limits: Limits,
        clock: SystemClock,
        access: Access,
        *,
        fsync: bool = True,
    ) -> "Database":
        """Open the namespace kept in `directory`, creating it when absent; see Store.open."""
        return cls(namespace, Store.open(directory, limits, fsync=fsync), limits, clock, access)

    async def start(self) -> None:
        """Begin to take writes and to follow the journal."""
        self._loop = asyncio.get_running_loop()
        schedule = Schedule(self._loop.call_soon, self._loop.call_later)
        self._started = Follower(self._store, self._clock, self._access, schedule, _answer)
        self._started.start()
        self._writer.start()
        self._check_readers()

    async def close(self) -> None:
        """Finish the writes submitted, publish them, answer their senders, and close the store."""
        if self._loop is None or self._closing:
            return
        self._closing = True
        if self._reader_check is not None:
            self._reader_check.cancel()
        await asyncio.to_thread(self._writer.stop)
        # What the thread handed over last arrived before this: wait until all is published.
        published = self._loop.create_future()
        self._follower.arrived(Batch((), (Outcome(published, Written(self.revision, ())),)))
        await published
        self._store.close()

    @property
    def revision(self) -> int:
        """Return the revision of the last commit published to listeners."""
        return self._follower.revision

    @property
    def watched_places(self) -> int:
        """Count the places listened to."""
        return self._follower.watched_places

    def push_id(self) -> str:
        """Make a new push id by the server's clock."""
        return self._push_ids.next(self._clock.now_ms())

    # Reading

    async def get(self, path: Path, caller: Caller) -> Value:
        """Return the value at a place in export form, None when there is nothing."""
        with self._permitted(path, caller) as snapshot:
            return await _paced(read_value(snapshot.tree, path, self.limits.slice_rows))

    async def get_json(self, path: Path, form: Form, caller: Caller) -> list[bytes]:
        """Return the value at a place as JSON text, in pieces; TooBigToRead past the limit."""
        with self._permitted(path, caller) as snapshot:
            return await _paced(self._json(path, form, snapshot))

    async def get_truncated(self, path: Path, levels: int, caller: Caller) -> Value:
        """Return the value with every object `levels` levels below the place as True.

        With `levels=1` this is Firebase's shallow read: objects become True, leaves stay.
        """
        with self._permitted(path, caller) as snapshot:
            return await _paced(read_truncated(snapshot.tree, path, levels, self.limits))

    # Writing

    async def write(self, write: Write) -> Written:
        """Make a write durable and published; raises the TreeError that refused it."""
        return await self.submit(write)

    def submit(self, request: Request) -> "asyncio.Future[Written]":
        """Queue a write; writes take effect in the order of these calls."""
        assert self._loop is not None, "a database is started before it is used"
        answer: asyncio.Future[Written] = self._loop.create_future()
        if self._closing:
            answer.set_exception(Unavailable("the server is shutting down, try again later"))
        else:
            self._writer.submit(request, answer)
        return answer

    # Listening

    async def listen(self, path: Path, listener: Listener, caller: Caller) -> list[bytes]:
        """Join a listener to a place; return the value it starts from as export JSON, in pieces.

        Between that value and the deliveries there is no gap and nothing comes twice. Deliveries
        begin in a later turn of the event loop than the one this returns in, so a caller that
        sends the value before it awaits anything sends it first. Listening to a place again
        starts anew. PermissionDenied when the rules do not let the caller read.
        """
        assert self._loop is not None, "a database is started before it is used"
        with self._store.snapshot() as snapshot:
            self._follower.join(path, listener, snapshot, caller, held=True)
            try:
                pieces = await _paced(self._json(path, Form.EXPORT, snapshot))
            except BaseException:
                self.unlisten(path, listener)
                raise
        self._loop.call_soon(self._follower.release, path, listener)
        return pieces

    def unlisten(self, path: Path, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        self._follower.leave(path, listener)

    def act_as(self, listener: Listener, caller: Caller) -> None:
        """Let a listener go on as somebody else; places it may not read now are cancelled."""
        self._follower.act_as(listener, caller)

    # Rules

    @property
    def ruleset(self) -> Ruleset:
        """Return the rules in force for reads; writes see them from the same commit on."""
        return self._follower.authority.ruleset

    def kept_rules(self) -> KeptRules | None:
        """Return the rules put into this namespace, None while the default ones bind."""
        with self._store.snapshot() as snapshot:
            return snapshot.rules()

    async def put_rules(self, text: str, origin: Origin) -> None:
        """Put other rules in force, from one commit on; RulesError when they are wrong.

        When this returns, every listener the new rules deny has been cancelled.
        """
        await asyncio.to_thread(ruleset_of, text)
        await self.submit(RulesChange(text, origin))

    def coverage(self) -> dict[str, Any] | None:
        """Return how the rules were used since they came into force, None if not counted."""
        reading, writing = self._follower.authority, self._rules_in_force.authority
        # The writer takes other rules up with the next write: until then it counted by the old.
        counted = [each for each in (reading, writing) if each.ruleset.text == reading.ruleset.text]
        reports = [each.coverage.report() for each in counted if each.coverage is not None]
        return merge_reports(reports) if reports else None

    def call_at(self, time_ms: int, action: Callable[[], None]) -> asyncio.TimerHandle:
        """Run something when the server's clock reaches a time; at once when that has passed."""
        assert self._loop is not None, "a database is started before it is used"
        seconds = max(0, time_ms - self._clock.now_ms()) / 1000
        return self._loop.call_later(seconds, action)

    # Parts

    @property
    def _follower(self) -> Follower:
        assert self._started is not None, "a database is started before it is used"
        return self._started

    def _permitted(self, path: Path, caller: Caller) -> Snapshot:
        """Open a snapshot in which the caller may read a place; PermissionDenied otherwise."""
        snapshot = self._store.snapshot()
        try:
            self._follower.permit(path, snapshot, caller)
        except BaseException:
            snapshot.close()
            raise
        return snapshot

    def _json(self, path: Path, form: Form, snapshot: Snapshot) -> Steps[list[bytes]]:
        limits = self.limits
        return read_json(snapshot.tree, path, form, limits.slice_rows, limits.answer_bytes)

    def _batch_done(self, batch: Batch) -> None:
        """Hand a group commit to the event loop; called on the writer's thread."""
        assert self._loop is not None, "the writer starts after the loop is known"
        self._loop.call_soon_threadsafe(self._follower.arrived, batch)

    def _check_readers(self) -> None:
        assert self._loop is not None, "the timer starts after the loop is known"
        freed = self._store.check_readers()
        if freed:
            log.warning("freed %d reader slots of processes that died", freed)
        self._reader_check = self._loop.call_later(READER_CHECK_SECONDS, self._check_readers)


async def _paced(steps: Steps[Result]) -> Result:
    """Run steps to their end, letting the event loop have its turn between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        await asyncio.sleep(0)


def _answer(outcome: Outcome) -> None:
    """Resolve a sender's future, unless the sender has gone."""
    assert isinstance(outcome.ticket, asyncio.Future)
    if outcome.ticket.done():
        return
    if isinstance(outcome.result, TreeError):
        outcome.ticket.set_exception(outcome.result)
    else:
        outcome.ticket.set_result(outcome.result)
