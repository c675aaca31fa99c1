"""Listeners: one to whom nothing may happen, one that keeps what it is told, and what one shows."""

from dataclasses import dataclass, field

from tests.naive_tree import NaiveTree
from treedb.sync.delivery import Change, Delivery, Merge, Watch


class Unheard:
    """A listener to whom nothing may happen."""

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        raise AssertionError(f"nothing is delivered here, found {delivery}")

    def cancel(self, watch: Watch) -> None:
        raise AssertionError(f"nobody is cancelled here, found {watch}")


@dataclass(eq=False)
class Recorder:
    """A listener that keeps what it is told, and is never cancelled."""

    deliveries: list[Delivery] = field(default_factory=list)

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        self.deliveries.append(delivery)

    def cancel(self, watch: Watch) -> None:
        raise AssertionError(f"nobody is cancelled here, found {watch}")

    @property
    def changes(self) -> list[Change]:
        return [delivery.change for delivery in self.deliveries]

    @property
    def revisions(self) -> list[int]:
        return [delivery.revision for delivery in self.deliveries]


def follow(tree: NaiveTree, change: Change) -> None:
    """Make in a tree the change that a listener was told of."""
    if isinstance(change, Merge):
        tree.update(change.path.keys, dict(change.changes))
    else:
        tree.set(change.path.keys, change.value)
