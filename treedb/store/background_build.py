"""Build declared indexes a little at a time, between the writes of a running database.

Each step is a transaction of its own, kept short so that no write waits long for it, and followed
by a rest at least as long as it took: half of a processor at most goes into building. Where a
build stands is kept with the entries, so that it goes on there after a restart.
"""

import logging
from collections.abc import Iterable

from treedb.clock import SystemClock
from treedb.errors import InsufficientStorage
from treedb.store.index_build import BuildStep
from treedb.store.index_definitions import IndexPlace, IndexProgress, IndexState
from treedb.store.pace import Pace
from treedb.store.store import Store

log = logging.getLogger("treedb.indexes")

# Children that one step indexes: some 10 ms, which is what a write may have to wait.
STEP_CHILDREN = 500


class BackgroundBuild:
    """What is still to be built in a store, and when the next step is due."""

    def __init__(self, store: Store, clock: SystemClock) -> None:
        self._store = store
        self._pace = Pace(clock)
        self._pending: tuple[IndexProgress, ...] = ()

    def look(self) -> None:
        """Find out what there is to build; called when indexes may have been declared."""
        with self._store.snapshot() as snapshot:
            progress = snapshot.index_progress()
        pending = tuple(each for each in progress if each.state is not IndexState.COMPLETE)
        if pending and not self._pending:
            self._pace.begin_reports()
        self._log_changes(pending, progress)
        self._pending = pending

    def _log_changes(
        self, pending: Iterable[IndexProgress], progress: Iterable[IndexProgress]
    ) -> None:
        """Tell which indexes began to be built or dropped since the last look, and which ended."""
        before = {(each.place, each.state) for each in self._pending}
        now = {(each.place, each.state) for each in pending}
        complete = {each.place: each for each in progress if each.state is IndexState.COMPLETE}
        for place, state in before - now:
            if state is IndexState.DROPPING:
                self._tell(place, "dropped")
            elif place in complete:
                self._tell(place, f"complete, {complete[place].children} children")
        for place, state in now - before:
            self._tell(place, state.value)

    def seconds_until_due(self) -> float | None:
        """Return how long to wait until the next step, None when there is nothing to build."""
        return self._pace.seconds_until_due() if self._pending else None

    def step_if_due(self) -> tuple[()]:
        """Take one step when it is time; raises MapFull and StoreError, as a write does.

        No commit comes of it.
        """
        if not self._pending:
            return ()
        try:
            step = self._pace.run(self._step)
        except InsufficientStorage as error:
            log.warning("building indexes waits for room: %s", error.reason)
            raise
        if step is not None and (self._pace.is_report_due() or step.is_last):
            self._report()
        return ()

    def _step(self) -> BuildStep:
        with self._store.transaction() as transaction:
            step = transaction.build_indexes(STEP_CHILDREN)
            transaction.commit()
        return step

    def _report(self) -> None:
        self.look()
        for each in self._pending:
            self._tell(each.place, f"{each.state.value}, {each.children} children")

    def _tell(self, place: IndexPlace, what: str) -> None:
        log.info("namespace %s, index %s: %s", self._store.directory.name, place, what)
