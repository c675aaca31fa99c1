"""The commits that a process has still to publish, from where it is."""

from collections.abc import Sequence
from dataclasses import replace

from treedb.paths.path import ROOT
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch


def unpublished(store: Store, revision: int, commits: Sequence[Commit]) -> list[Commit]:
    """Return the journal from after a revision up to and with these commits.

    They are the journal's own entries, handed over in memory; what another process wrote before
    them is read from disk.
    """
    missed: list[Commit] = []
    if commits and commits[0].revision > revision + 1:
        missed = _missed(store, revision)
        revision = missed[-1].revision
    return [*missed, *(commit for commit in commits if commit.revision > revision)]


def _missed(store: Store, revision: int) -> list[Commit]:
    with store.snapshot() as snapshot:
        missed = list(snapshot.journal.after(revision))
        if missed[0].revision == revision + 1:
            return missed
        # Pruned before we read it: the whole tree, and the rules, stand for what is unknown.
        kept = snapshot.rules()
        whole = Patch(((ROOT, snapshot.tree.get(ROOT)),))
        return [replace(missed[-1], patch=whole, rules=kept.text if kept else None)]
