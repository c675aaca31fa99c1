"""One watched place and who watches it.

A member is *held* while the value it starts from is still being read or sent: what is published
meanwhile waits for it, in order, so that it hears of every commit after that value exactly once.
"""

from dataclasses import dataclass, field

from treedb.paths.path import Path
from treedb.sync.delivery import Delivery, Listener


@dataclass(slots=True)
class Member:
    """A listener of one place, who has seen everything up to revision `after`."""

    listener: Listener
    after: int
    held: list[Delivery] | None = None


@dataclass(slots=True)
class View:
    """A place and its members. It keeps no value: a plain listen needs only the commits."""

    place: Path
    members: dict[Listener, Member] = field(default_factory=dict)

    def hand_out(self, delivery: Delivery) -> list[Listener]:
        """Return the listeners to deliver to now; keep the delivery for those held."""
        now = []
        for member in self.members.values():
            if member.after >= delivery.revision:
                continue
            if member.held is None:
                now.append(member.listener)
            else:
                member.held.append(delivery)
        return now
