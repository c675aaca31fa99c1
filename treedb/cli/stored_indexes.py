"""The indexes of one namespace, straight from its store."""

import threading
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Final

from treedb.cli.stored_namespace import options_of
from treedb.cli.terminal import columns
from treedb.paths.pattern import Pattern
from treedb.store.index_check import check_indexes
from treedb.store.index_definitions import PRIORITIES, IndexProgress, IndexState
from treedb.store.store import Store

FAULTS_SHOWN: Final = 20
CHILDREN_PER_STEP: Final = 500  # as many as keep a server's writes waiting for a few milliseconds
PAUSE_SECONDS: Final = 0.002  # LMDB's lock has no queue: who waits needs a moment to take it
CHILDREN_PER_LINE: Final = 100_000  # a line every few seconds
HEADINGS: Final = ("children of", "ordered by", "state", "indexed by the build")

Tell = Callable[[str], None]


def table(store: Store) -> str:
    """Return the indexes as a table, those of the rules before that of priorities."""
    with store.snapshot() as snapshot:
        progress = snapshot.index_progress()
    ordered = sorted(progress, key=lambda each: (each.place == PRIORITIES, *_cells(each)))
    return "\n".join(columns([HEADINGS, *map(_cells, ordered)]))


def _cells(progress: IndexProgress) -> tuple[str, ...]:
    place = progress.place
    parents = "every place" if place == PRIORITIES else Pattern(place.keys).format()
    return parents, place.name, progress.state.value, f"{progress.children:,}"


def check(store: Store, tell: Tell) -> int:
    """Hold every entry against the rows in one snapshot; tell the first faults, count them all."""
    faults = 0
    with store.snapshot() as snapshot:
        for fault in check_indexes(snapshot.tree, snapshot.indexes):
            if fault is None:
                continue
            faults += 1
            if faults <= FAULTS_SHOWN:
                tell(str(fault))
        progress = snapshot.index_progress()
    if faults > FAULTS_SHOWN:
        tell(f"and {faults - FAULTS_SHOWN:,} more")
    tell(_outcome(faults, progress))
    return faults


def _outcome(faults: int, progress: tuple[IndexProgress, ...]) -> str:
    states = [each.state for each in progress if each.state is not IndexState.DROPPING]
    building = states.count(IndexState.BUILDING)
    unfinished = f", {building} of them still being built" if building else ""
    indexes = "1 index" if len(states) == 1 else f"{len(states)} indexes"
    return f"{faults:,} {'fault' if faults == 1 else 'faults'} in {indexes}{unfinished}"


def way_out(data: FilePath, namespace: str) -> str:
    """Tell how faults are mended."""
    return f"Mend them: treedb indexes rebuild {options_of(data, namespace)}"


def rebuild(store: Store, tell: Tell) -> None:
    """Begin every index anew, and build to the end; tell now and then how far it is.

    A server that has the store open too may build along: each step goes on from the last, whoever
    made it.
    """
    with store.transaction() as transaction:
        transaction.rebuild_indexes()
        transaction.commit()
    children = 0
    is_last = False
    while not is_last:
        with store.transaction() as transaction:
            step = transaction.build_indexes(CHILDREN_PER_STEP)
            transaction.commit()
        is_last = step.is_last
        before, children = children, children + step.children
        if is_last or before // CHILDREN_PER_LINE < children // CHILDREN_PER_LINE:
            tell(f"{children:,} children and former entries gone through")
        threading.Event().wait(PAUSE_SECONDS)
