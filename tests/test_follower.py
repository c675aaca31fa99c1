"""The follower: who hears, in which order, and who is asked about again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

import pytest

from treedb.auth.identity import Auth
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.errors import PermissionDenied
from treedb.follower import RECHECK_SECONDS, TURN_SECONDS, Access, Follower, Schedule
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import NOBODY, Caller
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Store
from treedb.sync.delivery import Delivery
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

    def monotonic(self) -> float:
        return self.seconds


@dataclass(eq=False)
class Recorder:
    """A listener that writes down what happens to it."""

    heard: list[object] = field(default_factory=list)

    def deliver(self, delivery: Delivery) -> None:
        self.heard.append(delivery.revision)

    def cancel(self, place: Path) -> None:
        self.heard.append(f"cancelled {place}")


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
            self.follower.join(path, recorder, snapshot, caller, held=False)
        return recorder

    def commit(self, path: Path, value: Value, rules: str | None = None) -> Commit:
        """Make a commit durable, as the writer would, without handing it over."""
        with self.store.transaction() as transaction:
            revision = transaction.revision + 1
            patch = Patch(()) if rules else Patch(((path, value),))
            commit = Commit(revision, self.clock.now_ms(), patch, None, None, rules)
            kept = KeptRules(revision, rules, Origin.ADMIN) if rules else None
            transaction.apply(commit, kept)
            transaction.commit()
        return commit

    def hand_over(self, *commits: Commit) -> None:
        ticket = commits[-1].revision
        outcome = Outcome(ticket, Written(commits[-1].revision, ()))
        self.follower.arrived(Batch(commits, (outcome,)))


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    store = Store.open(tmp_path, LIMITS, fsync=False)
    yield store
    store.close()


def test_a_batch_is_published_in_order_and_then_answered(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorder = world.listen()
    world.hand_over(world.commit(ROOM, 1), world.commit(ROOM, 2))
    assert (recorder.heard, world.answered, world.follower.revision) == ([1, 2], [2], 2)


def test_a_long_batch_is_published_in_turns(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorder = world.listen()
    world.clock.seconds += 0
    slow = Recorder()

    def deliver(delivery: Delivery) -> None:
        world.clock.seconds += TURN_SECONDS * 2
        Recorder.deliver(slow, delivery)

    slow.deliver = deliver  # type: ignore[method-assign]
    with store.snapshot() as snapshot:
        world.follower.join(ROOM, slow, snapshot, NOBODY, held=False)
    world.hand_over(world.commit(ROOM, 1), world.commit(ROOM, 2))
    assert (recorder.heard, world.answered) == ([1], [])
    while world.soon:
        world.soon.pop(0)()
    assert (recorder.heard, world.answered) == ([1, 2], [2])


def test_other_rules_come_before_the_commits_after_them(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorder = world.listen()
    commits = world.commit(ROOM, 1), world.commit(ROOT, None, CLOSED), world.commit(ROOM, 2)
    world.hand_over(*commits)
    assert recorder.heard == [1, "cancelled /rooms/a"]
    with pytest.raises(PermissionDenied):
        world.listen()


def test_rules_kept_in_the_store_bind_from_the_start(store: Store) -> None:
    World(store, Access(OPEN)).commit(ROOT, None, CLOSED)
    with pytest.raises(PermissionDenied):
        World(store, Access(OPEN)).listen()


def test_data_that_a_permission_depended_on_ends_it_before_the_event(store: Store) -> None:
    world = World(store, Access(MEMBERS))
    world.hand_over(world.commit(Path(("members", "a", "mchen")), True))
    recorder = world.listen(caller=MARY)
    world.clock.seconds += RECHECK_SECONDS * 2
    removed = world.commit(ROOT, {"rooms": {"a": "new"}})
    world.hand_over(removed)
    assert recorder.heard == ["cancelled /rooms/a"]
    assert world.follower.watched_places == 0


def test_a_permission_that_was_just_checked_is_asked_about_a_little_later(store: Store) -> None:
    world = World(store, Access(MEMBERS))
    world.hand_over(world.commit(Path(("members", "a", "mchen")), True))
    recorder = world.listen(caller=MARY)
    world.hand_over(world.commit(Path(("members", "a", "mchen")), None))
    world.hand_over(world.commit(Path(("members", "a", "hmadi")), True))
    assert recorder.heard == []
    [(seconds, recheck)] = world.later
    assert seconds == RECHECK_SECONDS
    recheck()
    assert recorder.heard == ["cancelled /rooms/a"]


def test_without_the_option_changed_data_ends_no_permission(store: Store) -> None:
    world = World(store, Access(MEMBERS, rechecks_data=False))
    world.hand_over(world.commit(Path(("members", "a", "mchen")), True))
    recorder = world.listen(caller=MARY)
    world.clock.seconds += RECHECK_SECONDS * 2
    world.hand_over(world.commit(Path(("members", "a", "mchen")), None))
    world.hand_over(world.commit(ROOM, 1))
    assert recorder.heard == [3]


def test_a_listener_that_acts_as_another_keeps_what_that_one_may_hear(store: Store) -> None:
    world = World(store, Access(MEMBERS))
    world.hand_over(world.commit(Path(("members", "a", "mchen")), True))
    recorder = world.listen(caller=MARY)
    world.follower.act_as(recorder, MARY)
    assert recorder.heard == []
    world.follower.act_as(recorder, NOBODY)
    assert recorder.heard == ["cancelled /rooms/a"]


def test_what_another_process_committed_is_read_from_the_journal_rules_included(
    store: Store,
) -> None:
    world = World(store, Access(OPEN))
    recorder = world.listen()
    world.commit(ROOM, "theirs")
    world.commit(ROOT, None, CLOSED)
    world.hand_over(world.commit(ROOM, "ours"))
    assert recorder.heard == [1, "cancelled /rooms/a"]


def test_behind_a_pruned_journal_the_whole_tree_and_the_rules_stand_for_it(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorder = world.listen()
    world.commit(ROOT, None, '{"rules": {"rooms": {".read": true}}}')
    for number in range(9):
        world.commit(ROOM, number)
    world.hand_over(world.commit(ROOM, "ours"))
    assert recorder.heard == [11]
    assert world.follower.authority.ruleset.text == '{"rules": {"rooms": {".read": true}}}'


def test_a_held_listener_hears_when_it_is_released(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorder = Recorder()
    with store.snapshot() as snapshot:
        world.follower.join(ROOM, recorder, snapshot, NOBODY, held=True)
    world.hand_over(world.commit(ROOM, 1))
    assert recorder.heard == []
    world.follower.release(ROOM, recorder)
    world.hand_over(world.commit(ROOM, 2))
    assert recorder.heard == [1, 2]
