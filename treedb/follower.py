"""The follower: publish the commits of one database in order, to those who still may hear.

For every commit, in this order: other rules are put in force; listeners whose permission the
commit may end are asked about again, and told when it is over; everybody else hears of it; and
when all of a group commit is published its senders are answered. It runs on the event loop, in
turns, and is scheduled by whoever owns the loop.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from treedb.access import Access
from treedb.clock import SystemClock
from treedb.doubts import Doubts
from treedb.errors import TreeError, Unavailable
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.schedule import Schedule
from treedb.slow_reads import SlowReads
from treedb.store.store import Snapshot, Store
from treedb.sync.delivery import Listener, Watch
from treedb.sync.hub import Hub
from treedb.sync.view import View
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.commit import Commit
from treedb.tree.query import Chosen
from treedb.unpublished import unpublished
from treedb.window_upkeep import Published, WindowUpkeep
from treedb.writes.writer import Batch, Outcome

log = logging.getLogger("treedb.follower")

# The longest the follower keeps the event loop before it lets others have it.
TURN_SECONDS = 0.005
# Commits of another process that are taken at once.
CATCH_UP = 1000
# Slices of a window that publishing waits for; one that takes longer is read beside it.
PATIENCE = 20


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
        self._doubts = Doubts(store, clock, schedule, self.permit, self._permission_ended)
        self._batches: deque[Batch] = deque()
        self._publishing: Iterator[None] | None = None
        self._rules_revision = 0
        self.authority = access.authority()
        self.bookmark = BEGINNING
        self.derived_changes = 0

    def start(self) -> None:
        """Begin where the store is."""
        with self._store.snapshot() as snapshot:
            self.bookmark = snapshot.bookmark()
            self._follow_rules(snapshot)

    def close(self) -> None:
        """Give up what is still being read."""
        self._slow_reads.close()

    @property
    def revision(self) -> int:
        """Return the revision of the last commit published."""
        return self.bookmark.revision

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
        self._doubts.permit(watch, listener, snapshot, caller)
        self._hub.join(watch, listener, snapshot.revision, held=held)

    def begin(self, watch: Watch, chosen: Chosen, revision: int) -> bool:
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
        self._doubts.confirm(watch, listener)

    def release(self, watch: Watch, listener: Listener) -> None:
        """Deliver what was kept for a held listener, and from now on everything at once."""
        self.confirm(watch, listener)
        for delivery in self._hub.release(watch, listener):
            listener.deliver(delivery, watch.tag)

    def leave(self, watch: Watch, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        self._hub.leave(watch, listener)
        self._doubts.forget(watch, listener)

    def act_as(self, listener: Listener, caller: Caller) -> None:
        """Let a listener go on as somebody else, where that one may listen too.

        What each of its listens asks for stays as it is, whatever the caller's query.
        """
        self._doubts.doubt_listener(listener, caller)

    # Commits

    def arrived(self, batch: Batch) -> None:
        """Take a group commit, after those that came before."""
        self._batches.append(batch)
        if self._publishing is None:
            self._publishing = self._publish_all()
            self._take_turn()

    def catch_up(self) -> None:
        """Take what another process has committed; Unavailable when there are too many readers."""
        if self._publishing is not None:
            return
        with self._store.snapshot() as snapshot:
            commits = tuple(islice(snapshot.journal.after(self.revision), CATCH_UP))
        if commits:
            self.arrived(Batch(commits, ()))

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
            self._doubts.end_all()
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
            yield from self._doubts.doubt_all()
        elif self._access.rechecks_data:
            yield from self._doubts.doubt_depending_on(commit.patch)
        learnt = []
        for view, changes in self._hub.touched(commit):
            delivery = yield from self._upkeep.learn(view, changes, commit.revision, published)
            self._hub.refresh(view)
            if delivery is not None:
                learnt.append((view, replace(delivery, time_ms=commit.time_ms)))
        yield from self._doubts.settle_about(commit.patch)
        for view, delivery in learnt:
            view.tell(delivery)
        self.bookmark = Bookmark(commit.revision, commit.time_ms)
        self.derived_changes += len(commit.derived)

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
        try:
            self._slow_reads.start(view)
        except Unavailable:
            log.warning("a window waits for the next commit to be read anew: too many readers")
            view.stop_reading()
            self._hub.refresh(view)

    def _finish(self, view: View, chosen: Chosen | None, revision: int) -> Iterator[None]:
        """Tell of a window that was read anew, unless nobody watches it any more."""
        yield from self._doubts.settle_at(view.place)
        if chosen is None or not view.members:
            return
        delivery = view.finish_reading(chosen, revision)
        self._hub.refresh(view)
        if delivery is not None:
            view.tell(delivery)

    def _give_up(self, view: View, error: TreeError) -> None:
        """End the listens of a view that cannot be read, mostly as it has come to hold too much."""
        log.warning("%d listens at %s end: %s", len(view.members), view.place, error.reason)
        for member in list(view.members.values()):
            watch = Watch(view.place, view.query, member.tag)
            self._doubts.forget(watch, member.listener)
            self._permission_ended(watch, member.listener)

    def _permission_ended(self, watch: Watch, listener: Listener) -> None:
        self._hub.leave(watch, listener)
        listener.cancel(watch)

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
