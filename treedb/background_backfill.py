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
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.writes.backfill import backfill_some
from treedb.writes.mend import Mended
from treedb.writes.rules_in_force import RulesInForce

log = logging.getLogger("treedb.mirrors")

# Entries that one step goes through: some 10 ms, which is what a write may have to wait.
STEP_ENTRIES: Final = 500
# Between two reports of a backfill that takes long.
REPORT_SECONDS: Final = 10.0
# Until a backfill that found the disk full is tried again.
FULL_SECONDS: Final = 60.0


class BackgroundBackfill:
    """What is still to be brought to agree in a store, and when the next step is due."""

    def __init__(self, store: Store, clock: SystemClock, rules: RulesInForce) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules
        self._is_pending = False
        self._due_at = 0.0
        self._reported_at = 0.0

    def look(self) -> None:
        """Find out what there is to do; called when rules may have brought mirrors or counts."""
        with self._store.snapshot() as snapshot:
            pending = snapshot.backfills()
        if pending and not self._is_pending:
            self._reported_at = self._clock.monotonic()
            for each in pending:
                self._tell(each, f"data is brought to agree, {each.side} is right")
        self._is_pending = bool(pending)

    def seconds_until_due(self) -> float | None:
        """Return how long to wait until the next step, None when there is nothing to do."""
        return max(0.0, self._due_at - self._clock.monotonic()) if self._is_pending else None

    def step_if_due(self) -> Sequence[Commit]:
        """Take one step when it is time, and return its commit; raises what a write raises."""
        start = self._clock.monotonic()
        if not self._is_pending or start < self._due_at:
            return ()
        self._due_at = start + FULL_SECONDS
        try:
            commits = self._step()
        except InsufficientStorage as error:
            log.warning("bringing data to agree waits for room: %s", error.reason)
            raise
        end = self._clock.monotonic()
        self._due_at = end + (end - start)
        return commits

    def _step(self) -> Sequence[Commit]:
        with self._store.transaction() as transaction:
            ruleset = self._rules.in_force(transaction).ruleset
            step = backfill_some(transaction, ruleset, STEP_ENTRIES, self._clock.now_ms())
            if step is None:
                self._is_pending = False
                return ()
            transaction.commit()
        self._report(step.mended)
        self._is_pending = not step.is_last
        return () if step.commit is None else (step.commit,)

    def _report(self, mended: Mended) -> None:
        for conflict in mended.conflicts:
            self._tell(mended.seen, f"left as it is: {conflict}")
        now = self._clock.monotonic()
        if mended.backfill is None:
            self._tell(mended.seen, "data agrees now")
        elif now - self._reported_at > REPORT_SECONDS:
            self._reported_at = now
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
