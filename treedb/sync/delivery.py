"""What is watched, what its listeners learn from a commit, and what a listener is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from treedb.paths.path import Path
from treedb.tree.bookmark import Bookmark
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.values import Value


@dataclass(frozen=True, slots=True)
class Watch:
    """One listen of a listener: a place, and what is asked of its children.

    `tag` is what the listener tells its listens apart by. One that asks for everything needs none.
    """

    place: Path
    query: Query = EVERYTHING
    tag: int | None = None

    def __post_init__(self) -> None:
        assert self.query is EVERYTHING or self.query.is_filtering, "an order alone is no query"

    def __str__(self) -> str:
        return str(self.place) if self.query is EVERYTHING else f"{self.place} {self.query}"


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The value at `path` is now `value`, None when nothing is there."""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Merge:
    """Several places below `path` changed together: relative keys and their values."""

    path: Path
    changes: tuple[tuple[tuple[str, ...], Value], ...]


Change = Overwrite | Merge


@dataclass(frozen=True, slots=True)
class Delivery:
    """A change as seen at `place`, for every listener that asks `query` there.

    The change lies at or below the place, never above: nobody learns more than they listen to.
    `revision` is that of the commit, of the last one where several are told at once. `time_ms` is
    the commit's time, 0 where a window was read anew.
    """

    place: Path
    change: Change
    revision: int
    query: Query = EVERYTHING
    time_ms: int = field(default=0, compare=False)
    _encodings: dict[object, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def bookmark(self) -> Bookmark:
        """Return the bookmark of who has seen this; no journal knows one without a time."""
        return Bookmark(self.revision, self.time_ms)

    def encoded(self, form: object, encode: Callable[[], bytes]) -> bytes:
        """Return what `encode` returns, called once for each form however many listeners ask."""
        text = self._encodings.get(form)
        if text is None:
            text = self._encodings[form] = encode()
        return text


class Listener(Protocol):
    """One receiver; it may have many watches, each once."""

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        """Take a delivery for a watch of this tag; must not wait, and must not raise."""

    def cancel(self, watch: Watch) -> None:
        """Take that it may no longer watch this; must not wait, and must not raise."""
