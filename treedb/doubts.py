"""The permissions of one database's listeners, and those in doubt.

A permission that may be over is *in doubt* until the rules are asked again: when other rules are
put, when its listener goes on as somebody else, when data changes that its rule read. Nobody hears
of a commit on a permission in doubt. So asking may take several turns, and may wait for a while
where nothing is to be delivered; what is delivered is permitted.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from treedb.clock import SystemClock
from treedb.errors import ExpiredToken, PermissionDenied, Unavailable
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.schedule import Schedule
from treedb.store.store import Snapshot, Store
from treedb.sync.delivery import Listener, Watch
from treedb.sync.grants import Grant, Grants
from treedb.tree.patch import Patch

log = logging.getLogger("treedb.follower")

# A grant is asked about again for changed data at most this often, so that a rule that reads a
# place which changes all the time does not cost more than the writes themselves.
RECHECK_SECONDS = 0.1
# Permissions asked about before others may have the loop: some 25 us each, so about 1 ms.
RECHECK_SLICE = 50
# Changes of a commit that are compared with each permission in doubt; with more, all are asked.
FEW_CHANGES = 8

Permit = Callable[[Path, Snapshot, Caller], frozenset[Path]]


class Doubts:
    """Every listener's grant, and which of them the rules have to be asked about again.

    `permit` asks the rules, `end` takes a listener away whose permission is over and tells it.
    """

    def __init__(
        self,
        store: Store,
        clock: SystemClock,
        schedule: Schedule,
        permit: Permit,
        end: Callable[[Watch, Listener], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._schedule = schedule
        self._permit = permit
        self._tell_the_end = end
        self._grants = Grants()
        self._doubted: dict[Grant, Caller] = {}
        self._is_settling = False

    def permit(self, watch: Watch, listener: Listener, snapshot: Snapshot, caller: Caller) -> None:
        """Give a listener its grant; PermissionDenied when the rules do not."""
        depends_on = self._permit(watch.place, snapshot, caller)
        self._grants.add(Grant(watch, listener, caller, depends_on, self._clock.monotonic()))

    def forget(self, watch: Watch, listener: Listener) -> None:
        """Forget the grant of a listen that has ended."""
        self._grants.remove(watch, listener)

    def end_all(self) -> None:
        """End every listen."""
        for grant in self._grants.every():
            self._end(grant)

    # What brings doubt

    def doubt_all(self) -> Iterator[None]:
        """Ask about everybody, since other rules were put; yields where it may pause."""
        yield from self._recheck(self._doubt(self._grants.every()))

    def doubt_depending_on(self, patch: Patch) -> Iterator[None]:
        """Doubt the grants that changed data may end, and ask about those not asked just now.

        The others are asked about before they are needed, or soon.
        """
        grants = self._doubt(self._grants.depending_on(patch))
        recent = self._clock.monotonic() - RECHECK_SECONDS
        overdue = [grant for grant in grants if grant.checked_at <= recent]
        if len(overdue) < len(grants) and not self._is_settling:
            self._is_settling = True
            self._schedule.later(RECHECK_SECONDS, self._settle)
        yield from self._recheck(overdue)

    def doubt_listener(self, listener: Listener, caller: Caller) -> None:
        """Let a listener go on as somebody else, where that one may listen too.

        What each of its listens asks for stays as it is, whatever the caller's query.
        """
        grants = self._grants.of(listener)
        for grant in grants:
            self._doubted[grant] = replace(caller, query=grant.caller.query)
        self._ask_about(grants[:RECHECK_SLICE])
        if len(grants) > RECHECK_SLICE:
            self._schedule.soon(self._settle)

    def _doubt(self, grants: list[Grant]) -> list[Grant]:
        for grant in grants:
            self._doubted.setdefault(grant, grant.caller)
        return grants

    # What ends doubt

    def confirm(self, watch: Watch, listener: Listener) -> None:
        """End a listen now, if its permission is in doubt and is not given any more."""
        grant = self._grants.get(watch, listener)
        if grant in self._doubted:
            self._ask_about([grant])

    def settle_about(self, patch: Patch) -> Iterator[None]:
        """Ask about everybody in doubt who would hear of a patch; yields where it may pause."""
        while doubted := self._doubted_about(patch):
            yield from self._recheck(doubted)

    def settle_at(self, place: Path) -> Iterator[None]:
        """Ask about everybody in doubt who listens at a place; yields where it may pause."""
        while doubted := [each for each in self._doubted if each.watch.place == place]:
            yield from self._recheck(doubted)

    def _doubted_about(self, patch: Patch) -> list[Grant]:
        if len(patch.changes) > FEW_CHANGES:
            return list(self._doubted)
        return [
            grant
            for grant in self._doubted
            if any(_meet(grant.watch.place, path) for path, _ in patch.changes)
        ]

    def _settle(self) -> None:
        """Ask about whoever is in doubt, a slice in each turn."""
        self._ask_about(list(islice(self._doubted, RECHECK_SLICE)))
        self._is_settling = bool(self._doubted)
        if self._is_settling:
            self._schedule.soon(self._settle)

    def _recheck(self, grants: list[Grant]) -> Iterator[None]:
        for start in range(0, len(grants), RECHECK_SLICE):
            self._ask_about(grants[start : start + RECHECK_SLICE])
            yield

    def _ask_about(self, grants: list[Grant]) -> None:
        """Renew grants in doubt as rules and tree are now, and end those they no longer give."""
        doubted = [
            (grant, caller)
            for grant in grants
            if (caller := self._doubted.pop(grant, None)) is not None
            and self._grants.get(grant.watch, grant.listener) is grant  # not left, nor renewed
        ]
        if not doubted:
            return
        try:
            snapshot = self._store.snapshot()
        except Unavailable:
            log.exception("%d listens end: their rules cannot be asked", len(doubted))
            for grant, _ in doubted:
                self._end(grant)
            return
        with snapshot:
            for grant, caller in doubted:
                self._renew(grant, caller, snapshot)

    def _renew(self, grant: Grant, caller: Caller, snapshot: Snapshot) -> None:
        unexplained = Caller(caller.auth, caller.query)  # a cancel does not tell why
        try:
            depends_on = self._permit(grant.watch.place, snapshot, unexplained)
        except (PermissionDenied, ExpiredToken):
            self._end(grant)
            return
        checked_at = self._clock.monotonic()
        self._grants.add(
            replace(grant, caller=caller, depends_on=depends_on, checked_at=checked_at)
        )

    def _end(self, grant: Grant) -> None:
        self._grants.remove(grant.watch, grant.listener)
        self._tell_the_end(grant.watch, grant.listener)


def _meet(one: Path, other: Path) -> bool:
    return one.contains(other) or other.contains(one)
