"""Tell the operator which index is missing, once in a while and not for every query."""

import logging

from treedb.clock import SystemClock
from treedb.paths.path import Path
from treedb.tree.query_order import OrderBy

log = logging.getLogger("treedb.indexes")

# A page that asks without an index asks again and again; once a minute is enough to be seen.
QUIET_SECONDS = 60.0
# Places that are told apart; with more of them in a minute the log says enough already.
MOST_PLACES = 100


class IndexAdvice:
    """The advice given lately, by place and order."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock
        self._given: dict[tuple[Path, OrderBy], float] = {}

    def give(self, namespace: str, place: Path, order_by: OrderBy) -> None:
        """Name the index that a query would need, unless that was said a moment ago."""
        now = self._clock.monotonic()
        recent = now - QUIET_SECONDS
        if self._given.get((place, order_by), recent) > recent:
            return
        if len(self._given) >= MOST_PLACES:
            self._given = {each: at for each, at in self._given.items() if at > recent}
            if len(self._given) >= MOST_PLACES:
                return
        self._given[place, order_by] = now
        log.warning(
            'a query of %s in namespace %s looks at every child; add ".indexOn": "%s" there, '
            "to the rules",
            _printable(str(place)),
            namespace,
            _printable(order_by.name),
        )


def _printable(text: str) -> str:
    """Escape what is no print: keys come from clients, and logs are read in terminals."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
