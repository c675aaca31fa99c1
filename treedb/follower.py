"""The follower: publish the commits of one database in order, to those who still may hear.

For every commit, in this order: other rules are put in force; listeners whose permission the
commit may end are asked about again, and told when it is over; everybody else hears of it; and
when all of a group commit is published its senders are answered. It runs on the event loop, in
turns, and is scheduled by whoever owns the loop.

A permission that may be over is *in doubt* until the rules are asked again: when other rules are
put, when its listener goes on as somebody else, when data changes that its rule read. Nobody hears
of a commit on a permission in doubt. So asking may take several turns, and may wait for a while
where nothing is to be delivered; what is delivered is permitted.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from treedb.clock import SystemClock
from treedb.errors import ExpiredToken, PermissionDenied, Unavailable
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Authority, Caller
from treedb.rules.cache import ruleset_of
from treedb.store.store import Snapshot, Store
from treedb.sync.delivery import Listener
from treedb.sync.grants import Grant, Grants
from treedb.sync.hub import Hub
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.writes.writer import Batch, Outcome

log = logging.getLogger("treedb.follower")

# The longest the follower keeps the event loop before it lets others have it.
TURN_SECONDS = 0.005
# A grant is asked about again for changed data at most this often, so that a rule that reads a
# place which changes all the time does not cost more than the writes themselves.
RECHECK_SECONDS = 0.1
# Permissions asked about before others may have the loop: some 25 us each, so about 1 ms.
RECHECK_SLICE = 50
# Changes of a commit that are compared with each permission in doubt; with more, all are asked.
FEW_CHANGES = 8


@dataclass(frozen=True, slots=True)
class Access:
    """How a database is guarded where it keeps no rules of its own, and what is watched.

    `default_rules` bind until rules are put. With `counts_coverage` every check is counted, which
    is for development. Without `rechecks_data` a listener keeps its permission when the data that
    its rule read changes.
    """

    default_rules: str
    counts_coverage: bool = False
    rechecks_data: bool = True

    def authority(self, text: str | None = None) -> Authority:
        """Return the authority of a rules text, of the default rules without one."""
        ruleset = ruleset_of(self.default_rules if text is None else text)
        return Authority.of(ruleset, counting=self.counts_coverage)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The event loop as the follower needs it: run something soon, or after some seconds."""

    soon: Callable[[Callable[[], None]], object]
    later: Callable[[float, Callable[[], None]], object]


class Follower:
    """The listeners of one database, their grants, and how far they have heard."""

    def __init__(
        self,
        store: Store,
        clock: SystemClock,
        access: Access,
        schedule: Schedule,
        answer: Callable[[Outcome], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._access = access
        self._schedule = schedule
        self._answer = answer
        self._hub = Hub()
        self._grants = Grants()
        self._batches: deque[Batch] = deque()
        self._publishing: Iterator[None] | None = None
        self._doubted: dict[Grant, Caller] = {}
        self._is_settling = False
        self._rules_revision = 0
        self.authority = access.authority()
        self.revision = 0

    def start(self) -> None:
        """Begin where the store is."""
        with self._store.snapshot() as snapshot:
            self.revision = snapshot.revision
            self._follow_rules(snapshot)

    @property
    def watched_places(self) -> int:
        """Count the places listened to."""
        return len(self._hub)

    # Listeners

    def permit(self, path: Path, snapshot: Snapshot, caller: Caller) -> frozenset[Path]:
        """Return what the permission to read a place depends on; PermissionDenied without one.

        The rules are those of the snapshot: old rules never meet newer data.
        """
        self._follow_rules(snapshot)
        return self.authority.permit_read(path, snapshot.tree, caller, self._clock.now_ms())

    def join(
        self, path: Path, listener: Listener, snapshot: Snapshot, caller: Caller, *, held: bool
    ) -> None:
        """Let a listener hear of what comes after a snapshot; PermissionDenied if it may not.

        With `held`, what comes is kept until `release`.
        """
        depends_on = self.permit(path, snapshot, caller)
        self._hub.join(path, listener, snapshot.revision, held=held)
        self._grants.add(Grant(path, listener, caller, depends_on, self._clock.monotonic()))

    def release(self, path: Path, listener: Listener) -> None:
        """Deliver what was kept for a held listener, and from now on everything at once."""
        grant = self._grants.get(path, listener)
        if grant in self._doubted:
            self._ask_about([grant])
        for delivery in self._hub.release(path, listener):
            listener.deliver(delivery)

    def leave(self, path: Path, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        self._hub.leave(path, listener)
        self._grants.remove(path, listener)

    def act_as(self, listener: Listener, caller: Caller) -> None:
        """Let a listener go on as somebody else, where that one may listen too."""
        grants = self._grants.of(listener)
        self._doubted.update(dict.fromkeys(grants, caller))
        self._ask_about(grants[:RECHECK_SLICE])
        if len(grants) > RECHECK_SLICE:
            self._schedule.soon(self._settle)

    # Commits

    def arrived(self, batch: Batch) -> None:
        """Take a group commit, after those that came before."""
        self._batches.append(batch)
        if self._publishing is None:
            self._publishing = self._publish_all()
            self._take_turn()

    def _take_turn(self) -> None:
        """Publish for at most a turn, then let others have the loop."""
        assert self._publishing is not None, "a turn is taken while something is published"
        end = self._clock.monotonic() + TURN_SECONDS
        for _ in self._publishing:
            if self._clock.monotonic() > end:
                self._schedule.soon(self._take_turn)
                return
        self._publishing = None

    def _publish_all(self) -> Iterator[None]:
        """Publish waiting batches and answer their senders; yields where it may pause."""
        while self._batches:
            batch = self._batches.popleft()
            for commit in self._unpublished(batch.commits):
                yield from self._publish(commit)
                yield
            for outcome in batch.outcomes:
                self._answer(outcome)
            yield

    def _publish(self, commit: Commit) -> Iterator[None]:
        """Publish one commit; yields where it may pause, before anybody hears of it."""
        if commit.rules is not None:
            self._put_in_force(commit.revision, commit.rules)
            yield from self._recheck(self._doubt(self._grants.every()))
        elif self._access.rechecks_data:
            yield from self._recheck(self._doubt_depending_on(commit.patch))
        while doubted := self._doubted_about(commit.patch):
            yield from self._recheck(doubted)
        for delivery, listeners in self._hub.publish(commit):
            for listener in listeners:
                listener.deliver(delivery)
        self.revision = commit.revision

    def _follow_rules(self, snapshot: Snapshot) -> None:
        """Put the rules of a snapshot in force; its commit may not be published yet."""
        if snapshot.rules_revision() > self._rules_revision:
            kept = snapshot.rules()
            assert kept is not None, "rules are replaced, never removed"
            self._put_in_force(kept.revision, kept.text)

    def _put_in_force(self, revision: int, text: str) -> None:
        if revision > self._rules_revision:
            self.authority = self._access.authority(text)
            self._rules_revision = revision

    def _unpublished(self, commits: tuple[Commit, ...]) -> Iterator[Commit]:
        """Yield the journal from where this process is, up to and with these commits.

        They are the journal's own entries, handed over in memory; what another process wrote
        before them is read from disk.
        """
        if commits and commits[0].revision > self.revision + 1:
            yield from self._missed()
        yield from (commit for commit in commits if commit.revision > self.revision)

    def _missed(self) -> list[Commit]:
        with self._store.snapshot() as snapshot:
            missed = list(snapshot.journal.after(self.revision))
            if missed[0].revision == self.revision + 1:
                return missed
            # Pruned before we read it: the whole tree, and the rules, stand for what is unknown.
            kept = snapshot.rules()
            whole = Patch(((ROOT, snapshot.tree.get(ROOT)),))
            return [replace(missed[-1], patch=whole, rules=kept.text if kept else None)]

    # Permissions in doubt

    def _doubt(self, grants: list[Grant]) -> list[Grant]:
        for grant in grants:
            self._doubted.setdefault(grant, grant.caller)
        return grants

    def _doubt_depending_on(self, patch: Patch) -> list[Grant]:
        """Doubt the grants that changed data may end; return those not asked about just now.

        The others are asked about before they are needed, or soon.
        """
        grants = self._doubt(self._grants.depending_on(patch))
        recent = self._clock.monotonic() - RECHECK_SECONDS
        overdue = [grant for grant in grants if grant.checked_at <= recent]
        if len(overdue) < len(grants) and not self._is_settling:
            self._is_settling = True
            self._schedule.later(RECHECK_SECONDS, self._settle)
        return overdue

    def _doubted_about(self, patch: Patch) -> list[Grant]:
        """Return the grants in doubt whose listeners would hear of a patch."""
        if len(patch.changes) > FEW_CHANGES:
            return list(self._doubted)
        return [
            grant
            for grant in self._doubted
            if any(grant.place.contains(p) or p.contains(grant.place) for p, _ in patch.changes)
        ]

    def _settle(self) -> None:
        """Ask about whoever is in doubt, a slice in each turn."""
        self._ask_about(list(islice(self._doubted, RECHECK_SLICE)))
        self._is_settling = bool(self._doubted)
        if self._is_settling:
            self._schedule.soon(self._settle)

    def _recheck(self, grants: list[Grant]) -> Iterator[None]:
        """Ask about grants in doubt; yields where it may pause."""
        for start in range(0, len(grants), RECHECK_SLICE):
            self._ask_about(grants[start : start + RECHECK_SLICE])
            yield

    def _ask_about(self, grants: list[Grant]) -> None:
        """Renew grants in doubt as rules and tree are now, and end those they no longer give."""
        doubted = [
            (grant, caller)
            for grant in grants
            if (caller := self._doubted.pop(grant, None)) is not None
            and self._grants.get(grant.place, grant.listener) is grant  # not left, nor renewed
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
            depends_on = self.permit(grant.place, snapshot, unexplained)
        except (PermissionDenied, ExpiredToken):
            self._end(grant)
            return
        checked_at = self._clock.monotonic()
        self._grants.add(
            replace(grant, caller=caller, depends_on=depends_on, checked_at=checked_at)
        )

    def _end(self, grant: Grant) -> None:
        self.leave(grant.place, grant.listener)
        grant.listener.cancel(grant.place)
