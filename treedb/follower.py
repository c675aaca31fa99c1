"""The follower: publish the commits of one database in order, to those who still may hear.

For every commit, in this order: other rules are put in force; listeners whose permission the
commit may end are asked about again, and told when it is over; everybody else hears of it; and
when all of a group commit is published its senders are answered. It runs on the event loop, in
turns, and is scheduled by whoever owns the loop.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from treedb.clock import SystemClock
from treedb.errors import PermissionDenied
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Authority, Caller
from treedb.rules.loader import parse_rules
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
        ruleset = parse_rules(self.default_rules if text is None else text)
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
        self._stale: dict[Grant, None] = {}
        self.authority = access.authority()
        self.revision = 0

    def start(self) -> None:
        """Begin where the store is."""
        with self._store.snapshot() as snapshot:
            self.revision = snapshot.revision
            kept = snapshot.rules()
        if kept is not None:
            self.authority = self._access.authority(kept.text)

    @property
    def watched_places(self) -> int:
        """Count the places listened to."""
        return len(self._hub)

    # Listeners

    def permit(self, path: Path, snapshot: Snapshot, caller: Caller) -> frozenset[Path]:
        """Return what the permission to read a place depends on; PermissionDenied without one."""
        now_ms = self._clock.now_ms()
        return self.authority.permit_read(path, snapshot.tree, caller, now_ms)

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
        for delivery in self._hub.release(path, listener):
            listener.deliver(delivery)

    def leave(self, path: Path, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        self._hub.leave(path, listener)
        self._grants.remove(path, listener)

    def act_as(self, listener: Listener, caller: Caller) -> None:
        """Let a listener go on as somebody else, where that one may listen too."""
        grants = self._grants.of(listener)
        if grants:
            self._recheck([replace(grant, caller=caller) for grant in grants])

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
                self._publish(commit)
                yield
            for outcome in batch.outcomes:
                self._answer(outcome)
            yield

    def _publish(self, commit: Commit) -> None:
        if commit.rules is not None:
            self.authority = self._access.authority(commit.rules)
            self._recheck(self._grants.every())
        elif self._access.rechecks_data:
            self._recheck_depending_on(commit.patch)
        for delivery, listeners in self._hub.publish(commit):
            for listener in listeners:
                listener.deliver(delivery)
        self.revision = commit.revision

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

    # Grants

    def _recheck_depending_on(self, patch: Patch) -> None:
        """Ask again about the grants that a commit may end, or soon if that was done just now."""
        grants = self._grants.depending_on(patch)
        if not grants:
            return
        recent = self._clock.monotonic() - RECHECK_SECONDS
        if not self._stale and any(grant.checked_at > recent for grant in grants):
            self._schedule.later(RECHECK_SECONDS, self._recheck_stale)
        self._stale.update((grant, None) for grant in grants if grant.checked_at > recent)
        self._recheck([grant for grant in grants if grant.checked_at <= recent])

    def _recheck_stale(self) -> None:
        stale, self._stale = self._stale, {}
        standing = (self._grants.get(grant.place, grant.listener) for grant in stale)
        self._recheck([grant for grant in standing if grant is not None])

    def _recheck(self, grants: list[Grant]) -> None:
        """Renew grants as the rules and the tree are now, and end those they no longer give."""
        if not grants:
            return
        with self._store.snapshot() as snapshot:
            for grant in grants:
                try:
                    depends_on = self.permit(grant.place, snapshot, grant.caller)
                except PermissionDenied:
                    self.leave(grant.place, grant.listener)
                    grant.listener.cancel(grant.place)
                    continue
                checked_at = self._clock.monotonic()
                self._grants.add(replace(grant, depends_on=depends_on, checked_at=checked_at))
