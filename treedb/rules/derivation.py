"""Tell what a derived place follows: which mirror or count keeps it, and from where.

A place belongs to at most one mirror or count, since the rules are refused where two overlap. So
the place alone tells which one derives it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.mirror import Mirror
from treedb.rules.source import Source

Declaration: TypeAlias = Mirror | Counter


@dataclass(frozen=True, slots=True)
class Derivation:
    """Why the server changes a place: the place it follows, and the declaration in the file."""

    origin: Path
    kind: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"derived from {self.origin} by the {self.kind} at {self.line}:{self.column}"


def find_derivation(
    path: Path, declarations: Iterable[Declaration], source: Source
) -> Derivation | None:
    """Return what a place is derived by when it is; None for a place that nothing derives."""
    for declaration in declarations:
        for derived, origin in _directions(declaration):
            depth = len(derived.keys)
            bindings = derived.match(Path(path.keys[:depth]))
            if bindings is not None:
                followed = origin.fill(bindings).join(path.keys[depth:])
                return Derivation(followed, kind_of(declaration), *_position(declaration, source))
    return None


def meanings_of(
    declarations: Iterable[Declaration], source: Source
) -> Iterator[tuple[int, int, str]]:
    """Yield what each declaration means, with its line and column, in the order of the file."""
    for declaration in sorted(declarations, key=lambda each: each.offset):
        sentence = f"{kind_of(declaration)}: {declaration.meaning}"
        yield (*_position(declaration, source), sentence)


def kind_of(declaration: Declaration) -> str:
    """Name what a declaration is, as its member in the file does."""
    return "mirror" if isinstance(declaration, Mirror) else "count"


def _directions(declaration: Declaration) -> tuple[tuple[Pattern, Pattern], ...]:
    """Return the patterns that are derived, each with the one it follows."""
    if isinstance(declaration, Counter):
        return ((declaration.place, declaration.collection),)
    source, target = declaration.source, declaration.target
    return ((target, source), (source, target))


def _position(declaration: Declaration, source: Source) -> tuple[int, int]:
    return source.position(declaration.offset)
