"""Read and check `.mirror`: the declaration of two places that are kept equal.

    ".mirror": "/groups/$gid/members/$uid"
    ".mirror": {"to": "/groups/$gid/members/$uid", "value": "true"}

Both sides bind the same `$names`, each once, so that one entry has exactly one other; and no place
belongs to two mirrors, so that none can feed another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from treedb.errors import InvalidPath
from treedb.paths.pattern import Pattern, is_name
from treedb.rules.document import Node, Object, Text
from treedb.rules.source import Mistake

_SHAPE = "Invalid mirror. Must be a path, or an object with 'to' and 'value'."


class MirrorValue(Enum):
    """What the other side holds: the same value, or just `true`."""

    COPY = "copy"
    TRUE = "true"


@dataclass(frozen=True, slots=True)
class Mirror:
    """Two places of which one exists exactly when the other does; `offset` is where it stands."""

    source: Pattern
    target: Pattern
    value: MirrorValue
    offset: int

    @property
    def meaning(self) -> str:
        """Say in a sentence what is kept."""
        if self.value is MirrorValue.TRUE:
            return f"{self.target} is true exactly where {self.source} holds any value"
        return f"{self.source} exists exactly when {self.target} does, with the same value"


def read_mirror(node: Node, keys: tuple[str, ...]) -> Mirror | Mistake:
    """Read the declaration at a place of the rules; a Mistake if it is wrong in itself."""
    if isinstance(node, Text):
        return _mirror(node, MirrorValue.COPY, keys)
    if not isinstance(node, Object):
        return Mistake(node.start, _SHAPE)
    members = {key.value: child for key, child in node.members}
    for key, _ in node.members:
        if key.value not in {"to", "value"}:
            return Mistake(key.start, _SHAPE, f"'{key.value}' is neither")
    target, value = members.get("to"), members.get("value")
    if not isinstance(target, Text):
        return Mistake(node.start if target is None else target.start, _SHAPE)
    if value is None:
        return _mirror(target, MirrorValue.COPY, keys)
    if not isinstance(value, Text) or value.value not in {kind.value for kind in MirrorValue}:
        return Mistake(value.start, "The value of a mirror must be 'copy' or 'true'.")
    return _mirror(target, MirrorValue(value.value), keys)


def find_clashes(mirrors: Sequence[Mirror]) -> Iterator[Mistake]:
    """Yield a mistake for each mirror that shares places with an earlier one."""
    for first, second in combinations(mirrors, 2):
        for mine in (second.source, second.target):
            for other in (first.source, first.target):
                if overlap(mine, other):
                    message = f"The mirror's {mine} overlaps with {other} of another mirror."
                    hint = "a mirror holds both ways: declare it once"
                    yield Mistake(second.offset, message, hint)
                    break
            else:
                continue
            break


def _mirror(text: Text, value: MirrorValue, keys: tuple[str, ...]) -> Mirror | Mistake:
    source = Pattern(keys)
    try:
        target = Pattern.parse(text.value)
    except InvalidPath as error:
        return Mistake(text.start, f"Invalid mirror. {error.reason}")
    missing = sorted(set(source.names) - set(target.names))
    unknown = sorted(set(target.names) - set(source.names))
    if missing:
        return Mistake(text.start, f"The mirror's path lacks {', '.join(missing)} of its place.")
    if unknown:
        return Mistake(text.start, f"The mirror's place has no {', '.join(unknown)}.")
    if overlap(source, target):
        return Mistake(text.start, f"The mirror's path {target} overlaps with its place {source}.")
    return Mirror(source, target, value, text.start)


def overlap(one: Pattern, other: Pattern) -> bool:
    """Tell whether a place of one pattern can be at, above or below a place of the other."""
    pairs = zip(one.keys, other.keys, strict=False)
    return all(mine == its or is_name(mine) or is_name(its) for mine, its in pairs)
