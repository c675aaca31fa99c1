"""One watched place and query, and who watches it.

A member is *held* while the value it starts from is still being read or sent: what is published
meanwhile waits for it, in order, so that it hears of every commit after that value exactly once.

A view of everything keeps no value: a commit's change is all its members need. A view of a query
keeps a window (`window.py`) and is in one of three states:

    beginning   the first read of the window is under way; what is touched meanwhile is noted
    settled     the window is that of its revision, and every commit published is in it
    unsettled   a commit needed children that could not be read as they were at that commit;
                what is touched is noted until the window is read anew

Reading anew may take long, and commits go on meanwhile: what they touch is noted for a next time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from treedb.paths.path import Path
from treedb.sync.delivery import Change, Delivery, Listener, Merge, Overwrite
from treedb.sync.window import (
    Changes,
    Learnt,
    Need,
    Read,
    Window,
    touched_by_either,
    touched_keys,
)
from treedb.tree.query import EVERYTHING, Chosen, Query
from treedb.tree.values import Value

# A listener, and the tag by which it tells its watches of one view apart.
MemberKey = tuple[Listener, int | None]


@dataclass(slots=True)
class Member:
    """A listener of one view, who has seen everything up to revision `after`."""

    listener: Listener
    tag: int | None
    after: int
    held: list[Delivery] | None = None

    def deliver(self, delivery: Delivery) -> None:
        """Tell the listener."""
        self.listener.deliver(delivery, self.tag)


@dataclass(frozen=True, slots=True)
class Unseen:
    """What commits of some revisions touched: the children's keys, None when maybe any."""

    since: int
    until: int
    keys: frozenset[str] | None


@dataclass(slots=True, eq=False)
class View:
    """A place, a query, and the members.

    `unseen` is what commits touched and the window does not reflect yet; `being_read` what a read
    that is under way will make it reflect.
    """

    place: Path
    query: Query = EVERYTHING
    members: dict[MemberKey, Member] = field(default_factory=dict)
    window: Window | None = None
    unseen: Unseen | None = None
    being_read: Unseen | None = None
    _began_at: int = 0

    @property
    def is_settled(self) -> bool:
        """Tell whether the window reflects every commit that was learnt."""
        return self.unseen is None and self.being_read is None

    @property
    def is_to_be_read(self) -> bool:
        """Tell whether the window has begun, and somebody should read it anew now."""
        return self.window is not None and self.unseen is not None and self.being_read is None

    # What the view learns

    def learn(self, changes: Learnt, revision: int) -> Delivery | Need | None:
        """Take a commit's changes, relative to the place.

        Returns what to tell the members, nothing, or what has to be read first: then `fill` or
        `unsettle` follows.
        """
        if self.query is EVERYTHING:
            return self._delivery(tuple(changes), revision)
        if self.window is None or not self.is_settled:
            if any(member.after < revision for member in self.members.values()):
                self.unsettle(changes, revision)
            return None
        if revision > self.window.revision and _may_leave_a_fragment(self.window, changes):
            self.unsettle([((), None)], revision)
            return None
        return self._learnt(self.window.apply(changes, revision), revision)

    def fill(
        self, need: Need, read: Mapping[str, Read | None], more: Iterable[tuple[str, Value]]
    ) -> Delivery | Need | None:
        """Take the children that a commit needed; return what to tell, or what else to read."""
        assert self.window is not None, "only a window needs anything"
        return self._learnt(self.window.fill(need, read, more), need.revision)

    def unsettle(self, changes: Learnt, revision: int) -> None:
        """Note what a commit touched, until the window is read anew."""
        unseen, keys = self.unseen or Unseen(revision, revision, frozenset()), touched_keys(changes)
        self.unseen = Unseen(unseen.since, revision, touched_by_either(unseen.keys, keys))

    # How a window begins, and begins anew

    def begin(self, chosen: Chosen, revision: int) -> bool:
        """Take what was read for a member at its revision; the first read begins the window.

        False when the window began at a later revision: the member has to read again, for it
        did not hear of the commits between.
        """
        if self.window is not None:
            return revision >= self._began_at
        self.window = Window.start(self.query, chosen, revision)
        self._began_at = revision
        return True

    def start_reading(self) -> None:
        """Begin to read the window anew; what is touched from now on is for a next time."""
        assert self.is_to_be_read, "a window is read anew when it has to be, and once at a time"
        self.being_read, self.unseen = self.unseen, None

    def stop_reading(self) -> None:
        """Give up a read that was begun; the window is still to be read anew."""
        begun, self.being_read = self.being_read, None
        assert begun is not None, "a read that is given up has begun"
        later = self.unseen
        until = begun.until if later is None else later.until
        keys = begun.keys if later is None else touched_by_either(begun.keys, later.keys)
        self.unseen = Unseen(begun.since, until, keys)

    def finish_reading(self, chosen: Chosen, revision: int) -> Delivery | None:
        """Take the children chosen at a revision that is published; return what to tell."""
        seen, self.being_read = self.being_read, None
        assert seen is not None, "a read that ends has begun"
        assert self.window is not None, "a window that is read anew has begun"
        touched = seen.keys
        if self.unseen is not None and self.unseen.until <= revision:
            touched, self.unseen = touched_by_either(touched, self.unseen.keys), None
        if any(seen.since <= member.after < revision for member in self.members.values()):
            touched = None  # they hold other children than the rest, so all get the whole window
        return self._delivery(self.window.reset(chosen, revision, touched), revision)

    def tell(self, delivery: Delivery) -> None:
        """Deliver to the members who are to hear of it now."""
        for member in self.hand_out(delivery):
            member.deliver(delivery)

    def hand_out(self, delivery: Delivery) -> list[Member]:
        """Return the members to deliver to now; keep the delivery for those held."""
        now = []
        for member in self.members.values():
            if member.after >= delivery.revision:
                continue
            if member.held is None:
                now.append(member)
            else:
                member.held.append(delivery)
        return now

    def _learnt(self, learnt: Changes | Need, revision: int) -> Delivery | Need | None:
        return learnt if isinstance(learnt, Need) else self._delivery(learnt, revision)

    def _delivery(self, changes: Changes, revision: int) -> Delivery | None:
        if not changes:
            return None
        change: Change
        if len(changes) == 1:
            keys, value = changes[0]
            change = Overwrite(self.place.join(keys), value)
        else:
            change = Merge(self.place, changes)
        return Delivery(self.place, change, revision, self.query)


def _may_leave_a_fragment(window: Window, changes: Learnt) -> bool:
    """Tell whether a commit that is told in parts may leave its own sender with a wrong window.

    Firebase's JavaScript SDK lays its unanswered writes over what it is told. While a window has
    a gap it fills it with what such a write has of a child that it does not hold, a fragment, and
    keeps that. A whole window leaves no gap.
    """
    is_below_others = any(
        len(keys) > 1 and keys[0] not in window and value is not None for keys, value in changes
    )
    return is_below_others and any(keys[:1] and keys[0] in window for keys, _ in changes)
