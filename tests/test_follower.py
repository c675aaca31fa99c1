"""The follower: who hears, in which order, and who is asked about again."""

from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from tests.follower_world import CLOSED, LIMITS, MARY, MEMBERS, OPEN, ROOM, Recorder, World
from treedb.access import Access
from treedb.doubts import RECHECK_SECONDS
from treedb.errors import PermissionDenied
from treedb.follower import TURN_SECONDS
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import NOBODY
from treedb.store.store import Store
from treedb.sync.delivery import Delivery, Watch
from treedb.sync.view import View


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
    slow = Recorder()

    def deliver(delivery: Delivery, tag: int | None) -> None:
        world.clock.seconds += TURN_SECONDS * 2
        Recorder.deliver(slow, delivery, tag)

    slow.deliver = deliver  # type: ignore[method-assign]
    with store.snapshot() as snapshot:
        world.follower.join(Watch(ROOM), slow, snapshot, NOBODY, held=False)
    world.hand_over(world.commit(ROOM, 1), world.commit(ROOM, 2))
    assert (recorder.heard, world.answered) == ([1], [])
    world.take_turns()
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


# Rules


def test_a_reader_meets_the_rules_of_its_snapshot_before_they_are_published(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorder = world.listen()
    commits = world.commit(ROOT, None, CLOSED), world.commit(ROOM, "secret")
    with store.snapshot() as snapshot, pytest.raises(PermissionDenied):
        world.follower.permit(ROOM, snapshot, NOBODY)
    assert recorder.heard == []
    world.hand_over(*commits)
    assert recorder.heard == ["cancelled /rooms/a"]
    assert world.follower.authority.ruleset.text == CLOSED


def test_rules_seen_early_are_counted_as_one_with_those_published(store: Store) -> None:
    world = World(store, Access(OPEN, counts_coverage=True))
    commit = world.commit(ROOT, None, '{"rules": {".read": "1 == 1"}}')
    world.listen()
    authority = world.follower.authority
    world.hand_over(commit)
    world.listen()
    assert world.follower.authority is authority
    assert authority.coverage is not None
    assert authority.coverage.report()["rules"][0]["evaluated"] == 3  # twice to join, once to stay


# Deliveries that wait


def test_a_held_listener_hears_when_it_is_released(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorder = Recorder()
    with store.snapshot() as snapshot:
        world.follower.join(Watch(ROOM), recorder, snapshot, NOBODY, held=True)
    world.hand_over(world.commit(ROOM, 1))
    assert recorder.heard == []
    world.follower.release(Watch(ROOM), recorder)
    world.hand_over(world.commit(ROOM, 2))
    assert recorder.heard == [1, 2]


def test_after_a_fault_of_ours_listens_end_and_the_rest_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(store, Access(OPEN))
    recorder = world.listen()

    def fail(view: View, *_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(View, "learn", fail)
        world.hand_over(world.commit(ROOM, 1))
        world.take_turns()
    assert (recorder.heard, world.answered) == (["cancelled /rooms/a"], [1])
    assert "ZeroDivisionError" in caplog.text
    again = world.listen()
    world.hand_over(world.commit(ROOM, 2))
    world.take_turns()
    assert (again.heard, world.answered) == ([2], [1, 2])
