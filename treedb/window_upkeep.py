"""Read for a window what a commit did not tell: children of a list, as they were at that commit.

The writer runs ahead of the follower, so the tree at a commit may be gone when the commit is
published. What is there is a snapshot at the end of the commit's batch. Children that no later
commit of the batch touched are in it as they were; when others are needed the view stays
unsettled, and its window is read anew at the batch's end.

Everything here is in steps: it yields where others may have their turn.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from treedb.config import Limits
from treedb.errors import TooBigToRead, TreeError
from treedb.paths.order import encode_path
from treedb.paths.path import Path
from treedb.store.query_reading import read_query
from treedb.store.reading import Steps, read_value
from treedb.store.store import Snapshot
from treedb.sync.delivery import Delivery
from treedb.sync.view import View
from treedb.sync.window import Learnt, Need, Read, touched_by_either, touched_keys
from treedb.tree.commit import Commit
from treedb.tree.patch import cut
from treedb.tree.query import Chosen, Query


@dataclass(frozen=True, slots=True)
class Published:
    """The batch that is published: its commits in order, and the snapshot after the last."""

    snapshot: Snapshot | None
    commits: Sequence[Commit]

    def snapshot_for(self, view: View, need: Need) -> Snapshot | None:
        """Return the snapshot, if what a view needs is in it as it was at the commit."""
        if self.snapshot is None or self.snapshot.revision != self.commits[-1].revision:
            return None
        later = [commit for commit in self.commits if commit.revision > need.revision]
        touched: frozenset[str] | None = frozenset()
        for commit in later:
            touched = touched_by_either(touched, _touched(commit, view.place))
        return self.snapshot if need.is_answered_after(touched) else None


@dataclass(frozen=True, slots=True)
class WindowUpkeep:
    """How views come to what they need; `give_up` ends one that cannot be read."""

    limits: Limits
    give_up: Callable[[View, TreeError], None]

    def learn(
        self, view: View, changes: Learnt, revision: int, published: Published
    ) -> Generator[None, None, Delivery | None]:
        """Let a view learn of a commit; return what to tell its members now."""
        try:
            told = view.learn(changes, revision)
            while isinstance(told, Need):
                snapshot = published.snapshot_for(view, told)
                if snapshot is None or not _is_quick(view, told, snapshot):
                    view.unsettle(changes, revision)
                    return None
                told = yield from self._fill(view, told, snapshot)
            self._check_size(view)
        except TooBigToRead as error:
            self.give_up(view, error)
            return None
        return told

    def read(self, view: View, snapshot: Snapshot) -> Generator[None, None, Chosen | None]:
        """Return the children that a view's query chooses in a snapshot; None if it is given up."""
        try:
            return (yield from self._select(view, view.query, snapshot))
        except TooBigToRead as error:
            self.give_up(view, error)
            return None

    def _check_size(self, view: View) -> None:
        most = self.limits.query_results
        if view.window is not None and len(view.window) > most:
            raise TooBigToRead(f"a window holds at most {most} children, it came to hold more")

    def _fill(
        self, view: View, need: Need, snapshot: Snapshot
    ) -> Generator[None, None, Delivery | Need | None]:
        more: Chosen = []
        if need.refill is not None:
            more = yield from self._select(view, need.refill, snapshot)
        children: dict[str, Read | None] = {}
        for key in need.keys:
            children[key] = yield from self._child(view, key, snapshot)
        return view.fill(need, children, more)

    def _child(self, view: View, key: str, snapshot: Snapshot) -> Steps[Read | None]:
        """Read what a window has to know of a child: nothing below it that it will not show."""
        assert view.window is not None, "a window needs its children"
        tree, path = snapshot.tree, view.place.child(key)
        node = tree.node(encode_path(path.keys))
        if node is None:
            return None
        sort_key = tree.sort_key(view.query.order_by, node)
        if not view.window.enters(key, sort_key):
            return Read(sort_key, None)
        return Read(sort_key, (yield from read_value(tree, path, self.limits.slice_rows)))

    def _select(self, view: View, query: Query, snapshot: Snapshot) -> Steps[Chosen]:
        tree, indexes = snapshot.tree, snapshot.indexes
        return (yield from read_query(tree, indexes, view.place, query, self.limits))


def _is_quick(view: View, need: Need, snapshot: Snapshot) -> bool:
    """Tell whether what a view needs is read without looking at every child of its place."""
    return need.refill is None or snapshot.indexes.covers(view.place, view.query.order_by)


def _touched(commit: Commit, place: Path) -> frozenset[str] | None:
    changes = [(place.relative(path), value) for path, value in cut(commit.patch, place)]
    return touched_keys(changes) if changes else frozenset()
