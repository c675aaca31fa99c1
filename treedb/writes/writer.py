"""The one writer of a database: a thread, a queue, and group commit.

Writes take effect in the order submitted. The thread takes whatever waits, up to a batch, plans
and applies each in one LMDB transaction and commits once, so that many writes share one fsync. A
write that is refused touches nothing; a write that the store cannot take is tried alone, so that
it does not take its neighbours with it. Nobody hears of a write before its commit is on disk.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from treedb.clock import SystemClock
from treedb.errors import InsufficientStorage, MapFull, StoreError, TreeError, Unavailable
from treedb.store.index_definitions import PRIORITIES, IndexPlace, IndexProgress, IndexState
from treedb.store.store import Snapshot, Store, WriteTransaction
from treedb.tree.commit import Commit
from treedb.tree.values import Value
from treedb.writes.rules_in_force import RulesInForce
from treedb.writes.steps import Request, Steps, indexes_of

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


@dataclass(frozen=True, slots=True)
class _Job:
    request: Request
    ticket: object


class Background(Protocol):
    """Work that goes on between the writes, a short step at a time, in transactions of its own."""

    def look(self) -> None:
        """Find out what there is to do; called at the start and when rules have changed."""

    def seconds_until_due(self) -> float | None:
        """Return how long to wait until the next step, None when there is nothing to do."""

    def step_if_due(self) -> Sequence[Commit]:
        """Take one step when it is time, and return what was committed."""


class Writer:
    """Run writes on a thread of their own; `done` is called there after every group commit."""

    def __init__(
        self,
        store: Store,
        clock: SystemClock,
        rules: RulesInForce,
        done: Callable[[Batch], None],
        background: Sequence[Background] = (),
    ) -> None:
        self._store = store
        self._rules = rules
        self._steps = Steps(store.limits, rules)
        self._clock = clock
        self._done = done
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="treedb-writer", daemon=True)
        self._last_ms = 0
        self._broken: StoreError | None = None
        self._pause = threading.Event()
        self._background = background
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
        self._look()
        while True:
            jobs, stopping = self._take()
            if jobs:
                self._done(self._completed(self._process(jobs)))
            if stopping:
                return
            for work in self._background:
                self._guard(partial(self._step, work))

    def _take(self) -> tuple[list[_Job], bool]:
        """Return what waits, up to a batch, and whether to stop; nothing when other work is due."""
        jobs: list[_Job] = []
        try:
            job = self._queue.get(timeout=self._seconds_until_due())
        except queue.Empty:
            return jobs, False
        while job is not None:
            jobs.append(job)
            if len(jobs) == self._store.limits.write_batch or self._queue.empty():
                return jobs, False
            job = self._queue.get()
        return jobs, True

    def _seconds_until_due(self) -> float | None:
        seconds = [work.seconds_until_due() for work in self._background]
        return min((each for each in seconds if each is not None), default=None)

    def _step(self, work: Background) -> None:
        if commits := work.step_if_due():
            self._done(self._completed(Batch(tuple(commits), ())))

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
        with self._store.transaction() as transaction:
            outcomes = [
                Outcome(job.ticket, self._take_up(job.request, transaction, commits))
                for job in jobs
            ]
            if transaction.is_changed:
                transaction.commit()
        return Batch(tuple(commits), tuple(outcomes))

    def _take_up(
        self, request: Request, transaction: WriteTransaction, commits: list[Commit]
    ) -> Written | TreeError:
        """Plan a request and apply what it comes to; a refused one has touched nothing."""
        values: tuple[Value, ...] = ()
        now_ms = self._now_ms()
        for plan in (self._steps.prepare, self._steps.plan):
            try:
                step = plan(request, transaction, now_ms)
            except TreeError as refusal:
                return refusal
            self._steps.apply(step, transaction)
            commits.extend(filter(None, [step.commit]))
            values = step.values
        return Written(transaction.revision, values)

    def _completed(self, batch: Batch) -> Batch:
        """Do what a durable batch brings with it; it stays done, whatever fails here."""
        if any(commit.rules is not None for commit in batch.commits):
            self._look()
        if not batch.commits or not self.takes_snapshots:
            return batch
        try:
            return replace(batch, snapshot=self._store.snapshot())
        except TreeError as error:
            log.warning("windows are read a little later, without a snapshot: %s", error.reason)
            return batch

    # Indexes

    def _declare_indexes(self) -> None:
        """Have the indexes of the rules in force: a start may come with other default rules."""
        with self._store.snapshot() as snapshot:
            wanted = indexes_of(self._rules.in_force(snapshot).ruleset)
            is_declared = set(wanted) == _declared(snapshot.index_progress())
        if not is_declared:
            with self._store.transaction() as transaction:
                transaction.declare_indexes(wanted)
                transaction.commit()

    def _look(self) -> None:
        for work in self._background:
            self._guard(work.look)

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
            log.warning("what no sender waits for is done later: %s", error.reason)

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


def answer_sender(outcome: Outcome) -> None:
    """Resolve a sender's future, unless the sender has gone."""
    assert isinstance(outcome.ticket, asyncio.Future)
    if outcome.ticket.done():
        return
    if isinstance(outcome.result, TreeError):
        outcome.ticket.set_exception(outcome.result)
    else:
        outcome.ticket.set_result(outcome.result)


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
