"""Read a query object, which says what a listen or a get asks for.

    sp, sn, sin    the start: a value, the key that parts children of that value, whether inclusive
    ep, en, ein    the end, likewise
    l, vf          how many children, and whether the first ("l") or the last ("r")
    i              the order: ".key", ".value", ".priority", or the path of a descendant

A bound is there when its value is, and null is a value. Members that mean nothing alone are let
by: a key without its value, a side without a limit. Unknown ones are refused, for who sends them
means something by them. Source: Firebase realtime protocol, version 5, and its JavaScript SDK.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from treedb.errors import InvalidPath, InvalidQuery, NotFinite
from treedb.paths.keys import shown
from treedb.paths.path import Path
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, OrderBy, by_child
from treedb.tree.values import Leaf, canonical_number

MEMBERS: Final = ("sp", "sn", "sin", "ep", "en", "ein", "l", "vf", "i")
MAX_LIMIT: Final = 2**31 - 1  # what the SDKs can count to

_ORDERS: Final = {order_by.name: order_by for order_by in (KEY, VALUE, PRIORITY)}


@dataclass(frozen=True, slots=True)
class QueryObject:
    """A query, and the object that asked it, as it was sent: a cancel names it by that."""

    query: Query
    sent: Mapping[str, Any]


def query_object_of(raw: Mapping[str, Any]) -> QueryObject:
    """Return what a query object asks; InvalidQuery when a member is unknown or of another kind."""
    for name in raw:
        if name not in MEMBERS:
            known = ", ".join(MEMBERS)
            raise InvalidQuery(f"A query has no member {shown(name)}; it may have {known}.")
    order_by = _order_by(raw.get("i", PRIORITY.name))
    start = _bound(raw, order_by, ("sp", "sn", "sin"))
    end = _bound(raw, order_by, ("ep", "en", "ein"))
    limit = _limit(raw["l"]) if "l" in raw else None
    keeps_last = limit is not None and _keeps_last(raw)
    query = Query(order_by, start, end, limit, keeps_last)
    return QueryObject(EVERYTHING if query == EVERYTHING else query, raw)


def _order_by(raw: object) -> OrderBy:
    if not isinstance(raw, str):
        raise _refusal("i", 'is ".key", ".value", ".priority" or the path of a child', raw)
    if raw in _ORDERS:
        return _ORDERS[raw]
    try:
        keys = Path.parse(raw).keys
    except InvalidPath as error:
        raise InvalidQuery(f'A query\'s "i" is no path of a child: {error.reason}') from None
    if not keys:
        raise InvalidQuery('A query\'s "i" is the path of a child, found one without keys.')
    return by_child(*keys)


def _bound(raw: Mapping[str, Any], order_by: OrderBy, names: tuple[str, str, str]) -> Bound | None:
    """Return one end of the range, given the names of its value, its key and its side."""
    value_name, key_name, side_name = names
    if value_name not in raw:
        return None
    value = _bound_value(value_name, raw[value_name])
    is_inclusive = raw.get(side_name, True)
    if not isinstance(is_inclusive, bool):
        raise _refusal(side_name, "is true or false", is_inclusive)
    if order_by == KEY:
        if not isinstance(value, str):
            raise _refusal(value_name, 'is a key when "i" is ".key", and keys are text', value)
        return Bound(value, None, is_inclusive)
    key = raw.get(key_name)
    if key is not None and not isinstance(key, str):
        raise _refusal(key_name, "is a key, and keys are text", key)
    return Bound(value, key, is_inclusive)


def _bound_value(name: str, raw: object) -> Leaf | None:
    if raw is None or isinstance(raw, bool | str):
        return raw
    if not isinstance(raw, int | float):
        raise _refusal(name, "is null, a boolean, a number or text", raw)
    try:
        return canonical_number(raw)
    except NotFinite:
        raise InvalidQuery(f'A query\'s "{name}" is a number that no double can hold.') from None


def _limit(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or not 1 <= raw <= MAX_LIMIT:
        raise _refusal("l", f"is an integer from 1 to {MAX_LIMIT}", raw)
    return raw


def _keeps_last(raw: Mapping[str, Any]) -> bool:
    if "vf" not in raw:
        return "sp" not in raw
    side = raw["vf"]
    if side not in ("l", "r"):
        raise _refusal("vf", 'is "l" for the first children or "r" for the last', side)
    return bool(side == "r")


def _refusal(name: str, allowed: str, raw: object) -> InvalidQuery:
    return InvalidQuery(f'A query\'s "{name}" {allowed}; found {_found(raw)}.')


def _found(raw: object) -> str:
    match raw:
        case None:
            return "null"
        case bool():
            return "true" if raw else "false"
        case str():
            return shown(raw)
        case dict():
            return "an object"
        case list():
            return "an array"
    return str(raw)
