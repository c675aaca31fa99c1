"""The views of one place, and which of them a commit concerns.

Whoever asks for everything is concerned by every commit. A window is concerned when a child that
it holds is touched, or when one may enter: when it may stand within the window's span. Both are
looked up, so that a commit to a list costs the windows it concerns and not all that are there.
A window that is not settled cannot tell, and is concerned always.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from treedb.paths.order import encode_key
from treedb.paths.path import PRIORITY_KEY, Path
from treedb.sync.spans import Spans
from treedb.sync.view import View
from treedb.sync.window import Keys, Learnt
from treedb.sync.window_fates import fates_of
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import OrderBy
from treedb.tree.values import Value


@dataclass(slots=True, eq=False)
class PlaceViews:
    """The views of a place by their queries; `_spans` by order and by which end moves."""

    place: Path
    _views: dict[Query, View] = field(default_factory=dict)
    _always: dict[View, None] = field(default_factory=dict)
    _holders: dict[str, dict[View, None]] = field(default_factory=dict)
    _spans: dict[tuple[OrderBy, bool], Spans[View]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._views)

    def get(self, query: Query) -> View | None:
        """Return the view of a query, None without one."""
        return self._views.get(query)

    def every(self) -> list[View]:
        """Return all views."""
        return list(self._views.values())

    def need(self, query: Query) -> View:
        """Return the view of a query, which is made when there is none."""
        view = self._views.get(query)
        if view is None:
            view = self._views[query] = View(self.place, query)
            self._always[view] = None
        return view

    def remove(self, view: View) -> None:
        """Forget a view."""
        del self._views[view.query]
        self._forget(view)
        self._always.pop(view, None)

    def refresh(self, view: View) -> None:
        """Follow what a view's window holds now; called after everything it learnt."""
        if view.query is EVERYTHING:
            return
        window = view.window
        if window is None or not view.is_settled:
            if view not in self._always:
                self._always[view] = None
                self._forget(view)
            return
        moved = window.take_moves()
        if view in self._always:
            del self._always[view]
            moved = window.keys()
        for key in moved:
            if key in window:
                self._holders.setdefault(key, {})[view] = None
            else:
                self._release(key, view)
        side = view.query.order_by, view.query.keeps_last
        spans = self._spans.get(side)
        if spans is None:
            spans = self._spans[side] = Spans(from_high=view.query.keeps_last)
        spans.put(view, *window.span)

    def concerned(self, changes: Learnt) -> Iterator[View]:
        """Yield the views that changes of the place, in keys relative to it, concern."""
        touched: dict[str, list[tuple[Keys, Value]]] = {}
        for keys, value in changes:
            if not keys:
                yield from self.every()
                return
            if keys != (PRIORITY_KEY,):
                touched.setdefault(keys[0], []).append((keys[1:], value))
        found = dict(self._always)
        if len(found) < len(self._views):
            for key, below in touched.items():
                found.update(self._holders.get(key, ()))
                found.update(dict.fromkeys(self._entered(key, below)))
        yield from found

    def _entered(self, key: str, below: Learnt) -> Iterator[View]:
        """Yield the windows in whose span a child may stand that they do not hold."""
        ends = encode_key(key)
        for (order_by, _), spans in self._spans.items():
            for fate in fates_of(order_by, None, below):
                if fate is not None:
                    yield from spans.holding((fate, ends))

    def _forget(self, view: View) -> None:
        """Drop what is known of a window's holding."""
        for key in view.window.keys() if view.window is not None else ():
            self._release(key, view)
        spans = self._spans.get((view.query.order_by, view.query.keeps_last))
        if spans is not None:
            spans.remove(view)
            if not len(spans):
                del self._spans[view.query.order_by, view.query.keeps_last]

    def _release(self, key: str, view: View) -> None:
        holders = self._holders.get(key)
        if holders is not None:
            holders.pop(view, None)
            if not holders:
                del self._holders[key]
