"""What a reader knows of the indexes: which are there to be used, and their entries."""

from treedb.config import Limits
from treedb.paths.path import Path
from treedb.store.index_definitions import Definitions, Index, IndexState
from treedb.store.index_entries import IndexEntries
from treedb.tree.query_order import KEY, PRIORITY, OrderBy


class IndexReader:
    """The indexes as one transaction sees them."""

    def __init__(self, entries: IndexEntries, definitions: Definitions, limits: Limits) -> None:
        self.entries = entries
        self.definitions = definitions
        self.limits = limits

    @property
    def reads(self) -> int:
        """Count the entries that were met so far."""
        return self.entries.reads

    def covers(self, place: Path, order_by: OrderBy) -> bool:
        """Tell whether the children of a place can be read in an order without reading all.

        Keys need no index. Priorities have one, which is complete unless it is being built anew.
        """
        return order_by == KEY or self.index_of(place, order_by) is not None

    def index_of(self, place: Path, order_by: OrderBy) -> Index | None:
        """Return a complete index for the children of a place in an order."""
        if order_by == PRIORITY:
            found = [self.definitions.priorities]
        else:
            found = self.definitions.at(place.keys)
        for index in found:
            if index.order_by == order_by and index.state is IndexState.COMPLETE:
                return index
        return None
