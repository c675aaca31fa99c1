"""Take one step of what is still to be brought to agree, within a transaction.

Whoever takes it, a server between its writes or a command beside it, the next step goes on from
there: where a backfill stands is kept in the transaction of what it wrote.
"""

from dataclasses import dataclass

from treedb.rules.mirror import Mirror
from treedb.rules.ruleset import Ruleset
from treedb.store.store import WriteTransaction
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.writes.counters import count
from treedb.writes.derived_check import declarations_of
from treedb.writes.mend import Mended, counted, mend_some
from treedb.writes.steps import mending


@dataclass(frozen=True, slots=True)
class Backfilled:
    """What a step came to: the commit of what it wrote, if anything, and whether all is done."""

    mended: Mended
    commit: Commit | None
    is_last: bool


def backfill_some(
    transaction: WriteTransaction, ruleset: Ruleset, most: int, now_ms: int
) -> Backfilled | None:
    """Go on with the first backfill by at most so many entries; None when there is none."""
    pending = transaction.backfills()
    if not pending:
        return None
    first, *others = pending
    declaration = declarations_of(ruleset)[first.name]
    mended = mend_some(transaction.tree, declaration, first, most, ruleset.limits)
    commit = None
    if mended.changes:
        patch = Patch.of(mended.changes)
        if isinstance(declaration, Mirror):
            patch = count(patch, transaction.tree, counted(ruleset, others))
        commit = mending(patch, transaction.revision + 1, now_ms)
        transaction.apply(commit)
    going = [] if mended.backfill is None else [mended.backfill]
    transaction.keep_backfills((*going, *others))
    return Backfilled(mended, commit, is_last=not going and not others)
