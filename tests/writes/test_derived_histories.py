"""Random histories of writes, rules and crashes: what is derived is always what it has to be.

Each history runs against a real database with a store on disk, and beside it the oracle says what
every request must come to. A crash is the data file as the last commit left it, copied while the
writer has more to do, and opened anew: what was answered must be there, of the rest a beginning.
"""

import asyncio
import os
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

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
from tests.writes.derived_oracle import Kept, RefusedError, after, rebuilt
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
NOW_MS = 1_700_000_000_000
STALE = "bm9ib2R5IGhhcyB0aGlzIGhhc2ghISE="


class StoppedClock(SystemClock):
    """A clock by which all writes are of one time."""

    def now_ms(self) -> int:
        return NOW_MS


@dataclass(frozen=True)
class State:
    """What is to be there after a request: the tree, and what sessions left to be written."""

    revision: int
    tree: NaiveTree
    kept: Kept
    sessions: dict[str, dict[Keys, object]] = field(default_factory=dict)

    def written(self, tree: NaiveTree) -> "State":
        return replace(self, revision=self.revision + 1, tree=tree)

    def with_session(self, session: str, entries: dict[Keys, object]) -> "State":
        others = {each: left for each, left in self.sessions.items() if each != session}
        return replace(self, sessions={**others, session: entries} if entries else others)

    def resolved(self, changes: dict[Keys, object]) -> dict[Keys, object]:
        return {place: _resolved(value, place, self.tree) for place, value in changes.items()}

    def after(self, changes: dict[Keys, object]) -> "State":
        return self.written(after(self.tree, self.resolved(changes), self.kept))

    def ended(self, session: str) -> "State":
        """End a session: all it left together, else what may be written, the first of two that
        contradict one another."""
        entries = self.sessions.get(session)
        if entries is None:
            return self
        state = self.with_session(session, {})
        try:
            return state.after(entries)
        except RefusedError:
            pass
        valid = {
            place: value
            for place, value in self.resolved(entries).items()
            if self.may_be({place: value}, validates=True)
        }
        agreeing: dict[Keys, object] = {}
        for place, value in valid.items():
            if self.may_be(valid) or self.may_be({**agreeing, place: value}):
                agreeing[place] = value
        if not agreeing:
            return state
        return state.written(after(self.tree, agreeing, self.kept, validates=False))

    def may_be(self, changes: dict[Keys, object], *, validates: bool = False) -> bool:
        try:
            after(self.tree, changes, self.kept, validates=validates)
        except RefusedError:
            return False
        return True


def _resolved(value: object, place: Keys, tree: NaiveTree) -> object:
    if not isinstance(value, dict):
        return value
    if ".sv" not in value:
        return {key: _resolved(each, (*place, key), tree) for key, each in value.items()}
    if value[".sv"] == "timestamp":
        return NOW_MS
    present = tree.leaves.get(place)
    is_number = isinstance(present, int) and not isinstance(present, bool)
    return (present if is_number else 0) + value[".sv"]["increment"]


class Play:
    """One history played: the database, and the states that the oracle expects, request by request."""

    def __init__(self, folder: FilePath) -> None:
        self.folder = folder
        self.copies = 0
        self.states = [State(0, NaiveTree(), Kept())]

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
        await self.put_rules(history.kept)
        for step in history.steps:
            match step:
                case Burst():
                    await self.burst(step)
                case Reopened():
                    await self.close()
                    await self.open()
                case OtherRules(kept):
                    await self.put_rules(kept)
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

    async def put_rules(self, kept: Kept) -> None:
        gained, tree = kept.beyond(self.state.kept), self.state.tree
        agrees = _same(rebuilt(tree, gained), tree)
        try:
            await self.database.put_rules(kept.text(), Origin.ADMIN)
        except RulesError:
            assert not agrees
        else:
            assert agrees
            self.states.append(replace(self.state.written(tree), kept=kept))

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
        if any(_touch(path.keys, each) for path, _ in write.changes for each in waiting):
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
            assert answer.revision == expected.revision

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
            expected = trees[commit.revision]
            assert _same(tree, expected.tree)
            assert _same(rebuilt(tree, expected.kept), tree)


def _same(one: NaiveTree, other: NaiveTree) -> bool:
    return repr(one.get(())) == repr(other.get(()))


def _touch(one: Keys, other: Keys) -> bool:
    return one[: len(other)] == other or other[: len(one)] == one


def _kept_sessions(transaction: WriteTransaction) -> list[tuple[str, dict[Keys, object]]]:
    kept = [(each, transaction.session(each)) for each in SESSIONS]
    return [
        (name, {path.keys: value for path, value in session.entries.items()})
        for name, session in kept
        if session is not None
    ]


@given(histories())
@settings(
    max_examples=HISTORIES,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
def test_what_is_derived_is_right_at_every_revision(history: History) -> None:
    note(str(history))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(Play(FilePath(folder)).run(history))
