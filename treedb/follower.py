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

from treedb.access import Access
from treedb.clock import SystemClock
from treedb.errors import ExpiredToken, PermissionDenied, TooBigToRead, Unavailable
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.slow_reads import SlowReads
from treedb.store.store import Snapshot, Store
from treedb.sync.delivery import Listener, Watch
from treedb.sync.grants import Grant, Grants
from treedb.sync.hub import Hub
from treedb.sync.view import View
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.unpublished import unpublished
from treedb.window_upkeep import Chosen, Published, WindowUpkeep
from treedb.writes.writer import Batch, Outcome

log = logging.getLogger("treedb.follower")

# The longest the follower keeps the event loop before it lets others have it.
TURN_SECONDS = 0.005
# A grant is asked about again for changed data at most this often, so that a rule that reads a
# place which changes all the time does not cost more than the writes themselves.
RECHECK_SECONDS = 0.1
# Permissions asked about before others may have the loop: some 25 us each, so about 1 ms.
RECHECK_SLICE = 50
# Slices of a window that publishing waits for; one that takes longer is read beside it.
PATIENCE = 20
# Changes of a commit that are compared with each permission in doubt; with more, all are asked.
FEW_CHANGES = 8


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
        self._upkeep = WindowUpkeep(store.limits, self._give_up)
        self._slow_reads = SlowReads(store, self._upkeep, schedule.soon, self._look_again)
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

    def close(self) -> None:
        """Give up what is still being read."""
        self._slow_reads.close()

    @property
    def watched_places(self) -> int:
        """Count the places listened to."""
        return len(self._hub)

    @property
    def has_unsettled_windows(self) -> bool:
        """Tell whether windows are yet to be read before they are right again."""
        return bool(self._hub.unsettled) or len(self._slow_reads) > 0

    # Listeners

    def permit(self, path: Path, snapshot: Snapshot, caller: Caller) -> frozenset[Path]:
        """Return what the permission to read a place depends on; PermissionDenied without one.

        The rules are those of the snapshot: old rules never meet newer data.
        """
        self._follow_rules(snapshot)
        return self.authority.permit_read(path, snapshot.tree, caller, self._clock.now_ms())

    def join(
        self, watch: Watch, listener: Listener, snapshot: Snapshot, caller: Caller, *, held: bool
    ) -> None:
        """Let a listener hear of what comes after a snapshot; PermissionDenied if it may not.

        With `held`, what comes is kept until `release`. A watch of a query has to `begin` before.
        """
        depends_on = self.permit(watch.place, snapshot, caller)
        self._hub.join(watch, listener, snapshot.revision, held=held)
        self._grants.add(Grant(watch, listener, caller, depends_on, self._clock.monotonic()))

    def begin(self, watch: Watch, chosen: list[tuple[str, Value]], revision: int) -> bool:
        """Take the children that a query chose in the snapshot its listener joined with.

        False when the listener has to join again, with a newer snapshot.
        """
        view = self._hub.view(watch)
        if view is None:
            return True  # nobody listens any more
        if not view.begin(chosen, revision):
            return False
        self._hub.refresh(view)
        if view.is_to_be_read:
            self._schedule.soon(self._look_again)
        return True

    def confirm(self, watch: Watch, listener: Listener) -> None:
        """End a listen now, if its permission is in doubt and is not given any more."""
        grant = self._grants.get(watch, listener)
        if grant in self._doubted:
            self._ask_about([grant])

    def release(self, watch: Watch, listener: Listener) -> None:
        """Deliver what was kept for a held listener, and from now on everything at once."""
        self.confirm(watch, listener)
        for delivery in self._hub.release(watch, listener):
            listener.deliver(delivery, watch.tag)

    def leave(self, watch: Watch, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        self._hub.leave(watch, listener)
        self._grants.remove(watch, listener)

    def act_as(self, listener: Listener, caller: Caller) -> None:
        """Let a listener go on as somebody else, where that one may listen too.

        What each of its listens asks for stays as it is, whatever the caller's query.
        """
        grants = self._grants.of(listener)
        for grant in grants:
            self._doubted[grant] = replace(caller, query=grant.caller.query)
        self._ask_about(grants[:RECHECK_SLICE])
        if len(grants) > RECHECK_SLICE:
            self._schedule.soon(self._settle_doubts)

    # Commits

    def arrived(self, batch: Batch) -> None:
        """Take a group commit, after those that came before."""
        self._batches.append(batch)
        if self._publishing is None:
            self._publishing = self._publish_all()
            self._take_turn()

    def _look_again(self) -> None:
        """Do what is to be done when no commit comes: windows wait to be read, or were read."""
        self.arrived(Batch((), ()))

    def _take_turn(self) -> None:
        """Publish for at most a turn, then let others have the loop."""
        assert self._publishing is not None, "a turn is taken while something is published"
        end = self._clock.monotonic() + TURN_SECONDS
        try:
            for _ in self._publishing:
                if self._clock.monotonic() > end:
                    self._schedule.soon(self._take_turn)
                    return
        except Exception:
            # A fault of ours. Nobody may go on with a hole in what it heard, and everybody else's
            # writes go on.
            log.exception("publishing failed: every listen of this database ends")
            for grant in self._grants.every():
                self._end(grant)
            self._publishing = self._publish_all()
            self._schedule.soon(self._take_turn)
            return
        self._publishing = None

    def _publish_all(self) -> Iterator[None]:
        """Publish waiting batches and answer their senders; yields where it may pause."""
        while self._batches:
            batch = self._batches.popleft()
            try:
                yield from self._publish_batch(batch)
            finally:
                if batch.snapshot is not None:
                    batch.snapshot.close()
                for outcome in batch.outcomes:
                    self._answer(outcome)
            yield

    def _publish_batch(self, batch: Batch) -> Iterator[None]:
        commits = unpublished(self._store, self.revision, batch.commits)
        published = Published(batch.snapshot, commits)
        for commit in commits:
            yield from self._publish(commit, published)
            yield
        for read in self._slow_reads.take_done(self.revision):
            yield from self._finish(read.view, read.chosen, read.revision)
        if self._hub.unsettled:
            yield from self._settle_windows(batch.snapshot)

    def _publish(self, commit: Commit, published: Published) -> Iterator[None]:
        """Publish one commit; yields where it may pause, before anybody hears of it."""
        if commit.rules is not None:
            self._put_in_force(commit.revision, commit.rules)
            yield from self._recheck(self._doubt(self._grants.every()))
        elif self._access.rechecks_data:
            yield from self._recheck(self._doubt_depending_on(commit.patch))
        learnt = []
        for view, changes in self._hub.touched(commit):
            delivery = yield from self._upkeep.learn(view, changes, commit.revision, published)
            self._hub.refresh(view)
            if delivery is not None:
                learnt.append((view, delivery))
        while doubted := self._doubted_about(commit.patch):
            yield from self._recheck(doubted)
        for view, delivery in learnt:
            view.tell(delivery)
        self.revision = commit.revision

    # Windows

    def _settle_windows(self, exact: Snapshot | None) -> Iterator[None]:
        """Read windows anew that commits left unsettled, as everything published is.

        While commits wait that are on disk and not published there is nothing to read them from:
        then it is done at the end of a batch to come.
        """
        try:
            snapshot = self._store.snapshot() if exact is None else exact
        except Unavailable:
            log.warning("windows wait for the next commit to be read anew: too many readers")
            return
        try:
            if snapshot.revision != self.revision:
                return
            for view in self._hub.unsettled:
                if view.members:
                    yield from self._read_anew(view, snapshot)
        finally:
            if exact is None:
                snapshot.close()

    def _read_anew(self, view: View, snapshot: Snapshot) -> Iterator[None]:
        view.start_reading()
        self._hub.refresh(view)
        steps = self._upkeep.read(view, snapshot)
        for _ in range(PATIENCE):
            try:
                next(steps)
            except StopIteration as end:
                yield from self._finish(view, end.value, snapshot.revision)
                return
            yield
        self._slow_reads.start(view)

    def _finish(self, view: View, chosen: Chosen | None, revision: int) -> Iterator[None]:
        """Tell of a window that was read anew, unless nobody watches it any more."""
        while doubted := [each for each in self._doubted if each.watch.place == view.place]:
            yield from self._recheck(doubted)
        if chosen is None or not view.members:
            return
        delivery = view.finish_reading(chosen, revision)
        self._hub.refresh(view)
        if delivery is not None:
            view.tell(delivery)

    def _give_up(self, view: View, error: TooBigToRead) -> None:
        """End the listens of a view that has come to hold more than may be read."""
        log.warning("%d listens at %s end: %s", len(view.members), view.place, error.reason)
        for member in list(view.members.values()):
            watch = Watch(view.place, view.query, member.tag)
            self.leave(watch, member.listener)
            member.listener.cancel(watch)

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
            self._schedule.later(RECHECK_SECONDS, self._settle_doubts)
        return overdue

    def _doubted_about(self, patch: Patch) -> list[Grant]:
        """Return the grants in doubt whose listeners would hear of a patch."""
        if len(patch.changes) > FEW_CHANGES:
            return list(self._doubted)
        return [
            grant
            for grant in self._doubted
            if any(_meet(grant.watch.place, path) for path, _ in patch.changes)
        ]

    def _settle_doubts(self) -> None:
        """Ask about whoever is in doubt, a slice in each turn."""
        self._ask_about(list(islice(self._doubted, RECHECK_SLICE)))
        self._is_settling = bool(self._doubted)
        if self._is_settling:
            self._schedule.soon(self._settle_doubts)

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
            depends_on = self.permit(grant.watch.place, snapshot, unexplained)
        except (PermissionDenied, ExpiredToken):
            self._end(grant)
            return
        checked_at = self._clock.monotonic()
        self._grants.add(
            replace(grant, caller=caller, depends_on=depends_on, checked_at=checked_at)
        )

    def _end(self, grant: Grant) -> None:
        self.leave(grant.watch, grant.listener)
        grant.listener.cancel(grant.watch)


def _meet(one: Path, other: Path) -> bool:
    return one.contains(other) or other.contains(one)
