"""What a query orders children by, and where its bounds lie in that order.

A child's *position* is a pair: what orders it (its key, its value, its priority, or the value of
something below it), and the bytes of its key, which part children that are otherwise equal. Every
bound is a position too, one that no child has to stand at: it parts the order in two, and
whether it is inclusive only moves it to the other side of what it names. So a query's range is
`low <= position < high`, whatever was asked for.

Worked example, children a, b, c by the values 1, 2, 2:

    positions                      (1, "a")  (2, "b")  (2, "c")
    start at 2                     low is (2, before every key):     b and c
    start after 2                  low is (2, behind every key):     none
    start after 2, key "b"         low is (2, just behind "b"):      c
    end before 2                   high is (2, before every key):    a

Source: Firebase's "How query data is ordered", and its JavaScript SDK.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from treedb.paths.order import encode_key
from treedb.tree.order import SortKey, priority_sort_key, value_sort_key
from treedb.tree.values import Leaf, Value, value_at

Position: TypeAlias = tuple[SortKey, bytes]

# Every key's bytes lie between these two.
BEFORE_KEYS: Final = b""
BEHIND_KEYS: Final = b"\xff"

_BEHIND: Final = b"\x00"  # a key's bytes tell where they end, so no other key comes before this
_BEHIND_INTEGERS: Final = b"\x03"
_FIRST_CHARACTER: Final = " "  # of the keys that are no integers
_SAME: Final[SortKey] = (0, 0, b"")

# How the SDKs spell the two keys that no child has: JavaScript, Android and Admin Java differ.
MINIMUM_KEYS: Final = frozenset(("[MIN_NAME]", "[MIN_KEY]"))
MAXIMUM_KEYS: Final = frozenset(("[MAX_NAME]", "[MAX_KEY]"))


@dataclass(frozen=True, slots=True)
class OrderBy:
    """What children are ordered by: ".key", ".value", ".priority" or the path of a descendant.

    `keys` is the descendant's path, () for the three others.
    """

    name: str
    keys: tuple[str, ...] = ()

    def sort_key(self, child: Value) -> SortKey:
        """Return what orders a child; equal ones are parted by their keys."""
        match self.name:
            case ".key":
                return _SAME
            case ".value":
                return value_sort_key(child)
            case ".priority":
                return priority_sort_key(child)
        return value_sort_key(value_at(child, self.keys))

    def position(self, key: str, child: Value) -> Position:
        """Return where a child stands."""
        return self.sort_key(child), encode_key(key)


KEY: Final = OrderBy(".key")
VALUE: Final = OrderBy(".value")
PRIORITY: Final = OrderBy(".priority")


def by_child(*keys: str) -> OrderBy:
    """Return the order by what lies some keys below each child; the keys are legal."""
    assert keys, "a child's path has a key"
    return OrderBy("/".join(keys), keys)


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range: a value, the key that parts children of that value, and which side.

    In the order of keys the value is the key, a string, and `key` is None. Without a key the bound
    is for all children of the value. `key` may be one of MINIMUM_KEYS or MAXIMUM_KEYS.
    """

    value: Leaf | None
    key: str | None = None
    is_inclusive: bool = True


def low_position(order_by: OrderBy, start: Bound) -> Position:
    """Return the position from which on children lie inside a bound at the start."""
    return _position(order_by, start, is_behind=not start.is_inclusive)


def high_position(order_by: OrderBy, end: Bound) -> Position:
    """Return the position from which on children lie outside a bound at the end."""
    return _position(order_by, end, is_behind=end.is_inclusive)


def _position(order_by: OrderBy, bound: Bound, *, is_behind: bool) -> Position:
    if order_by == KEY:
        assert isinstance(bound.value, str), "bounds of keys are keys"
        return _SAME, _key_position(bound.value, is_behind=is_behind)
    value = value_sort_key(bound.value)
    if bound.key is None:
        return value, BEHIND_KEYS if is_behind else BEFORE_KEYS
    return value, _key_position(bound.key, is_behind=is_behind)


def _key_position(key: str, *, is_behind: bool) -> bytes:
    """Return the place of a bound among keys; it need not be a legal key."""
    if key in MINIMUM_KEYS:
        return BEFORE_KEYS
    if key in MAXIMUM_KEYS:
        return BEHIND_KEYS
    if key < _FIRST_CHARACTER:
        return _BEHIND_INTEGERS  # nothing, or a control character: less than all text
    return encode_key(key) + _BEHIND if is_behind else encode_key(key)
