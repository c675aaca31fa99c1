"""What each request comes to within the transaction that it is part of.

A request becomes a step in two moves: `plan` says what it comes to, or raises the refusal, and
`apply` does it. So a refused request has touched nothing, and a failure of the store is no refusal.
While data is being brought to agree with mirrors, `prepare` comes before: what a write touches
agrees when it is planned.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from treedb.config import Limits
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.rules.cache import ruleset_of
from treedb.rules.ruleset import Ruleset
from treedb.store.index_definitions import IndexPlace
from treedb.store.kept_derived import KeptBackfill, KeptCheck
from treedb.store.kept_rules import KeptRules
from treedb.store.kept_sessions import KeptSession
from treedb.store.store import WriteTransaction
from treedb.tree.commit import Commit, derived_in
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.admission import Gained
from treedb.writes.counters import count
from treedb.writes.derived_check import declarations_of, name_of
from treedb.writes.mend import counted, mend_touched
from treedb.writes.on_disconnect import encode_checked, plan_end, with_cancel, with_set
from treedb.writes.plan import plan
from treedb.writes.request import (
    ActAs,
    CancelOnDisconnect,
    EndSession,
    KeepCheck,
    KeepOnDisconnect,
    RulesChange,
    SessionRequest,
    Write,
)
from treedb.writes.rules_in_force import RulesInForce

Request: TypeAlias = Write | RulesChange | KeepCheck | SessionRequest


@dataclass(frozen=True, slots=True)
class Step:
    """What a request comes to: a commit, something to be kept beside the tree, or nothing.

    A session is kept, or forgotten as b"". With rules come the backfills to be done, those that
    were begun before included.
    """

    commit: Commit | None = None
    rules: KeptRules | None = None
    backfills: tuple[KeptBackfill, ...] = ()
    check: KeptCheck | None = None
    session_id: str = ""
    session: bytes = b""
    values: tuple[Value, ...] = ()


NOTHING = Step()


class Steps:
    """Plan requests under the rules in force, and apply them."""

    def __init__(self, limits: Limits, rules: RulesInForce) -> None:
        self._limits = limits
        self._rules = rules

    def prepare(self, request: Request, transaction: WriteTransaction, now_ms: int) -> Step:
        """Return what has to agree before a request is planned, while a backfill goes on."""
        backfills = transaction.backfills()
        if not backfills:
            return NOTHING
        changes = self._changes(request, transaction, now_ms)
        ruleset = self._rules.in_force(transaction).ruleset
        patch = mend_touched(tuple(changes.items()), transaction.tree, ruleset, backfills)
        patch = count(patch, transaction.tree, counted(ruleset, backfills))
        return _mending(patch, transaction.revision + 1, now_ms)

    def plan(self, request: Request, transaction: WriteTransaction, now_ms: int) -> Step:
        """Return what a request comes to; a commit is the next one, and changes something."""
        match request:
            case RulesChange():
                return self._plan_rules(request, transaction, now_ms)
            case KeepCheck(check):
                return Step(check=check)
            case Write():
                return self._plan_write(request, transaction, now_ms)
            case EndSession(session_id):
                return self._plan_end(session_id, transaction, now_ms)
            case _:
                return self._plan_session(request, transaction, now_ms)

    def apply(self, step: Step, transaction: WriteTransaction) -> None:
        """Do what a step says."""
        if step.commit is not None:
            transaction.apply(step.commit, step.rules)
        if step.rules is not None:
            ruleset = ruleset_of(step.rules.text, self._limits)
            transaction.declare_indexes(indexes_of(ruleset))
            transaction.keep_backfills(step.backfills)
        if step.check is not None:
            transaction.keep_check(step.check)
        if step.session:
            transaction.keep_session(step.session_id, step.session)
        elif step.session_id:
            transaction.forget_session(step.session_id)

    # Writes

    def _plan_write(self, write: Write, transaction: WriteTransaction, now_ms: int) -> Step:
        authority = self._rules.in_force(transaction)
        planned = plan(write, transaction.tree, authority, now_ms)
        if not planned.patch.changes:
            return NOTHING
        commit = Commit(
            transaction.revision + 1,
            now_ms,
            planned.patch,
            write.write_id,
            _author(write.caller),
            derived=derived_in(planned.patch, planned.named),
        )
        return Step(commit, values=planned.values)

    def _changes(
        self, request: Request, transaction: WriteTransaction, now_ms: int
    ) -> Mapping[Path, Value]:
        """Return the places that a request names, with their values as far as they are known."""
        match request:
            case Write(patching=None):
                return dict(request.changes)
            case Write():
                authority = self._rules.in_force(transaction)
                return dict(plan(request, transaction.tree, authority, now_ms).patch.changes)
            case EndSession(session_id):
                kept = transaction.session(session_id)
                return {} if kept is None else kept.entries
            case _:
                return {}

    # Rules

    def _plan_rules(self, change: RulesChange, transaction: WriteTransaction, now_ms: int) -> Step:
        """Return the commit of other rules; RulesError when the data stands against them."""
        ruleset = ruleset_of(change.text, self._limits)
        gained = Gained.by(ruleset, self._rules.in_force(transaction).ruleset, change.side)
        if gained:
            _check_agreement(gained, change.agreed_at, transaction)
        declared = declarations_of(ruleset)
        going = [each for each in transaction.backfills() if each.name in declared]
        if change.side is not None:
            side = change.side.value
            going += [KeptBackfill(name_of(each), side) for each in gained.declarations]
        revision = transaction.revision + 1
        commit = Commit(revision, now_ms, Patch(()), None, None, change.text)
        return Step(commit, KeptRules(revision, change.text, change.origin), tuple(going))

    # Sessions

    def _plan_session(
        self,
        request: KeepOnDisconnect | CancelOnDisconnect | ActAs,
        transaction: WriteTransaction,
        now_ms: int,
    ) -> Step:
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
            return NOTHING if kept is None else Step(session_id=request.session_id)
        raw = encode_checked(KeptSession(auth, entries), self._limits)
        return Step(session_id=request.session_id, session=raw)

    def _plan_end(self, session_id: str, transaction: WriteTransaction, now_ms: int) -> Step:
        """Return the commit of what a session left; its rows leave with that commit."""
        kept = transaction.session(session_id)
        if kept is None:
            return NOTHING
        authority = self._rules.in_force(transaction)
        patch = plan_end(kept, transaction.tree, authority, now_ms)
        if not patch.changes:
            return Step(session_id=session_id)
        revision, author = transaction.revision + 1, _author(Caller(kept.auth))
        values = tuple(value for _, value in patch.changes)
        derived = derived_in(patch, kept.entries)
        commit = Commit(revision, now_ms, patch, None, author, derived=derived)
        return Step(commit, session_id=session_id, values=values)


def indexes_of(ruleset: Ruleset) -> list[IndexPlace]:
    """Return the indexes that rules ask for."""
    return [IndexPlace(index.keys, index.name) for index in ruleset.indexes]


def mending(patch: Patch, revision: int, now_ms: int) -> Commit:
    """Return the commit of what a backfill writes: nobody named any of it."""
    return Commit(revision, now_ms, patch, None, None, derived=tuple(range(len(patch.changes))))


def _mending(patch: Patch, revision: int, now_ms: int) -> Step:
    return Step(mending(patch, revision, now_ms)) if patch.changes else NOTHING


def _check_agreement(gained: Gained, agreed_at: int | None, transaction: WriteTransaction) -> None:
    revision = transaction.revision
    commits = list(transaction.journal.after(revision if agreed_at is None else agreed_at))
    is_known = agreed_at is not None and len(commits) == revision - agreed_at
    gained.refuse(gained.look_again(transaction.tree, commits if is_known else None))


def _author(caller: Caller) -> str | None:
    return caller.auth.uid if caller.auth else None
