"""A place with a history, its owner who answers what a window needs, and a client that believes.

The history is a list of values, one for each revision. The owner reads in a snapshot of some
revision, at the commit's or later, as a follower does that publishes behind the writer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.tree.naive_query import naive_window
from treedb.errors import ConflictingPaths
from treedb.paths.path import Path
from treedb.sync.window import Changes, Keys, Need, Read, Window, touched_keys
from treedb.tree.patch import Patch, cut
from treedb.tree.query import as_window
from treedb.tree.values import Value, children, value_at, with_value_at
from treedb.wire.query_object import query_object_of

PLACE = Path(("list",))
Cut = list[tuple[Keys, Value]]


@dataclass
class World:
    """The values of a place by revision; `commits[r]` leads from `values[r]` to the next."""

    values: list[Value]
    commits: list[Cut] = field(default_factory=list)

    def commit(self, pairs: Sequence[tuple[Path, Value]]) -> None:
        """Add a commit of those pairs that do not conflict with earlier ones."""
        patch = patch_of(pairs)
        changes = [(PLACE.relative(path), value) for path, value in cut(patch, PLACE)]
        value = self.values[-1]
        for keys, new in changes:
            value = with_value_at(value, keys, new)
        self.values.append(value)
        self.commits.append(changes)

    @property
    def revision(self) -> int:
        return len(self.commits)

    def touched(self, after: int, until: int) -> frozenset[str] | None:
        """Return the children touched by the commits after one revision until another."""
        every: frozenset[str] = frozenset()
        for changes in self.commits[after:until]:
            keys = touched_keys(changes) if changes else frozenset()
            if keys is None:
                return None
            every |= keys
        return every


def patch_of(pairs: Sequence[tuple[Path, Value]]) -> Patch:
    patch = Patch.of([])
    for pair in pairs:
        try:
            patch = Patch.of([*patch.changes, pair])
        except ConflictingPaths:
            continue
    return patch


@dataclass
class Watcher:
    """A window, its owner and one client, who knows only what it was told."""

    world: World
    raw: dict[str, Any]
    window: Window = field(init=False)
    copy: Value = field(init=False)
    reads: list[tuple[str, ...]] = field(default_factory=list)  # keys read, () for a refill
    resets: int = 0

    def __post_init__(self) -> None:
        query = query_object_of(self.raw).query
        start = self.world.revision
        chosen = query.select(children(self.world.values[start]))
        self.window = Window.start(query, chosen, start)
        self.copy = as_window(chosen)

    def publish(self, revision: int, snapshot: int) -> Changes:
        """Take a commit, reading where needed in the snapshot of a revision; tell the client."""
        told = self.window.apply(self.world.commits[revision - 1], revision)
        while isinstance(told, Need):
            since = self.world.touched(revision, snapshot)
            told = (
                self.fill(told, snapshot) if told.is_answered_after(since) else self.reset(snapshot)
            )
        self.tell(told)
        return told

    def fill(self, need: Need, snapshot: int) -> Changes | Need:
        value = self.world.values[snapshot]
        self.reads.append(need.keys)
        if need.refill is not None:
            return self.window.fill(need, {}, need.refill.select(children(value)))
        return self.window.fill(need, {key: self.read(key, value) for key in need.keys})

    def read(self, key: str, value: Value) -> Read | None:
        """Return what the window has to know of a child, and no more."""
        child = value_at(value, (key,))
        if child is None:
            return None
        sort_key = self.window.query.order_by.sort_key(child)
        return Read(sort_key, child if self.window.enters(key, sort_key) else None)

    def reset(self, snapshot: int) -> Changes:
        self.resets += 1
        touched = self.world.touched(self.window.revision, snapshot)
        chosen = self.window.query.select(children(self.world.values[snapshot]))
        return self.window.reset(chosen, snapshot, touched)

    def tell(self, changes: Changes) -> None:
        """Let the client apply what it is told; it can do nothing with a part of what it lacks."""
        for keys, value in changes:
            assert len(keys) < 2 or value_at(self.copy, keys[:1]) is not None, f"{keys} is lost"
            self.copy = with_value_at(self.copy, keys, value)

    def expected(self) -> Value:
        """Return what the client should have, by the naive way."""
        found: Value = naive_window(self.world.values[self.window.revision], self.raw)
        return found
