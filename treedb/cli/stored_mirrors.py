"""The mirrors and counts of one namespace, straight from its store.

They are read in one snapshot, and mended in steps that leave a server its turns. What is still to
be mended is kept in the store, so that a server's writes meet entries that agree, and that it goes
on with the rest should this end early.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Final

from treedb.cli.stored_namespace import options_of
from treedb.cli.terminal import columns
from treedb.clock import SystemClock
from treedb.errors import WrongUse
from treedb.rules.cache import ruleset_of
from treedb.rules.derivation import Declaration, kind_of
from treedb.rules.mirror import Mirror
from treedb.rules.ruleset import Ruleset
from treedb.store.kept_derived import CheckedDeclaration, KeptBackfill, KeptCheck
from treedb.store.reading import end_of
from treedb.store.store import Snapshot, Store, WriteTransaction
from treedb.writes.backfill import Backfilled, backfill_some
from treedb.writes.derived_check import EXAMPLES, declarations_of, sides_of, survey
from treedb.writes.mend import Side

ENTRIES_PER_STEP: Final = 500  # as many as keep a server's writes waiting for some 10 ms
PAUSE_SECONDS: Final = 0.01  # LMDB's lock has no queue: who waits needs a moment to take it
STEPS_PER_LINE: Final = 200  # a line every few seconds
HEADINGS: Final = ("kept", "of", "at", "rules", "entries", "faults", "state")
NOTHING: Final = "the rules of this namespace have no mirrors and no counts"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Declared:
    """What the rules of a namespace keep, by name; without rules of its own, nothing."""

    ruleset: Ruleset | None
    declarations: dict[str, Declaration]

    @classmethod
    def read(cls, stored: Snapshot | WriteTransaction) -> "Declared":
        kept = stored.rules()
        if kept is None:
            return cls(None, {})
        ruleset = ruleset_of(kept.text)
        return cls(ruleset, declarations_of(ruleset))


def parse_side(option: str, text: str) -> Side:
    """Read which side is right; WrongUse names the option."""
    try:
        return Side(text)
    except ValueError:
        allowed = ", ".join(side.value for side in Side)
        raise WrongUse(f"{option} is {text}; allowed: {allowed}.") from None


# Seeing


def table(store: Store) -> str:
    """Return what the rules keep as a table, with what the last check found of it."""
    with store.snapshot() as snapshot:
        declared, check = Declared.read(snapshot), snapshot.last_check()
        going = {each.name: each for each in snapshot.backfills()}
    if declared.ruleset is None or not declared.declarations:
        return NOTHING
    found = {} if check is None else {each.name: each for each in check.declarations}
    rows = [HEADINGS]
    for name, each in declared.declarations.items():
        line, column = declared.ruleset.source.position(each.offset)
        numbers = _numbers(found.get(name))
        rows.append((*_cells(each), f"{line}:{column}", *numbers, _state(going.get(name))))
    when = "never" if check is None else f"at revision {check.revision}"
    return "\n".join([*columns(rows), f"last checked: {when}"])


def _cells(declaration: Declaration) -> tuple[str, str, str]:
    kept = declaration.value.value if isinstance(declaration, Mirror) else "count"
    one, other = sides_of(declaration)
    return kept, str(one), str(other)


def _numbers(checked: CheckedDeclaration | None) -> tuple[str, str]:
    return ("?", "?") if checked is None else (f"{checked.entries:,}", f"{checked.faults:,}")


def _state(backfill: KeptBackfill | None) -> str:
    return "kept" if backfill is None else f"being brought to agree: {_progress(backfill)}"


def _progress(backfill: KeptBackfill) -> str:
    return (
        f"{backfill.side} is right, {_number(backfill.entries, 'entry', 'entries')} seen, "
        f"{_number(backfill.changed, 'place')} written, {_number(backfill.conflicts, 'conflict')}"
    )


# Checking


def check(store: Store, tell: Tell) -> int:
    """Hold all that the rules keep against the tree, tell it, and keep what was found.

    Returns the number of faults. What a backfill has not come to yet is among them.
    """
    now_ms = SystemClock().now_ms()
    with store.snapshot() as snapshot:
        declared = Declared.read(snapshot)
        going = {each.name: each for each in snapshot.backfills()}
        if declared.ruleset is None or not declared.declarations:
            tell(NOTHING)
            tell(_outcome(0, 0))
            return 0
        found = end_of(survey(snapshot.tree, declared.ruleset, snapshot.revision, now_ms))
    for each in found.declarations:
        _tell_checked(declared.declarations[each.name], each, going.get(each.name), tell)
    faults = sum(each.faults for each in found.declarations)
    tell(_outcome(faults, len(found.declarations)))
    _keep(store, found)
    return faults


def way_out(data: FilePath, namespace: str, side: Side | None) -> str:
    """Tell how faults are mended; `side` is the one by which it was tried."""
    if side is not None:
        return "What is left needs another side, or a write at these places."
    at = options_of(data, namespace)
    return f"Mend them, by the side that is right: treedb mirrors repair source|target|union {at}"


def _tell_checked(
    declaration: Declaration, checked: CheckedDeclaration, going: KeptBackfill | None, tell: Tell
) -> None:
    tell(_sentence(declaration))
    entries = _number(checked.entries, "entry", "entries")
    tell(f"  {entries}, {_number(checked.faults, 'fault')}")
    for example in checked.examples:
        tell(f"  {example}")
    if checked.faults > len(checked.examples):
        tell(f"  and {checked.faults - len(checked.examples):,} more")
    if going is not None:
        tell(f"  {_state(going)}")


def _outcome(faults: int, declarations: int) -> str:
    where = _number(declarations, "mirror or count", "mirrors and counts")
    return f"{_number(faults, 'fault')} in {where}"


def _keep(store: Store, found: KeptCheck) -> None:
    with store.transaction() as transaction:
        transaction.keep_check(found)
        transaction.commit()


# Mending


def mend(store: Store, side: Side, tell: Tell, tell_progress: Tell) -> None:
    """Bring all that the rules keep to agree; tell what was done, and what is left as it is.

    A server that has the store open may help: each step goes on from the last, whoever made it.
    """
    with store.transaction() as transaction:
        names = Declared.read(transaction).declarations
        # Nobody has looked for conflicts yet, so none may be decided against what stands there.
        going = [KeptBackfill(name, side.value, is_begun=False) for name in names]
        transaction.keep_backfills(tuple(going))
        transaction.commit()
    steps = 0
    while (step := _step(store)) is not None:
        steps += 1
        seen, conflicts = step.mended.seen, step.mended.conflicts
        before = seen.conflicts - len(conflicts)
        for conflict in conflicts[: max(0, EXAMPLES - before)]:
            tell(f"left as it is: {conflict}")
        if step.mended.backfill is None:
            tell(f"{seen.name}: {_progress(seen)}")
        elif steps % STEPS_PER_LINE == 0:
            tell_progress(f"{seen.name}: {_progress(seen)}")
        threading.Event().wait(PAUSE_SECONDS)


def _step(store: Store) -> Backfilled | None:
    with store.transaction() as transaction:
        ruleset = Declared.read(transaction).ruleset
        if ruleset is None:
            return None
        now_ms = SystemClock().now_ms()
        step = backfill_some(transaction, ruleset, ENTRIES_PER_STEP, now_ms)
        if step is not None:
            transaction.commit()
    return step


def _sentence(declaration: Declaration) -> str:
    return f"{kind_of(declaration)}: {declaration.meaning}"


def _number(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"
