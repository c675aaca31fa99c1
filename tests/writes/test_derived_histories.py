"""Random histories of writes, rules and crashes: what is derived is always what it has to be.

Each history runs against a real database with a store on disk, and beside it the oracle says what
every request must come to. A crash is the data file as the last commit left it, copied while the
writer has more to do, and opened anew: what was answered must be there, of the rest a beginning.
"""

import asyncio
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path as FilePath

import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.naive_tree import Keys, NaiveTree
from tests.writes.derived_histories import (
    SESSIONS,
    Asked,
    Burst,
    Cancelled,
    Ended,
    History,
    OtherRules,
    Reopened,
    Request,
    histories,
)
from tests.writes.derived_oracle import Kept, RefusedError, mended, rebuilt, touch
from tests.writes.derived_state import NOW_MS, State
from treedb import background_backfill
from treedb.access import Access
from treedb.auth.identity import Auth
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.errors import RulesError, TreeError
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Caller
from treedb.store.kept_rules import Origin
from treedb.store.store import Store, WriteTransaction
from treedb.tree.hashing import node_hash
from treedb.tree.values import normal_form
from treedb.writes.derived_check import check_derived
from treedb.writes.request import (
    CancelOnDisconnect,
    EndSession,
    KeepOnDisconnect,
    Write,
    set_write,
    update_write,
)
from treedb.writes.writer import Written

HISTORIES = int(os.environ.get("TREEDB_DERIVED_HISTORIES", "200"))
LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
STALE = "bm9ib2R5IGhhcyB0aGlzIGhhc2ghISE="


class StoppedClock(SystemClock):
    """A clock by which all writes are of one time."""

    def now_ms(self) -> int:
        return NOW_MS


class Play:
    """One history played: the database, and the states that the oracle expects, request by request."""

    def __init__(self, folder: FilePath) -> None:
        self.folder = folder
        self.copies = 0
        self.states = [State(0, NaiveTree(), Kept())]
        # Since which of the states the data is being brought to agree, and revisions not known.
        self.mending_since: int | None = None

    @property
    def state(self) -> State:
        return self.states[-1]

    async def run(self, history: History) -> None:
        await self.open()
        try:
            await self.play(history)
        finally:
            await self.database.close()

    async def play(self, history: History) -> None:
        await self.put_rules(OtherRules(history.kept))
        for step in history.steps:
            match step:
                case Burst(killed_after=killed_after):
                    if killed_after is not None:
                        await self.settle()
                    await self.burst(step)
                case Reopened():
                    await self.close()
                    await self.open()
                case OtherRules():
                    await self.settle()
                    await self.put_rules(step)
                    continue  # the next writes may come before the data agrees
            await self.settle()
            self.check()
        await self.settle()
        self.check()
        self.check_journal()

    async def open(self) -> None:
        directory, access = self.folder / str(self.copies), Access(Kept().text())
        clock = StoppedClock()
        self.database = Database.open(directory, "d", LIMITS, clock, access, fsync=False)
        await self.database.start()
        self.end_sessions()

    async def close(self) -> None:
        await self.database.close()
        self.end_sessions()

    def end_sessions(self) -> None:
        for session in sorted(self.state.sessions):
            self.states.append(self.state.ended(session))

    async def put_rules(self, rules: OtherRules) -> None:
        kept, state = rules.kept, self.state
        gained = kept.beyond(state.kept)
        try:
            tree = (
                state.tree if rules.side is None else mended(state.tree, gained, rules.side, kept)
            )
            agrees = rules.side is not None or _same(rebuilt(tree, gained), tree)
        except RefusedError:
            agrees = False
        try:
            await self.database.put_rules(kept.text(), Origin.ADMIN, rules.side)
        except RulesError:
            assert not agrees
            return
        assert agrees
        self.states.append(replace(state.written(tree), kept=kept))
        if rules.side is not None:
            self.mending_since = len(self.states) - 1
        if rules.is_killed:
            self.copies += 1
            self.copy_file(self.folder / str(self.copies))
            await self.database.close()
            await self.open()

    async def settle(self) -> None:
        """Wait until the data agrees with its rules, and take up how many commits that took."""
        if self.mending_since is None:
            return
        while self.database.backfills():
            await asyncio.sleep(0)
        # An object that the data lost and a write brought again has kept its priority when the
        # write came in between: so priorities are taken as they are.
        found = NaiveTree()
        with self.database._store.snapshot() as snapshot:
            found.set((), snapshot.tree.get(ROOT))
            settled = replace(self.state, revision=snapshot.revision, tree=found)
        leaves = sorted(self.state.tree.leaves.items())
        assert repr(sorted(found.leaves.items())) == repr(leaves)
        assert _same(rebuilt(found, settled.kept), found)
        self.states[self.mending_since :] = [settled]
        self.mending_since = None

    async def burst(self, burst: Burst) -> None:
        """Send requests, hold each answer against the oracle; then kill the process, perhaps."""
        begun, sent = len(self.states), []
        for request in burst.requests:
            translated = self.translated(request)
            if translated is not None:
                expected = self.expected(request, translated)
                self.states.append(expected or self.state)
                sent.append((expected, self.database.submit(translated)))
        if burst.killed_after is not None:
            answered = sent[: burst.killed_after]
            await asyncio.gather(*(future for _, future in answered), return_exceptions=True)
            self.copies += 1
            self.copy_file(self.folder / str(self.copies))
        answers = await asyncio.gather(*(future for _, future in sent), return_exceptions=True)
        for (expected, _), answer in zip(sent, answers, strict=True):
            self.check_answer(expected, answer)
        if burst.killed_after is not None:
            await self.database.close()
            self.go_on_from_copy(begun - 1 + len(answered))
            await self.open()

    def translated(
        self, request: Request
    ) -> "Write | KeepOnDisconnect | CancelOnDisconnect | EndSession | None":
        """Return what a server would submit, None for what it would not."""
        match request:
            case Ended(session):
                return EndSession(session)
            case Cancelled(session, place):
                waiting = self.state.sessions.get(session, {})
                if any(place[: len(each)] == each != place for each in waiting):
                    return None  # it would part what waits above
                return CancelOnDisconnect(session, Path(place))
            case Asked():
                return self.asked(request)

    def asked(self, asked: Asked) -> Write | KeepOnDisconnect | None:
        caller = Caller(Auth(asked.client, {}, is_admin=False, expires_at_ms=None))
        if len(asked.changes) == 1:
            place, value = asked.changes[0]
            claimed = None
            if asked.holds and self.mending_since is not None:
                return None  # what it saw may be older than what it meets
            if asked.holds is not None:
                there = normal_form(self.state.tree.get(place), 0, LIMITS).value
                claimed = node_hash(there) if asked.holds else STALE
            write = set_write(Path(place), value, LIMITS, caller=caller, expected_hash=claimed)
        else:
            try:
                changes = {"/".join(place): value for place, value in asked.changes}
                write = update_write(ROOT, changes, LIMITS, caller=caller)
            except TreeError:  # the root beside others, or a place above another
                return None
        if asked.session is None:
            return write
        waiting = self.state.sessions.get(asked.session, {})
        if any(touch(path.keys, each) for path, _ in write.changes for each in waiting):
            return None  # it would change what waits
        return KeepOnDisconnect(asked.session, write)

    def expected(self, request: Request, translated: object) -> State | None:
        """Return what is there after a request; None when it is to be refused."""
        match request, translated:
            case Ended(session), _:
                return self.state.ended(session)
            case Cancelled(session, place), _:
                waiting = self.state.sessions.get(session, {})
                left = {at: each for at, each in waiting.items() if at[: len(place)] != place}
                return self.state.with_session(session, left)
            case Asked(holds=False), _:
                return None
            case Asked(session=None), Write(changes=changes):
                return self.after_write(changes)
            case Asked(session=str(session)), KeepOnDisconnect(write=Write(changes=changes)):
                if self.after_write(changes) is None:
                    return None
                waiting = self.state.sessions.get(session, {})
                more = {path.keys: value for path, value in changes}
                return self.state.with_session(session, {**waiting, **more})
        raise AssertionError

    def after_write(self, changes: object) -> State | None:
        assert isinstance(changes, tuple)
        try:
            return self.state.after({path.keys: value for path, value in changes})
        except RefusedError:
            return None

    # A crash

    def copy_file(self, directory: FilePath) -> None:
        """Copy the data file as a process that ends now would leave it."""
        directory.mkdir()
        with self.database._store.transaction():  # holds the writer off, which wrote no page yet
            shutil.copyfile(self.database._store.directory / "data.mdb", directory / "data.mdb")

    def go_on_from_copy(self, answered: int) -> None:
        """Find which of the states is in the copy: none before the last that was answered."""
        store = Store.open(self.folder / str(self.copies), LIMITS, fsync=False)
        with store.transaction() as transaction:
            found = transaction.revision, repr(transaction.tree.get(ROOT))
            sessions = repr(_kept_sessions(transaction))
        store.close()
        for number in range(answered, len(self.states)):
            state = self.states[number]
            if (state.revision, repr(state.tree.get(()))) == found and repr(
                sorted(state.sessions.items())
            ) == sessions:
                del self.states[number + 1 :]
                return
        raise AssertionError(found, sessions, self.states[answered:])

    # What must hold

    def check_answer(self, expected: State | None, answer: Written | BaseException) -> None:
        if expected is None:
            assert isinstance(answer, TreeError), answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            assert self.mending_since is not None or answer.revision == expected.revision

    def check(self) -> None:
        state = self.state
        with self.database._store.snapshot() as snapshot:
            assert repr(snapshot.tree.get(ROOT)) == repr(state.tree.get(()))
            assert snapshot.revision == state.revision
            ruleset = self.database.ruleset
            found = check_derived(snapshot.tree, (*ruleset.mirrors, *ruleset.counters))
            assert [fault for fault in found if fault is not None] == []

    def check_journal(self) -> None:
        """Replay the journal: at every revision all is as if it were derived anew."""
        trees = {state.revision: state for state in self.states}
        tree = NaiveTree()
        with self.database._store.snapshot() as snapshot:
            commits = list(snapshot.journal.after(0))
        assert [commit.revision for commit in commits] == list(range(1, self.state.revision + 1))
        for commit in commits:
            tree.update((), {path.keys: value for path, value in commit.patch.changes})
            expected = trees.get(commit.revision)
            if expected is None:
                continue  # the data was being brought to agree
            assert _same(tree, expected.tree)
            assert _same(rebuilt(tree, expected.kept), tree)


def _same(one: NaiveTree, other: NaiveTree) -> bool:
    return repr(one.get(())) == repr(other.get(()))


def _kept_sessions(transaction: WriteTransaction) -> list[tuple[str, dict[Keys, object]]]:
    kept = [(each, transaction.session(each)) for each in SESSIONS]
    return [
        (name, {path.keys: value for path, value in session.entries.items()})
        for name, session in kept
        if session is not None
    ]


@given(history=histories())
@settings(
    max_examples=HISTORIES,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
def test_what_is_derived_is_right_at_every_revision(
    monkeypatch: pytest.MonkeyPatch, history: History
) -> None:
    # Steps of few entries let writes come between them.
    monkeypatch.setattr(background_backfill, "STEP_ENTRIES", 2)
    note(str(history))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(Play(FilePath(folder)).run(history))
