"""Learn what a rule read, to know when it has to be asked again.

A listener stays allowed as long as the rule that let it in holds. Give a `ReadPlaces` as reader to
`check_read`: when none of its places changes, neither does the verdict, but for rules that use
`now`, which time itself may change (`Rule.variables`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from treedb.paths.path import Path
from treedb.tree.reader import Reader
from treedb.tree.values import Value


@dataclass(frozen=True, slots=True)
class ReadPlaces:
    """A Reader that passes on to another one and remembers the places it was asked for."""

    reader: Reader
    places: set[Path] = field(default_factory=set)

    def get(self, path: Path) -> Value:
        self.places.add(path)
        return self.reader.get(path)

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        self.places.add(path)
        return self.reader.keys(path, after)

    def exists(self, path: Path) -> bool:
        self.places.add(path)
        return self.reader.exists(path)
