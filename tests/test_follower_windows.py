"""Windows follow random histories: batches, joiners in between, and a writer that runs ahead."""

import random
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

import pytest

from tests.follower_world import LIMITS, World
from treedb import follower as follower_module
from treedb.access import Access
from treedb.config import Limits
from treedb.paths.path import Path
from treedb.rules.authority import NOBODY
from treedb.store.index_definitions import IndexPlace
from treedb.store.query_reading import read_query
from treedb.store.reading import end_of
from treedb.store.store import Store
from treedb.sync.delivery import Delivery, Merge, Watch
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Query, as_window
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, by_child
from treedb.tree.values import Value, normal_form, value_at, with_value_at
from treedb.writes.writer import Batch, Outcome, Written

OPEN = '{"rules": {".read": true}}'
LIST = Path(("list",))
INDEXES = [IndexPlace(("list",), name) for name in ("n", "deep/n", ".value")]
HISTORIES = 60
STEPS = 120


@dataclass(eq=False)
class Shown:
    """A client that shows one window: it starts from a value and applies what it is told."""

    watch: Watch
    joined_at: int
    value: Value = None
    heard: list[int] = field(default_factory=list)

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        assert tag == self.watch.tag
        assert not self.heard or self.heard[-1] < delivery.revision, (
            "one message a commit, in order"
        )
        self.heard.append(delivery.revision)
        change = delivery.change
        if isinstance(change, Merge):
            for keys, value in change.changes:
                self._set(keys, value)
        else:
            self._set(LIST.relative(change.path), change.value)

    def _set(self, keys: tuple[str, ...], value: Value) -> None:
        if len(keys) > 1:
            assert value_at(self.value, keys[:1]) is not None, "nothing is told of who is outside"
        self.value = with_value_at(self.value, keys, value)

    def cancel(self, watch: Watch) -> None:
        raise AssertionError("nobody is cancelled here")


@dataclass
class History:
    """One random history."""

    world: World
    random: random.Random
    values: list[Value] = field(default_factory=lambda: [None])  # of the list, by revision
    open_batch: list[Commit] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    settled: int = 0

    def step(self) -> None:
        steps = (
            [self.write] * 8
            + [self.close_batch] * 4
            + [self.hand_over] * 4
            + [self.join, self.leave, self.turn]
        )
        self.random.choice(steps)()

    def child(self, depth: int = 0) -> Value:
        """Make a child, or a part of one."""
        choices: list[Value] = [None, True, 1, 2.5, "x", {"n": self.number()}]
        if depth < 2:
            choices += [{"n": self.number(), "deep": self.child(depth + 1), "t": "hi"}] * 3
        value = self.random.choice(choices)
        if self.random.random() < 0.2:
            return {".value": 3, ".priority": self.number()}
        return value

    def number(self) -> int:
        return self.random.randrange(6)

    def change(self) -> tuple[Path, object]:
        key = self.random.choice("0123456789abcdef")
        below: list[tuple[str, ...]] = [(key,)] * 4 + [
            (key, "n"),
            (key, "t"),
            (key, "deep"),
            (key, "deep", "n"),
        ]
        if self.random.random() < 0.1:
            return LIST.join((key, ".priority")), self.random.choice([None, 1, 2, "p"])
        return LIST.join(self.random.choice(below)), self.child()

    def write(self) -> None:
        dice = self.random.random()
        changes: list[tuple[Path, object]]
        if dice < 0.04:
            changes = [(LIST, {key: self.child() for key in "05af"})]
        elif dice < 0.06:
            changes = [(Path(()), self.random.choice([None, {"list": {"3": self.number()}}]))]
        else:
            changes = list(
                dict(self.change() for _ in range(self.random.choice((1, 1, 3)))).items()
            )
        self.commit(changes)

    def commit(self, changes: list[tuple[Path, object]]) -> None:
        pairs: list[tuple[Path, Value]] = []
        for path, raw in changes:
            value = normal_form(raw, path.depth, LIMITS).value
            if not any(path.contains(other) or other.contains(path) for other, _ in pairs):
                pairs.append((path, value))
        self.open_batch.append(self.world.commit_all(Patch.of(pairs)))
        with self.world.store.snapshot() as snapshot:
            self.values.append(snapshot.tree.get(LIST))

    def close_batch(self) -> None:
        """End a batch of the writer, now and then without a snapshot; it is handed over later."""
        if self.open_batch:
            commits, self.open_batch = tuple(self.open_batch), []
            snapshot = None if self.random.random() < 0.1 else self.world.store.snapshot()
            outcome = Outcome(commits[-1].revision, Written(commits[-1].revision, ()))
            self.batches.append(Batch(commits, (outcome,), snapshot))

    def hand_over(self) -> None:
        """Publish the oldest batch, while the writer has gone on."""
        if self.batches:
            batch = self.batches.pop(0)
            self.world.follower.arrived(batch)
            while self.world.follower.revision < batch.commits[-1].revision:
                self.world.soon.pop(0)()
            self.turn()
            self.check()

    def finish(self) -> None:
        self.close_batch()
        while self.batches:
            self.hand_over()
        self.world.take_turns()
        assert not self.world.follower.has_unsettled_windows
        self.check()

    def join(self) -> None:
        if self.open_batch:
            return  # within a batch there is nothing to be seen
        shown = Shown(Watch(LIST, self.query(), len(self.shown) + 1), len(self.values) - 1)
        follower, asked = self.world.follower, shown.watch.query
        with self.world.store.snapshot() as snapshot:
            follower.join(shown.watch, shown, snapshot, NOBODY, held=True)
            chosen = end_of(read_query(snapshot.tree, snapshot.indexes, LIST, asked, LIMITS))
            for _ in range(self.random.choice((0, 0, 3))):
                self.step_aside()
            if not follower.begin(shown.watch, chosen, snapshot.revision):
                follower.leave(shown.watch, shown)
                return
        shown.value = as_window(chosen)
        follower.release(shown.watch, shown)
        self.shown.append(shown)

    def step_aside(self) -> None:
        """Let the world go on while somebody joins."""
        self.random.choice([self.write, self.close_batch, self.hand_over])()

    def query(self) -> Query:
        order_by = self.random.choice([KEY, VALUE, PRIORITY, by_child("n"), by_child("deep", "n")])
        limit = self.random.choice([None, 1, 2, 3, 5, 20])
        start = end = None
        if limit is None or self.random.random() < 0.5:
            start, end = self.bound(order_by == KEY), self.bound(order_by == KEY)
            if self.random.random() < 0.4:
                end = start
            elif self.random.random() < 0.5:
                end = None
        return Query(order_by, start, end, limit, self.random.random() < 0.5 and limit is not None)

    def bound(self, is_key: bool) -> Bound:
        inclusive = self.random.random() < 0.7
        if is_key:
            return Bound(self.random.choice("0369acf"), None, inclusive)
        key = self.random.choice([None, None, "5", "b"])
        return Bound(self.random.choice([None, True, 0, 1, 2, 3, "x"]), key, inclusive)

    def leave(self) -> None:
        if self.shown:
            gone = self.shown.pop(self.random.randrange(len(self.shown)))
            self.world.follower.leave(gone.watch, gone)

    def turn(self) -> None:
        """Give what waits for the event loop some turns, more or fewer."""
        for _ in range(self.random.choice((0, 1, 5, 1000))):
            if self.world.soon:
                self.world.soon.pop(0)()

    def check(self) -> None:
        """Hold every window against the query answered anew, as of what is published."""
        if self.world.follower.has_unsettled_windows:
            return
        self.settled += 1
        published = self.values[self.world.follower.revision]
        for shown in self.shown:
            if shown.joined_at <= self.world.follower.revision:
                expected = shown.watch.query.window(published)
                assert shown.value == expected, f"{shown.watch}"


def run_history(folder: FilePath, seed: int, limits: Limits, indexes: list[IndexPlace]) -> None:
    store = Store.open(folder / "db", limits, fsync=False)
    with store.transaction() as transaction:
        transaction.declare_indexes(indexes)
        transaction.commit()
    history = History(World(store, Access(OPEN)), random.Random(seed))
    for _ in range(STEPS):
        history.step()
    history.finish()
    assert history.settled, "something was looked at"
    history.world.follower.close()
    store.close()


@pytest.mark.parametrize("has_indexes", [True, False])
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_every_window_is_what_its_query_chooses(
    tmp_path: FilePath, seed: int, *, has_indexes: bool
) -> None:
    run_history(tmp_path, seed, LIMITS, INDEXES if has_indexes else [])


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_so_it_is_where_reading_anew_takes_long(
    tmp_path: FilePath, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, "PATIENCE", 1)
    run_history(tmp_path, seed, replace(LIMITS, slice_rows=1, row_bytes=40), [])
