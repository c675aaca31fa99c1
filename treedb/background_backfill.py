"""Bring data to agree with new mirrors and counts, a little at a time, between the writes.

Each step is a commit of its own that listeners hear of like any other, kept short so that no write
waits long for it, and followed by a rest at least as long as it took. Where a backfill stands is in
the transaction of what it wrote, so that it goes on there after a restart. What a write touches
meanwhile agrees before the write is planned (`writes/steps.py`).
"""

import logging
from collections.abc import Sequence
from typing import Final

from treedb.clock import SystemClock
from treedb.errors import InsufficientStorage
from treedb.store.kept_derived import KeptBackfill
from treedb.store.pace import Pace
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.writes.backfill import Backfilled, backfill_some
from treedb.writes.mend import Mended
from treedb.writes.rules_in_force import RulesInForce

log = logging.getLogger("treedb.mirrors")

# Entries that one step goes through: some 10 ms, which is what a write may have to wait.
STEP_ENTRIES: Final = 500


class BackgroundBackfill:
    """What is still to be brought to agree in a store, and when the next step is due."""

    def __init__(self, store: Store, clock: SystemClock, rules: RulesInForce) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules
        self._pace = Pace(clock)
        self._is_pending = False

    def look(self) -> None:
        """Find out what there is to do; called when rules may have brought mirrors or counts."""
        with self._store.snapshot() as snapshot:
            pending = snapshot.backfills()
        if pending and not self._is_pending:
            self._pace.begin_reports()
            for each in pending:
                self._tell(each, f"data is brought to agree, {each.side} is right")
        self._is_pending = bool(pending)

    def seconds_until_due(self) -> float | None:
        """Return how long to wait until the next step, None when there is nothing to do."""
        return self._pace.seconds_until_due() if self._is_pending else None

    def step_if_due(self) -> Sequence[Commit]:
        """Take one step when it is time, and return its commit; raises what a write raises."""
        if not self._is_pending:
            return ()
        try:
            step = self._pace.run(self._step)
        except InsufficientStorage as error:
            log.warning("bringing data to agree waits for room: %s", error.reason)
            raise
        if step is None:
            return ()
        self._report(step.mended)
        return () if step.commit is None else (step.commit,)

    def _step(self) -> Backfilled | None:
        with self._store.transaction() as transaction:
            ruleset = self._rules.in_force(transaction).ruleset
            step = backfill_some(transaction, ruleset, STEP_ENTRIES, self._clock.now_ms())
            if step is not None:
                transaction.commit()
        self._is_pending = step is not None and not step.is_last
        return step

    def _report(self, mended: Mended) -> None:
        for conflict in mended.conflicts:
            self._tell(mended.seen, f"left as it is: {conflict}")
        if mended.backfill is None:
            self._tell(mended.seen, "data agrees now")
        elif self._pace.is_report_due():
            self._tell(mended.seen, "data is being brought to agree")

    def _tell(self, backfill: KeptBackfill, what: str) -> None:
        log.info(
            "namespace %s, %s: %s (%d entries seen, %d places written, %d conflicts)",
            self._store.directory.name,
            backfill.name,
            what,
            backfill.entries,
            backfill.changed,
            backfill.conflicts,
        )
