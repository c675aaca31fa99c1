"""Build new indexes and clear dropped ones, a bounded step at a time.

Entries are kept true by every write from the moment an index is declared, so a build only adds
those of children that nobody wrote since, and may add them in any order. How far it is stands in
the same transaction as what it added: whatever ends it, it goes on from there.
"""

from dataclasses import dataclass
from itertools import islice

from treedb.store.index_codec import entry_value
from treedb.store.index_definitions import Definitions, DefinitionStore, Index, IndexState
from treedb.store.index_entries import IndexEntries
from treedb.store.index_walk import walk
from treedb.store.stored_tree import StoredTree


@dataclass(frozen=True, slots=True)
class BuildStep:
    """What one step did: how many children it looked at, or entries it removed.

    `is_last` tells that every index is complete and none waits to be cleared.
    """

    children: int
    is_last: bool


def build_some(
    tree: StoredTree, entries: IndexEntries, store: DefinitionStore, most: int
) -> BuildStep:
    """Go on with the first index that is not ready, by at most so many children."""
    definitions = store.read()
    index = _first_unready(definitions)
    if index is None:
        return BuildStep(0, is_last=True)
    if index.state is IndexState.DROPPING:
        done = entries.delete_some(index.number, most)
        changed = definitions.without(index.number)
    else:
        done = _add_some(tree, entries, store, index, most)
        changed = definitions.completed(index.number)
    if done == most:
        return BuildStep(done, is_last=False)
    store.put(changed)
    return BuildStep(done, is_last=_first_unready(changed) is None)


def _first_unready(definitions: Definitions) -> Index | None:
    unready = (index for index in definitions.indexes if index.state is not IndexState.COMPLETE)
    return next(unready, None)


def _add_some(
    tree: StoredTree, entries: IndexEntries, store: DefinitionStore, index: Index, most: int
) -> int:
    position, indexed = store.position(index.number)
    done = 0
    for reached, wanted in islice(walk(tree, index, position), most):
        for each in wanted:
            entries.put(index.number, each.place, entry_value(each.sort_key), each.key)
        position = reached
        done += 1
        indexed += len(wanted)
    store.put_position(index.number, position, indexed)
    return done
