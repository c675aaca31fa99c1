"""Windows that take long to be read anew, beside everything else that happens.

A window whose order has no index looks at every child of its place. Where those are many, nobody
else may wait for it: neither the commits to come nor the senders of the ones that were. So it is
read here, a slice in each turn of the event loop, from a snapshot of its own. It is told of a
little later than others, and of what changed meanwhile later still, but of nothing wrongly.
"""

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass

from treedb.errors import Unavailable
from treedb.store.store import Snapshot, Store
from treedb.sync.view import View
from treedb.tree.query import Chosen
from treedb.window_upkeep import WindowUpkeep

log = logging.getLogger("treedb.follower")


@dataclass(slots=True, eq=False)
class SlowRead:
    """A read under way; `chosen` is there when it has ended, and stays None if it is given up."""

    view: View
    snapshot: Snapshot
    steps: Generator[None, None, Chosen | None]
    revision: int
    chosen: Chosen | None = None


class SlowReads:
    """The slow reads of one database; `ended` is called after one or more have come to an end."""

    def __init__(
        self,
        store: Store,
        upkeep: WindowUpkeep,
        soon: Callable[[Callable[[], None]], object],
        ended: Callable[[], None],
    ) -> None:
        self._store = store
        self._upkeep = upkeep
        self._soon = soon
        self._ended = ended
        self._reads: list[SlowRead] = []
        self._done: list[SlowRead] = []

    def __len__(self) -> int:
        """Count the reads under way, and those that are not told of yet."""
        return len(self._reads) + len(self._done)

    def start(self, view: View) -> None:
        """Read a view's window; Unavailable when there are too many readers."""
        snapshot = self._store.snapshot()
        steps = self._upkeep.read(view, snapshot)
        self._reads.append(SlowRead(view, snapshot, steps, snapshot.revision))
        if len(self._reads) == 1:
            self._soon(self._go_on)

    def take_done(self, revision: int) -> list[SlowRead]:
        """Return the reads that have ended, of snapshots that are published by now."""
        done = [each for each in self._done if each.revision <= revision]
        self._done = [each for each in self._done if each.revision > revision]
        return done

    def close(self) -> None:
        """Give all reads up."""
        for each in self._reads:
            each.snapshot.close()
        self._reads = []

    def _go_on(self) -> None:
        """Read a slice for each view, and more in the next turn."""
        going = []
        for each in self._reads:
            if not each.view.members:
                each.snapshot.close()
                continue
            try:
                next(each.steps)
            except StopIteration as end:
                each.chosen = end.value
                each.snapshot.close()
                self._done.append(each)
            except Exception:
                # A fault of ours, or of the disk. Nobody may wait for this window for ever, and
                # the other reads go on.
                log.exception("reading a window at %s failed", each.view.place)
                each.snapshot.close()
                self._upkeep.give_up(each.view, Unavailable("reading it failed"))
            else:
                going.append(each)
        self._reads = going
        if self._done:
            self._ended()
        if self._reads:
            self._soon(self._go_on)
