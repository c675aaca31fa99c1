"""A permission that may be over is asked about before anybody hears anything on it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.follower_world import LIMITS, MARY, MEMBERS, OPEN, ROOM, Recorder, World
from treedb.access import Access
from treedb.auth.identity import Auth
from treedb.doubts import FEW_CHANGES, RECHECK_SECONDS, RECHECK_SLICE
from treedb.errors import ExpiredToken
from treedb.follower import TURN_SECONDS
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import NOBODY, Caller
from treedb.store.store import Store
from treedb.sync.delivery import Watch
from treedb.tree.patch import Patch


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    store = Store.open(tmp_path, LIMITS, fsync=False)
    yield store
    store.close()


def room_of_mary(store: Store, access: str = MEMBERS) -> tuple[World, Recorder]:
    """Let Mary listen to a room, and take its membership away just after she was asked about."""
    world = World(store, Access(access))
    world.hand_over(world.commit(Path(("members", "a", "mchen")), True))
    recorder = world.listen(caller=MARY)
    world.hand_over(world.commit(Path(("members", "a", "mchen")), None))
    assert recorder.heard == []
    return world, recorder


@pytest.mark.parametrize("place", [ROOM, ROOM.child("deep"), Path(("rooms",)), ROOT])
def test_who_is_in_doubt_is_asked_about_before_the_next_event(store: Store, place: Path) -> None:
    world, recorder = room_of_mary(store)
    world.hand_over(world.commit(place, {"a": "secret"}))
    assert recorder.heard == ["cancelled /rooms/a"]
    [(_, settle)] = world.later
    settle()
    assert recorder.heard == ["cancelled /rooms/a"]


def test_who_is_in_doubt_is_asked_about_before_an_event_of_many_changes(store: Store) -> None:
    world, recorder = room_of_mary(store)
    paths = [Path(("elsewhere", str(number))) for number in range(FEW_CHANGES)] + [ROOM]
    world.hand_over(world.commit_all(Patch(tuple((path, 1) for path in paths))))
    assert recorder.heard == ["cancelled /rooms/a"]


def test_what_others_hear_does_not_hurry_it(store: Store) -> None:
    world, recorder = room_of_mary(store)
    world.hand_over(world.commit(Path(("rooms", "b")), 1))
    assert recorder.heard == []


def test_a_doubt_may_turn_out_groundless(store: Store) -> None:
    world, recorder = room_of_mary(store)
    world.hand_over(world.commit(Path(("members", "a", "mchen")), "again"))
    world.hand_over(world.commit(ROOM, 1))
    assert recorder.heard == [4]
    [(_, settle)] = world.later
    settle()
    assert (recorder.heard, world.soon) == ([4], [])


def test_a_listener_in_doubt_is_not_released_what_was_kept_for_it(store: Store) -> None:
    world = World(store, Access(MEMBERS))
    world.hand_over(world.commit(Path(("members", "a", "mchen")), True))
    recorder = Recorder()
    with store.snapshot() as snapshot:
        world.follower.join(Watch(ROOM), recorder, snapshot, MARY, held=True)
    world.hand_over(world.commit(ROOM, 1))
    world.hand_over(world.commit(Path(("members", "a", "mchen")), None))
    world.follower.release(Watch(ROOM), recorder)
    assert recorder.heard == ["cancelled /rooms/a"]


def test_rules_that_change_all_the_time_are_asked_at_most_once_in_a_while(store: Store) -> None:
    world = World(store, Access('{"rules": {"rooms": {".read": "root.child(\'n\').val() > 0"}}}'))
    world.hand_over(world.commit(Path(("n",)), 1))
    recorder = world.listen()
    checked = {checked_at(world, recorder)}
    for number in range(2, 102):
        world.hand_over(world.commit(Path(("n",)), number))
        checked.add(checked_at(world, recorder))
        world.clock.seconds += RECHECK_SECONDS / 10
        assert len(world.later) <= 1
        if number % 10 == 0:
            while world.later:
                world.later.pop()[1]()
            checked.add(checked_at(world, recorder))
    assert 9 <= len(checked) <= 12
    assert recorder.heard == []


def checked_at(world: World, recorder: Recorder) -> float:
    [grant] = world.follower._doubts._grants.of(recorder)
    return grant.checked_at


def test_a_token_that_has_expired_ends_a_listen_when_it_is_asked_about(store: Store) -> None:
    world = World(store, Access(OPEN))
    ends_ms = world.clock.now_ms() + 60_000
    brief = world.listen(caller=Caller(Auth("mchen", {}, False, ends_ms)))
    other = world.listen()
    world.clock.ahead_ms = 60_001
    world.hand_over(world.commit(ROOT, None, '{"rules": {".read": "true"}}'))
    world.hand_over(world.commit(ROOM, 1))
    assert brief.heard == ["cancelled /rooms/a"]
    assert other.heard == [2]
    with pytest.raises(ExpiredToken):
        world.listen(caller=Caller(Auth("mchen", {}, False, ends_ms)))


def test_many_are_asked_about_in_turns_and_deliveries_wait(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorders = [world.listen() for _ in range(RECHECK_SLICE * 3)]
    world.clock.step = TURN_SECONDS  # so that each look at the clock ends a turn
    rules = '{"rules": {"rooms": {".read": "query.orderByKey == false || false"}}}'
    world.hand_over(world.commit(ROOT, None, rules), world.commit(ROOM, 1))
    assert all(recorder.heard == [] for recorder in recorders)
    assert world.take_turns() >= 3
    assert all(recorder.heard == [2] for recorder in recorders)
    assert world.answered == [2]


def test_who_leaves_or_comes_while_many_are_asked_about_is_no_trouble(store: Store) -> None:
    world = World(store, Access(OPEN))
    recorders = [world.listen() for _ in range(RECHECK_SLICE * 2)]
    world.clock.step = TURN_SECONDS
    world.hand_over(world.commit(ROOT, None, '{"rules": {"rooms": {".read": true}}}'))
    leaver, changer, again, *others = reversed(recorders)
    world.follower.leave(Watch(ROOM), leaver)
    world.follower.act_as(changer, MARY)
    with store.snapshot() as snapshot:
        world.follower.join(Watch(ROOM), again, snapshot, NOBODY, held=False)
    newcomer = world.listen()
    world.hand_over(world.commit(ROOM, 1))
    world.take_turns()
    assert leaver.heard == []
    assert all(each.heard == [2] for each in (changer, again, newcomer, *others))


def listening_at(store: Store, places: int) -> tuple[World, Recorder]:
    """Return a world with a recorder of Mary's that listens at places that only users may read."""
    rules = '{"rules": {"$place": {".read": "auth != null"}}}'
    world, recorder = World(store, Access(rules)), Recorder()
    with store.snapshot() as snapshot:
        for number in range(places):
            world.follower.join(Watch(Path((str(number),))), recorder, snapshot, MARY, held=False)
    return world, recorder


def test_who_acts_as_another_is_asked_about_in_turns_with_many_listens(store: Store) -> None:
    count = RECHECK_SLICE * 3
    world, recorder = listening_at(store, count)
    world.follower.act_as(recorder, NOBODY)
    assert len(recorder.heard) == RECHECK_SLICE
    world.hand_over(world.commit(Path((str(count - 1),)), "secret"))
    assert recorder.heard[RECHECK_SLICE:] == [f"cancelled /{count - 1}"]
    assert world.take_turns() == 2
    assert sorted(map(str, recorder.heard)) == sorted(f"cancelled /{n}" for n in range(count))


def test_back_before_it_was_asked_about_nothing_is_lost(store: Store) -> None:
    world, recorder = listening_at(store, RECHECK_SLICE * 2)
    world.follower.act_as(recorder, NOBODY)
    world.follower.act_as(recorder, MARY)
    world.take_turns()
    assert len(recorder.heard) == RECHECK_SLICE


def test_when_no_snapshot_can_be_had_a_doubt_ends_the_permission(
    tmp_path: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store.open(tmp_path / "few", replace(LIMITS, readers=2), fsync=False)
    world = World(store, Access(OPEN))
    recorder = world.listen()
    with store.snapshot(), store.snapshot():
        world.follower.act_as(recorder, MARY)
        assert recorder.heard == ["cancelled /rooms/a"]
        world.hand_over(world.commit(ROOM, 1))
    assert world.answered == [1]
    assert "1 listens end" in caplog.text
    store.close()
