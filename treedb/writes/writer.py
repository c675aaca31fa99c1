"""The one writer of a database: a thread, a queue, and group commit.

Writes take effect in the order submitted. The thread takes whatever waits, up to a batch, plans
and applies each in one LMDB transaction and commits once, so that many writes share one fsync. A
write that is refused touches nothing; a write that the store cannot take is tried alone, so that
it does not take its neighbours with it. Nobody hears of a write before its commit is on disk.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from treedb.clock import SystemClock
from treedb.errors import InsufficientStorage, MapFull, StoreError, TreeError, Unavailable
from treedb.paths.path import ROOT
from treedb.rules.authority import Caller
from treedb.rules.cache import ruleset_of
from treedb.rules.ruleset import Ruleset
from treedb.store.background_build import BackgroundBuild
from treedb.store.index_definitions import PRIORITIES, IndexPlace, IndexProgress, IndexState
from treedb.store.kept_rules import KeptRules
from treedb.store.kept_sessions import KeptSession
from treedb.store.store import Snapshot, Store, WriteTransaction
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.admission import Gained
from treedb.writes.on_disconnect import encode_checked, plan_end, with_cancel, with_set
from treedb.writes.plan import plan
from treedb.writes.request import (
    ActAs,
    CancelOnDisconnect,
    EndSession,
    KeepOnDisconnect,
    RulesChange,
    SessionRequest,
    Write,
)
from treedb.writes.rules_in_force import RulesInForce

log = logging.getLogger("treedb.writer")

GROW_ATTEMPTS = 100
GROW_PAUSE_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Written:
    """A write that is on disk: its revision and the values its changes came to, in order."""

    revision: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one submitted write; `ticket` is what the sender gave with it."""

    ticket: object
    result: Written | TreeError


@dataclass(frozen=True, slots=True)
class Batch:
    """What one group commit did: its commits in order, and every sender's outcome.

    `snapshot` is the tree after the last commit, for whoever takes the batch to read and to close;
    None where nobody wants it, or it could not be had.
    """

    commits: tuple[Commit, ...]
    outcomes: tuple[Outcome, ...]
    snapshot: Snapshot | None = None


Request = Write | RulesChange | SessionRequest


@dataclass(frozen=True, slots=True)
class _Job:
    request: Request
    ticket: object


@dataclass(frozen=True, slots=True)
class _Step:
    """What a request comes to: a commit, a session to keep (as b"" to forget), or neither."""

    commit: Commit | None = None
    rules: KeptRules | None = None
    session_id: str = ""
    session: bytes = b""
    values: tuple[Value, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.commit is None and not self.session_id


class Writer:
    """Run writes on a thread of their own; `done` is called there after every group commit."""

    def __init__(
        self,
        store: Store,
        clock: SystemClock,
        rules: RulesInForce,
        done: Callable[[Batch], None],
    ) -> None:
        self._store = store
        self._rules = rules
        self._clock = clock
        self._done = done
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="treedb-writer", daemon=True)
        self._last_ms = 0
        self._broken: StoreError | None = None
        self._pause = threading.Event()
        self._build = BackgroundBuild(store, clock)
        self.takes_snapshots = False

    def start(self) -> None:
        """Begin to take writes."""
        self._thread.start()

    def submit(self, request: Request, ticket: object) -> None:
        """Queue a request; its outcome comes to `done` with this ticket."""
        self._queue.put(_Job(request, ticket))

    def stop(self) -> None:
        """Finish what was submitted, then end the thread; blocks until it has."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        self._guard(self._declare_indexes)
        while True:
            jobs, stopping = self._take()
            if jobs:
                self._done(self._completed(self._process(jobs)))
            if stopping:
                return
            self._guard(self._build.step_if_due)

    def _take(self) -> tuple[list[_Job], bool]:
        """Return what waits, up to a batch, and whether to stop; nothing when a build step is due."""
        jobs: list[_Job] = []
        try:
            job = self._queue.get(timeout=self._build.seconds_until_due())
        except queue.Empty:
            return jobs, False
        while job is not None:
            jobs.append(job)
            if len(jobs) == self._store.limits.write_batch or self._queue.empty():
                return jobs, False
            job = self._queue.get()
        return jobs, True

    def _process(self, jobs: list[_Job]) -> Batch:
        if self._broken is not None:
            return _refused(jobs, self._broken)
        try:
            return self._attempt(jobs)
        except MapFull as full:
            self._rules.forget()
            if self._grow():
                return self._process(jobs)
            if len(jobs) == 1:
                return _refused(jobs, full)
        except InsufficientStorage as full:
            self._rules.forget()
            if len(jobs) == 1:
                return _refused(jobs, full)
        except StoreError as error:
            # After an I/O error nobody knows what the disk holds: no more writes until reopened.
            log.exception("writing stops: the store failed")
            self._broken = error
            return _refused(jobs, error)
        except Exception:
            self._rules.forget()
            log.exception("a write failed unexpectedly; %d tried one by one", len(jobs))
            if len(jobs) == 1:
                return _refused(jobs, Unavailable("the write failed on the server; see its log"))
        return _joined([self._process([job]) for job in jobs])

    def _attempt(self, jobs: list[_Job]) -> Batch:
        commits: list[Commit] = []
        outcomes: list[Outcome] = []
        is_changed = False
        with self._store.transaction() as transaction:
            for job in jobs:
                try:
                    step = self._plan(job.request, transaction)
                except TreeError as refusal:
                    outcomes.append(Outcome(job.ticket, refusal))
                    continue
                self._apply(step, transaction)
                is_changed |= not step.is_empty
                if step.commit is not None:
                    commits.append(step.commit)
                outcomes.append(Outcome(job.ticket, Written(transaction.revision, step.values)))
            if is_changed:
                transaction.commit()
        return Batch(tuple(commits), tuple(outcomes))

    def _completed(self, batch: Batch) -> Batch:
        """Do what a durable batch brings with it; it stays done, whatever fails here."""
        if any(commit.rules is not None for commit in batch.commits):
            self._guard(self._build.look)
        if not batch.commits or not self.takes_snapshots:
            return batch
        try:
            return replace(batch, snapshot=self._store.snapshot())
        except TreeError as error:
            log.warning("windows are read a little later, without a snapshot: %s", error.reason)
            return batch

    def _plan(self, request: Request, transaction: WriteTransaction) -> _Step:
        """Return what a request comes to; a commit is the next one, and changes something."""
        revision, now_ms = transaction.revision + 1, self._now_ms()
        match request:
            case RulesChange(text, origin, agreed_at):
                self._check_agreement(ruleset_of(text, self._store.limits), agreed_at, transaction)
                commit = Commit(revision, now_ms, Patch(()), None, None, text)
                return _Step(commit, KeptRules(revision, text, origin))
            case Write():
                authority = self._rules.in_force(transaction)
                patch = plan(request, transaction.tree, authority, now_ms)
                if not patch.changes:
                    return _Step()
                commit = Commit(revision, now_ms, patch, request.write_id, _author(request.caller))
                became = dict(patch.changes)  # what was derived is no answer to what was asked
                return _Step(commit, values=tuple(became[path] for path, _ in request.changes))
            case EndSession(session_id):
                return self._plan_end(session_id, transaction, now_ms)
            case _:
                return self._plan_session(request, transaction, now_ms)

    def _apply(self, step: _Step, transaction: WriteTransaction) -> None:
        if step.commit is not None:
            transaction.apply(step.commit, step.rules)
        if step.rules is not None:
            ruleset = ruleset_of(step.rules.text, self._store.limits)
            transaction.declare_indexes(_indexes_of(ruleset))
        if step.session:
            transaction.keep_session(step.session_id, step.session)
        elif step.session_id:
            transaction.forget_session(step.session_id)

    def _check_agreement(
        self, ruleset: Ruleset, agreed_at: int | None, transaction: WriteTransaction
    ) -> None:
        """Raise RulesError when the data contradicts mirrors or counts that the rules bring."""
        gained = Gained.by(ruleset, self._rules.in_force(transaction).ruleset)
        if not gained:
            return
        revision = transaction.revision
        commits = list(transaction.journal.after(revision if agreed_at is None else agreed_at))
        is_known = agreed_at is not None and len(commits) == revision - agreed_at
        # An empty patch at the root stands for all there is, where nobody looked before.
        unknown = Commit(revision, 0, Patch(((ROOT, None),)), None, None)
        gained.refuse(gained.look_again(transaction.tree, commits if is_known else [unknown]))

    # Sessions

    def _plan_session(
        self,
        request: KeepOnDisconnect | CancelOnDisconnect | ActAs,
        transaction: WriteTransaction,
        now_ms: int,
    ) -> _Step:
        """Return how a session is to be kept after a request."""
        kept = transaction.session(request.session_id)
        auth, entries = (None, {}) if kept is None else (kept.auth, kept.entries)
        match request:
            case KeepOnDisconnect(write=write):
                plan(write, transaction.tree, self._rules.in_force(transaction), now_ms)
                auth = write.caller.auth
                for path, value in write.changes:
                    entries = with_set(entries, path, value)
            case CancelOnDisconnect(path=path):
                entries = with_cancel(entries, path)
            case ActAs():
                auth = request.auth
        if not entries:
            return _Step() if kept is None else _Step(session_id=request.session_id)
        raw = encode_checked(KeptSession(auth, entries), self._store.limits)
        return _Step(session_id=request.session_id, session=raw)

    def _plan_end(self, session_id: str, transaction: WriteTransaction, now_ms: int) -> _Step:
        """Return the commit of what a session left; its rows leave with that commit."""
        kept = transaction.session(session_id)
        if kept is None:
            return _Step()
        authority = self._rules.in_force(transaction)
        patch = plan_end(kept, transaction.tree, authority, now_ms)
        if not patch.changes:
            return _Step(session_id=session_id)
        revision, author = transaction.revision + 1, _author(Caller(kept.auth))
        values = tuple(value for _, value in patch.changes)
        commit = Commit(revision, now_ms, patch, None, author)
        return _Step(commit, session_id=session_id, values=values)

    # Indexes

    def _declare_indexes(self) -> None:
        """Have the indexes of the rules in force: a start may come with other default rules."""
        with self._store.snapshot() as snapshot:
            wanted = _indexes_of(self._rules.in_force(snapshot).ruleset)
            is_declared = set(wanted) == _declared(snapshot.index_progress())
        if not is_declared:
            with self._store.transaction() as transaction:
                transaction.declare_indexes(wanted)
                transaction.commit()
        self._build.look()

    def _guard(self, work: Callable[[], None]) -> None:
        """Do what no sender waits for: when the store cannot take it, it is done another time."""
        if self._broken is not None:
            return
        try:
            work()
        except MapFull:
            self._grow()
        except StoreError as error:
            log.exception("writing stops: the store failed")
            self._broken = error
        except TreeError as error:
            log.warning("indexes are looked after later: %s", error.reason)

    def _now_ms(self) -> int:
        # A clock that is set back must not make a later write's timestamp the smaller one.
        self._last_ms = max(self._last_ms, self._clock.now_ms())
        return self._last_ms

    def _grow(self) -> bool:
        """Make the map larger; snapshots must end first, so it is tried for a second."""
        for _ in range(GROW_ATTEMPTS):
            if self._store.grow():
                return True
            self._pause.wait(GROW_PAUSE_SECONDS)
        return False


def _author(caller: Caller) -> str | None:
    return caller.auth.uid if caller.auth else None


def _indexes_of(ruleset: Ruleset) -> list[IndexPlace]:
    """Return the indexes that rules ask for."""
    return [IndexPlace(index.keys, index.name) for index in ruleset.indexes]


def _declared(progress: Iterable[IndexProgress]) -> set[IndexPlace]:
    return {
        each.place
        for each in progress
        if each.state is not IndexState.DROPPING and each.place != PRIORITIES
    }


def _joined(batches: list[Batch]) -> Batch:
    """Make one batch of several."""
    return Batch(
        tuple(commit for batch in batches for commit in batch.commits),
        tuple(outcome for batch in batches for outcome in batch.outcomes),
    )


def _refused(jobs: list[_Job], error: TreeError) -> Batch:
    return Batch((), tuple(Outcome(job.ticket, error) for job in jobs))
