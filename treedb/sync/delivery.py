"""What the listeners of one place learn from one commit, and what a listener is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from treedb.paths.path import Path
from treedb.tree.values import Value


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
    """One commit's change as seen at `place`, for every listener there.

    The change lies at or below the place, never above: nobody learns more than they listen to.
    """

    place: Path
    change: Change
    revision: int
    _encodings: dict[Callable[["Delivery"], bytes], bytes] = field(
        default_factory=dict, compare=False, repr=False
    )

    def encoded(self, encoder: Callable[["Delivery"], bytes]) -> bytes:
        """Return `encoder(self)`, computed once however many listeners ask."""
        text = self._encodings.get(encoder)
        if text is None:
            text = self._encodings[encoder] = encoder(self)
        return text


class Listener(Protocol):
    """One receiver; it may listen to many places, once each."""

    def deliver(self, delivery: Delivery) -> None:
        """Take a delivery for a place it listens to; must not wait, and must not raise."""

    def cancel(self, place: Path) -> None:
        """Take that it may no longer listen to a place; must not wait, and must not raise."""
