"""Read and check `.count`: a collection whose children are counted at another place.

    ".count": "/groups/$gid/memberCount"

It stands at the collection. Both places bind the same `$names`, so that each collection has a count
of its own, and the count lies neither in a collection that is counted nor in a mirror: so nothing
that is derived feeds another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treedb.errors import InvalidPath
from treedb.paths.pattern import Pattern
from treedb.rules.document import Node, Text
from treedb.rules.mirror import Mirror, overlap
from treedb.rules.source import Mistake

_SHAPE = "Invalid count. Must be a path."


@dataclass(frozen=True, slots=True)
class Counter:
    """A collection and the place of its count; `offset` is where it stands in the file."""

    collection: Pattern
    place: Pattern
    offset: int

    @property
    def meaning(self) -> str:
        """Say in a sentence what is kept."""
        return f"{self.place} is the number of children of {self.collection}"


def read_counter(node: Node, keys: tuple[str, ...]) -> Counter | Mistake:
    """Read the declaration at a place of the rules; a Mistake if it is wrong in itself."""
    if not isinstance(node, Text):
        return Mistake(node.start, _SHAPE)
    collection = Pattern(keys)
    try:
        place = Pattern.parse(node.value)
    except InvalidPath as error:
        return Mistake(node.start, f"Invalid count. {error.reason}")
    mine, its = set(collection.names), set(place.names)
    if mine != its:
        message = f"The count's path and its place differ in {', '.join(sorted(mine ^ its))}."
        return Mistake(node.start, message, "each collection has a count of its own")
    if overlap(collection, place):
        return Mistake(node.start, f"The count {place} overlaps with its collection {collection}.")
    return Counter(collection, place, node.start)


def find_counted_twice(counters: Sequence[Counter], mirrors: Sequence[Mirror]) -> Iterator[Mistake]:
    """Yield a mistake for each count that another declaration would change or count."""
    for number, counter in enumerate(counters):
        others = [other.place for other in counters[:number]]
        others += [other.collection for other in counters if other is not counter]
        others += [side for mirror in mirrors for side in (mirror.source, mirror.target)]
        for other in others:
            if overlap(counter.place, other):
                message = f"The count {counter.place} overlaps with {other}, which is kept as well."
                yield Mistake(counter.offset, message)
                break
