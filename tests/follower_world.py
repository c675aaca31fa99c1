"""A follower whose event loop, clock and commits a test moves by hand."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from treedb.access import Access
from treedb.auth.identity import Auth
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.follower import Follower
from treedb.paths.path import Path
from treedb.rules.authority import NOBODY, Caller
from treedb.schedule import Schedule
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Store
from treedb.sync.delivery import Delivery, Watch
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.writer import Batch, Outcome, Written

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26, journal_entries=3)
OPEN = '{"rules": {".read": true}}'
CLOSED = '{"rules": {}}'
MEMBERS = """{"rules": {"rooms": {"$room": {
  ".read": "root.child('members').child($room).child(auth.uid).exists()"}}}}"""
MARY = Caller(Auth("mchen", {}, is_admin=False, expires_at_ms=None))
ROOM = Path(("rooms", "a"))


class HandClock(SystemClock):
    """A clock that is moved by hand."""

    seconds = 1000.0
    step = 0.0
    ahead_ms = 0

    def monotonic(self) -> float:
        self.seconds += self.step
        return self.seconds

    def now_ms(self) -> int:
        return 1_700_000_000_000 + self.ahead_ms


@dataclass(eq=False)
class Recorder:
    """A listener that writes down what happens to it."""

    heard: list[object] = field(default_factory=list)

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        self.heard.append(delivery.revision)

    def cancel(self, watch: Watch) -> None:
        self.heard.append(f"cancelled {watch}")


@dataclass
class World:
    """A follower whose event loop and clock the test moves."""

    store: Store
    access: Access
    clock: HandClock = field(default_factory=HandClock)
    soon: list[Callable[[], None]] = field(default_factory=list)
    later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    answered: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        schedule = Schedule(self.soon.append, lambda *timer: self.later.append(timer))
        self.follower = Follower(
            self.store,
            self.clock,
            self.access,
            schedule,
            lambda each: self.answered.append(each.ticket),
        )
        self.follower.start()

    def listen(self, path: Path = ROOM, caller: Caller = NOBODY) -> Recorder:
        recorder = Recorder()
        with self.store.snapshot() as snapshot:
            self.follower.join(Watch(path), recorder, snapshot, caller, held=False)
        return recorder

    def commit(self, path: Path, value: Value, rules: str | None = None) -> Commit:
        """Make a commit durable, as the writer would, without handing it over."""
        return self.commit_all(Patch(()) if rules else Patch(((path, value),)), rules)

    def commit_all(self, patch: Patch, rules: str | None = None) -> Commit:
        """Do so with many changes."""
        with self.store.transaction() as transaction:
            revision = transaction.revision + 1
            commit = Commit(revision, self.clock.now_ms(), patch, None, None, rules)
            kept = KeptRules(revision, rules, Origin.ADMIN) if rules else None
            transaction.apply(commit, kept)
            transaction.commit()
        return commit

    def take_turns(self) -> int:
        """Run all that waits for the loop's next turns; return how many that were."""
        turns = 0
        while self.soon:
            self.soon.pop(0)()
            turns += 1
        return turns

    def hand_over(self, *commits: Commit) -> None:
        ticket = commits[-1].revision
        outcome = Outcome(ticket, Written(commits[-1].revision, ()))
        self.follower.arrived(Batch(commits, (outcome,)))
