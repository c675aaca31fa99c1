"""Find who hears of a commit.

The hub holds the views of one database in a trie of their places. For every change of a commit it
meets the views above and at the changed place, which learn of the change itself, and the views
below, which learn the part of it that is theirs. It returns what each view has to learn; it sends
nothing.

Worked example: views at /rooms, /rooms/one/name and /users; a commit sets /rooms/one to
{"name": "Alpha"}. The view at /rooms learns `/rooms/one = {"name": "Alpha"}`, the one at
/rooms/one/name learns `/rooms/one/name = "Alpha"`, the one at /users nothing.
"""

from collections.abc import Iterator

from treedb.paths.trie import PathTrie
from treedb.sync.delivery import Delivery, Listener, Watch
from treedb.sync.place_views import PlaceViews
from treedb.sync.view import Member, View
from treedb.sync.window import Keys, Learnt
from treedb.tree.commit import Commit
from treedb.tree.values import Value, value_at


class Hub:
    """The views of one database, and who listens to each."""

    def __init__(self) -> None:
        self._places: PathTrie[PlaceViews] = PathTrie()
        self._unsettled: dict[View, None] = {}

    def join(self, watch: Watch, listener: Listener, after: int, *, held: bool = False) -> None:
        """Let a listener hear of every commit that concerns a watch after a revision.

        With `held`, deliveries wait until `release`. A listener that is there already is joined
        anew, from the new revision on.
        """
        views = self._places.get(watch.place)
        if views is None:
            views = PlaceViews(watch.place)
            self._places.set(watch.place, views)
        member = Member(listener, watch.tag, after, [] if held else None)
        views.need(watch.query).members[listener, watch.tag] = member

    def release(self, watch: Watch, listener: Listener) -> list[Delivery]:
        """Stop holding a member and return what waited for it, in order."""
        view = self.view(watch)
        member = view.members.get((listener, watch.tag)) if view is not None else None
        if member is None or member.held is None:
            return []
        waiting, member.held = member.held, None
        return waiting

    def leave(self, watch: Watch, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        views = self._places.get(watch.place)
        view = views.get(watch.query) if views is not None else None
        if views is None or view is None:
            return
        view.members.pop((listener, watch.tag), None)
        if view.members:
            return
        self._unsettled.pop(view, None)
        views.remove(view)
        if not len(views):
            self._places.remove(watch.place)

    def view(self, watch: Watch) -> View | None:
        """Return the view of a watch, None when nobody has one."""
        views = self._places.get(watch.place)
        return views.get(watch.query) if views is not None else None

    def __len__(self) -> int:
        """Count the watched places."""
        return len(self._places)

    def touched(self, commit: Commit) -> Iterator[tuple[View, Learnt]]:
        """Yield the views that a commit concerns, each with its changes relative to the place.

        What a view made of it is to be told with `refresh`.
        """
        if not len(self._places):
            return
        touched: dict[PlaceViews, list[tuple[Keys, Value]]] = {}
        for path, value in commit.patch.changes:
            for place, views in self._places.along(path):
                touched.setdefault(views, []).append((place.relative(path), value))
            for place, views in self._places.below(path):
                touched[views] = [((), value_at(value, path.relative(place)))]
        for views, changes in touched.items():
            for view in views.concerned(changes):
                yield view, changes

    def refresh(self, view: View) -> None:
        """Follow what a view made of what it learnt, or of the first read, or of a reset."""
        views = self._places.get(view.place)
        if views is None or views.get(view.query) is not view:
            return
        views.refresh(view)
        if view.is_to_be_read:
            self._unsettled[view] = None
        else:
            self._unsettled.pop(view, None)

    @property
    def unsettled(self) -> list[View]:
        """Return the views whose windows are to be read anew."""
        return list(self._unsettled)
