"""Random histories of rights, rules and data: nobody hears what is not for them, nor misses any.

The oracle keeps, for every revision, who was a member of which room and which rules stood.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath

import pytest

from tests.follower_world import CLOSED, LIMITS, MEMBERS, OPEN, World
from treedb import doubts as doubts_module
from treedb.access import Access
from treedb.auth.identity import Auth
from treedb.doubts import RECHECK_SECONDS
from treedb.errors import PermissionDenied
from treedb.follower import TURN_SECONDS
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Caller
from treedb.store.store import Store
from treedb.sync.delivery import Delivery, Watch
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value

ROOMS = ("a", "b")
UIDS = ("mchen", "hmadi", "zoe")
HISTORIES = 60
STEPS = 150


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    store = Store.open(tmp_path, LIMITS, fsync=False)
    yield store
    store.close()


def caller(uid: str) -> Caller:
    return Caller(Auth(uid, {}, is_admin=False, expires_at_ms=None))


@dataclass(frozen=True)
class State:
    """What decides who may hear, and the rooms that a commit touched."""

    members: frozenset[tuple[str, str]] = frozenset()
    rules: str = MEMBERS
    touched: frozenset[str] = frozenset()

    def allows(self, room: str, uid: str) -> bool:
        return self.rules == OPEN or (self.rules == MEMBERS and (room, uid) in self.members)


@dataclass(eq=False)
class Ear:
    """A listener that holds the follower to its promise whenever something happens to it."""

    history: "History"
    room: str
    uid: str
    joined_at: int
    heard: list[int] = field(default_factory=list)
    is_over: bool = False

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        assert not self.is_over, "nothing comes after the end"
        later = self.history.states[delivery.revision :]
        assert any(state.allows(self.room, self.uid) for state in later), "this was not for it"
        self.heard.append(delivery.revision)

    def cancel(self, watch: Watch) -> None:
        assert not self.history.states[-1].allows(self.room, self.uid), "it may go on listening"
        assert not self.is_over
        self.is_over = True


@dataclass
class History:
    """One random history; `states` has one for each revision."""

    world: World
    random: random.Random
    states: list[State] = field(default_factory=lambda: [State()])
    waiting: list[Commit] = field(default_factory=list)
    ears: list[Ear] = field(default_factory=list)

    def step(self) -> None:
        steps = (
            [self.write, self.change_members, self.join, self.turn, self.hand_over] * 4
            + [self.leave, self.act_as, self.settle, self.pass_time] * 2
            + [self.change_rules]
        )
        self.random.choice(steps)()

    def commit(self, state: State, patch: Patch, rules: str | None = None) -> None:
        self.states.append(state)
        self.waiting.append(self.world.commit_all(patch, rules))

    def write(self) -> None:
        last, number = self.states[-1], len(self.states)
        if self.random.random() < 0.3:
            whole = Patch(((Path(("rooms",)), dict.fromkeys(ROOMS, number)),))
            self.commit(State(last.members, last.rules, frozenset(ROOMS)), whole)
            return
        room = self.random.choice(ROOMS)
        patch = Patch(((Path(("rooms", room, "x")), number),))
        self.commit(State(last.members, last.rules, frozenset({room})), patch)

    def change_members(self) -> None:
        """Let somebody in or out, at times together with news of the room."""
        last, number = self.states[-1], len(self.states)
        room, uid = self.random.choice(ROOMS), self.random.choice(UIDS)
        members = last.members ^ {(room, uid)}
        is_in = (room, uid) in members
        changes: list[tuple[Path, Value]] = [
            (Path(("members", room, uid)), True if is_in else None)
        ]
        touched: frozenset[str] = frozenset()
        if self.random.random() < 0.5:
            touched = frozenset({room})
            changes.append((Path(("rooms", room, "x")), number))
        self.commit(State(members, last.rules, touched), Patch(tuple(changes)))

    def change_rules(self) -> None:
        rules = self.random.choice((MEMBERS, MEMBERS, OPEN, CLOSED))
        self.commit(State(self.states[-1].members, rules), Patch(()), rules)

    def join(self) -> None:
        room, uid = self.random.choice(ROOMS), self.random.choice(UIDS)
        ear = Ear(self, room, uid, len(self.states) - 1)
        with self.world.store.snapshot() as snapshot:
            try:
                place = Path(("rooms", room))
                self.world.follower.join(Watch(place), ear, snapshot, caller(uid), held=False)
            except PermissionDenied:
                assert not self.states[-1].allows(room, uid)
                return
        assert self.states[-1].allows(room, uid)
        self.ears.append(ear)

    def leave(self) -> None:
        for ear in self.some_ear():
            self.world.follower.leave(Watch(Path(("rooms", ear.room))), ear)
            ear.is_over = True

    def act_as(self) -> None:
        for ear in self.some_ear():
            ear.uid = self.random.choice(UIDS)
            self.world.follower.act_as(ear, caller(ear.uid))

    def some_ear(self) -> list[Ear]:
        listening = [ear for ear in self.ears if not ear.is_over]
        return self.random.sample(listening, min(1, len(listening)))

    def hand_over(self) -> None:
        if self.waiting:
            count = self.random.randint(1, len(self.waiting))
            batch, self.waiting = self.waiting[:count], self.waiting[count:]
            self.world.hand_over(*batch)

    def turn(self) -> None:
        if self.world.soon:
            self.world.soon.pop(0)()

    def settle(self) -> None:
        if self.world.later:
            self.world.later.pop(0)[1]()

    def pass_time(self) -> None:
        self.world.clock.seconds += RECHECK_SECONDS * self.random.random() * 2

    def finish(self) -> None:
        while self.waiting or self.world.soon or self.world.later:
            self.hand_over()
            self.turn()
            self.settle()


@pytest.mark.parametrize("number", range(HISTORIES))
def test_nobody_hears_what_is_not_for_them_and_nobody_misses_anything(
    store: Store, seed: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doubts_module, "RECHECK_SLICE", 2)
    monkeypatch.setattr(doubts_module, "FEW_CHANGES", number % 2)
    history = History(World(store, Access(MEMBERS)), random.Random(seed + number))
    history.world.clock.step = TURN_SECONDS * (number % 3)
    for _ in range(STEPS):
        history.step()
    history.finish()
    last = len(history.states) - 1
    assert history.world.follower.revision == last
    for ear in history.ears:
        assert ear.heard == sorted(set(ear.heard))
        if ear.is_over:
            continue
        assert history.states[-1].allows(ear.room, ear.uid)
        after = range(ear.joined_at + 1, last + 1)
        assert ear.heard == [each for each in after if ear.room in history.states[each].touched]
    assert not history.world.follower._doubts._doubted
    assert history.world.commit(ROOT, None).revision == last + 1
