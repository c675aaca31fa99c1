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
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from treedb.access import Access
from treedb.background_backfill import BackgroundBackfill
from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.errors import InsufficientStorage, Unavailable
from treedb.first_value import NO_COPY, Claim, FirstValue
from treedb.follower import Follower
from treedb.index_advice import IndexAdvice
from treedb.listening import Listening, Missed
from treedb.paths.path import Path
from treedb.paths.push_id import PushIds
from treedb.reads import JsonText, Reads, paced
from treedb.resumption import Encode
from treedb.rules.authority import Caller
from treedb.rules.cache import ruleset_of
from treedb.rules.coverage import merge_reports
from treedb.rules.ruleset import Ruleset
from treedb.schedule import Schedule
from treedb.store.background_build import BackgroundBuild
from treedb.store.index_definitions import IndexProgress
from treedb.store.kept_derived import KeptBackfill, KeptCheck
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Snapshot, Store
from treedb.sync.delivery import Listener, Watch
from treedb.tree.bookmark import Bookmark
from treedb.tree.forms import Form
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import KEY, PRIORITY, OrderBy
from treedb.tree.values import Value
from treedb.writes.admission import Gained
from treedb.writes.derived_check import survey
from treedb.writes.mend import Side
from treedb.writes.request import EndSession, KeepCheck, RulesChange, Write
from treedb.writes.rules_in_force import RulesInForce
from treedb.writes.steps import Request
from treedb.writes.writer import Batch, Outcome, Writer, Written, answer_sender

log = logging.getLogger("treedb.database")

READER_CHECK_SECONDS = 30.0
LOOK_SECONDS = 1.0  # between two looks for what other processes have written
SESSION_END_SECONDS = 5.0  # until the end of a session is tried again, when the disk was full


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
        background = (
            BackgroundBuild(store, clock),
            BackgroundBackfill(store, clock, self._rules_in_force),
        )
        self._writer = Writer(store, clock, self._rules_in_force, self._batch_done, background)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started: Listening | None = None
        self._reader_check: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None
        advise = partial(IndexAdvice(clock).give, namespace)
        self._reads = Reads(store, limits, self.is_indexed, advise, self._count_query)
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
        follower = Follower(self._store, self._clock, self._access, schedule, answer_sender)
        follower.start()
        self._started = Listening(self._reads, follower, self._writer, schedule)
        self._writer.start()
        self._check_readers()
        self._look_for_others(self.revision)
        if left := self._end_kept_sessions():
            log.warning("%d sessions ended with the server that served them", len(left))
            await asyncio.wait(left)

    async def close(self) -> None:
        """Finish the writes submitted, publish them, answer their senders, and close the store."""
        if self._loop is None or self._closing:
            return
        with suppress(Unavailable):  # then the next start ends them
            self._end_kept_sessions()
        self._closing = True
        for timer in (self._reader_check, self._look):
            if timer is not None:
                timer.cancel()
        await asyncio.to_thread(self._writer.stop)
        # What the thread handed over last arrived before this: wait until all is published.
        published = self._loop.create_future()
        self._follower.arrived(Batch((), (Outcome(published, Written(self.revision, ())),)))
        await published
        self._follower.close()
        self._store.close()

    @property
    def revision(self) -> int:
        """Return the revision of the last commit published to listeners."""
        return self._follower.revision

    @property
    def bookmark(self) -> Bookmark:
        """Return the bookmark of who has heard of every commit published."""
        return self._follower.bookmark

    @property
    def derived_changes(self) -> int:
        """Count the changes that mirrors and counts added to commits published since the start."""
        return self._follower.derived_changes

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
        async with self._permitted(path, caller) as snapshot:
            return await self._reads.value(path, snapshot)

    async def get_json(
        self, path: Path, form: Form, caller: Caller, query: Query = EVERYTHING
    ) -> list[bytes]:
        """Return what a query chooses at a place as JSON text, in pieces; without one, all of it.

        Raises TooBigToRead past the limit of an answer.
        """
        async with self._permitted(path, caller) as snapshot:
            if not query.is_filtering:
                return await self._reads.json(path, form, snapshot)
            chosen = await self._reads.chosen(path, query, snapshot)
        return [await self._reads.chosen_json(chosen, form)]

    async def get_short_json(self, path: Path, form: Form, caller: Caller) -> list[bytes] | None:
        """Return all of a place as JSON text, in pieces; None when that is long: then open it."""
        async with self._permitted(path, caller) as snapshot:
            return await self._reads.short_json(path, form, snapshot)

    @asynccontextmanager
    async def open_json(self, path: Path, form: Form, caller: Caller) -> AsyncIterator[JsonText]:
        """Open all of a place as JSON text, to be taken in chunks; raises what `get_json` does."""
        permit = partial(self._follower.permit, path, caller=caller)
        async with (
            self._reads.long_snapshot(permit) as snapshot,
            self._reads.long_json(path, form, snapshot) as text,
        ):
            yield text

    async def get_truncated(self, path: Path, levels: int, caller: Caller) -> Value:
        """Return the value with every object `levels` levels below the place as True.

        With `levels=1` this is Firebase's shallow read: objects become True, leaves stay.
        """
        async with self._permitted(path, caller) as snapshot:
            return await self._reads.truncated(path, levels, snapshot)

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

    def end_session(self, session_id: str) -> "asyncio.Future[Written]":
        """Write what a session left to be written at its end; once, whoever asks how often."""
        ended = self.submit(EndSession(session_id))
        ended.add_done_callback(partial(self._session_ended, session_id))
        return ended

    # Listening

    async def listen(
        self, watch: Watch, listener: Listener, caller: Caller, claim: Claim | None = NO_COPY
    ) -> FirstValue | None:
        """Join a listener to a watch; return the value it starts from, as export JSON.

        None when it has that value already, as its claim says, and where it can merge what differs
        from it if that is less. Without any claim the value is returned whatever it is.
        Between that value and the deliveries there is no gap and nothing comes twice. Deliveries
        begin in a later turn of the event loop than the one this returns in, so a caller that
        sends the value before it awaits anything sends it first. Listening again starts anew.
        PermissionDenied when the rules do not let the caller read.
        """
        return await self._listening.begin(watch, listener, caller, claim)

    async def resume(
        self, watch: Watch, listener: Listener, caller: Caller, since: Bookmark, encode: Encode
    ) -> Missed | None:
        """Join a listener that has seen everything up to a bookmark; return what it has missed.

        Otherwise as `listen`, which has to follow where this returns None: then only the value
        brings the listener up to date, or it is shorter, and nobody listens yet.
        """
        return await self._listening.resume(watch, listener, caller, since, encode)

    def confirm(self, watch: Watch, listener: Listener) -> None:
        """Cancel a listen whose permission ended since; called before its first value is sent."""
        self._follower.confirm(watch, listener)

    def unlisten(self, watch: Watch, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        self._follower.leave(watch, listener)

    def act_as(self, listener: Listener, caller: Caller) -> None:
        """Let a listener go on as somebody else; what it may not read now is cancelled."""
        self._follower.act_as(listener, caller)

    # Rules and indexes

    def is_indexed(self, path: Path, order_by: OrderBy) -> bool:
        """Tell whether children there may be asked for in this order without looking at all."""
        if order_by in (KEY, PRIORITY):
            return True
        return order_by.name in self.ruleset.index_on(path)

    def _count_query(self, path: Path, order_by: OrderBy) -> None:
        if (coverage := self._follower.authority.coverage) is not None:
            coverage.add_query(path, order_by.name)

    def index_progress(self) -> tuple[IndexProgress, ...]:
        """Return the indexes this database keeps, and how far each is built."""
        with self._store.snapshot() as snapshot:
            return snapshot.index_progress()

    @property
    def ruleset(self) -> Ruleset:
        """Return the rules in force for reads; writes see them from the same commit on."""
        return self._follower.authority.ruleset

    def kept_rules(self) -> KeptRules | None:
        """Return the rules put into this namespace, None while the default ones bind."""
        with self._store.snapshot() as snapshot:
            return snapshot.rules()

    async def check_rules(self, text: str, side: Side | None = None) -> tuple[Gained, int]:
        """Return what rules would bring, and the revision that was looked at, as put_rules does."""
        gained = Gained.by(await asyncio.to_thread(ruleset_of, text), self.ruleset, side)
        with self._store.snapshot() as snapshot:
            gained.refuse(await paced(gained.look(snapshot.tree)))
            return gained, snapshot.revision

    async def put_rules(self, text: str, origin: Origin, side: Side | None = None) -> Gained:
        """Put other rules in force, from one commit on; RulesError when they are wrong.

        They are wrong as well when the data contradicts a mirror or a count that they bring. With
        a `side`, which is right where they differ, the data is brought to agree instead, a little
        at a time from then on (`backfills`); what that side does not decide is refused. When this
        returns, every listener the new rules deny has been cancelled.
        """
        gained, agreed_at = await self.check_rules(text, side)
        await self.submit(RulesChange(text, origin, agreed_at, side))
        return gained

    def backfills(self) -> tuple[KeptBackfill, ...]:
        """Return which derived data is still being brought to agree, and how far that is."""
        with self._store.snapshot() as snapshot:
            return snapshot.backfills()

    def last_check(self) -> KeptCheck | None:
        """Return what the last check of derived data found, None when there was none."""
        with self._store.snapshot() as snapshot:
            return snapshot.last_check()

    async def check_derived(self) -> KeptCheck:
        """Hold all mirrors and counts against the tree, and keep what was found."""
        async with self._reads.snapshot() as snapshot:
            rules = RulesInForce(self._access.authority(), counting=False).in_force(snapshot)
            steps = survey(snapshot.tree, rules.ruleset, snapshot.revision, self._clock.now_ms())
            check = await paced(steps)
        await self.submit(KeepCheck(check))
        return check

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
    def _listening(self) -> Listening:
        assert self._started is not None, "a database is started before it is used"
        return self._started

    @property
    def _follower(self) -> Follower:
        return self._listening.follower

    def _permitted(self, path: Path, caller: Caller) -> "AbstractAsyncContextManager[Snapshot]":
        """Open a snapshot in which the caller may read a place; PermissionDenied otherwise."""
        return self._reads.snapshot(partial(self._follower.permit, path, caller=caller))

    def _end_kept_sessions(self) -> "list[asyncio.Future[Written]]":
        with self._store.snapshot() as snapshot:
            return [self.end_session(each) for each in snapshot.sessions()]

    def _session_ended(self, session_id: str, ended: "asyncio.Future[Written]") -> None:
        """Try again while the disk is full; what fails otherwise is left to the next start."""
        error = None if ended.cancelled() else ended.exception()
        if error is None or self._closing:
            return
        log.warning("what a session left to be written waits: %s", error)
        if isinstance(error, InsufficientStorage):
            assert self._loop is not None, "a database is started before it is used"
            self._loop.call_later(SESSION_END_SECONDS, self.end_session, session_id)

    def _batch_done(self, batch: Batch) -> None:
        """Hand a group commit to the event loop; called on the writer's thread."""
        assert self._loop is not None, "the writer starts after the loop is known"
        self._loop.call_soon_threadsafe(self._follower.arrived, batch)

    def _look_for_others(self, seen: int) -> None:
        """Publish what another process has committed, when nothing was published for a while.

        Our own commits are handed over by the writer; those of others nobody tells us of.
        """
        assert self._loop is not None, "the timer starts after the loop is known"
        if self.revision == seen:
            with suppress(Unavailable):  # then the next time
                self._follower.catch_up()
        self._look = self._loop.call_later(LOOK_SECONDS, self._look_for_others, self.revision)

    def _check_readers(self) -> None:
        assert self._loop is not None, "the timer starts after the loop is known"
        freed = self._store.check_readers()
        if freed:
            log.warning("freed %d reader slots of processes that died", freed)
        self._reader_check = self._loop.call_later(READER_CHECK_SECONDS, self._check_readers)
