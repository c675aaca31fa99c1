"""Find who hears of a commit.

The hub holds the views of one database in a trie of their places. For every change of a commit it
meets the views above and at the changed place, which learn of the change itself, and the views
below, which learn the part of it that is theirs. It returns deliveries; it sends nothing.

Worked example: views at /rooms, /rooms/one/name and /users; a commit sets /rooms/one to
{"name": "Alpha"}. The view at /rooms learns `/rooms/one = {"name": "Alpha"}`, the one at
/rooms/one/name learns `/rooms/one/name = "Alpha"`, the one at /users nothing.
"""

from collections.abc import Iterator

from treedb.paths.path import Path
from treedb.paths.trie import PathTrie
from treedb.sync.delivery import Change, Delivery, Listener, Merge, Overwrite
from treedb.sync.view import Member, View
from treedb.tree.commit import Commit
from treedb.tree.values import Value, value_at


class Hub:
    """The views of one database, and who listens to each."""

    def __init__(self) -> None:
        self._views: PathTrie[View] = PathTrie()

    def join(self, place: Path, listener: Listener, after: int, *, held: bool = False) -> None:
        """Let a listener hear of every commit at, above or below `place` after a revision.

        With `held`, deliveries wait until `release`. A listener that is there already is joined
        anew, from the new revision on.
        """
        view = self._views.get(place)
        if view is None:
            view = View(place)
            self._views.set(place, view)
        view.members[listener] = Member(listener, after, [] if held else None)

    def release(self, place: Path, listener: Listener) -> list[Delivery]:
        """Stop holding a member and return what waited for it, in order."""
        view = self._views.get(place)
        member = view.members.get(listener) if view is not None else None
        if member is None or member.held is None:
            return []
        waiting, member.held = member.held, None
        return waiting

    def leave(self, place: Path, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        view = self._views.get(place)
        if view is None:
            return
        view.members.pop(listener, None)
        if not view.members:
            self._views.remove(place)

    def __len__(self) -> int:
        """Count the watched places."""
        return len(self._views)

    def publish(self, commit: Commit) -> Iterator[tuple[Delivery, list[Listener]]]:
        """Yield, view by view, what a commit means there and who is to be told now."""
        if not len(self._views):
            return
        for view, changes in self._touched(commit):
            delivery = Delivery(view.place, _change(view.place, changes), commit.revision)
            yield delivery, view.hand_out(delivery)

    def _touched(self, commit: Commit) -> list[tuple[View, list[tuple[Path, Value]]]]:
        touched: dict[Path, tuple[View, list[tuple[Path, Value]]]] = {}
        for path, value in commit.patch.changes:
            for place, view in self._views.along(path):
                touched.setdefault(place, (view, []))[1].append((path, value))
            for place, view in self._views.below(path):
                part = value_at(value, path.relative(place))
                touched[place] = (view, [(place, part)])
        return list(touched.values())


def _change(place: Path, changes: list[tuple[Path, Value]]) -> Change:
    if len(changes) == 1:
        return Overwrite(*changes[0])
    return Merge(place, tuple((place.relative(path), value) for path, value in changes))
