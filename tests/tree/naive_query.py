"""The oracle of queries: what a query object chooses, in the way of the JavaScript SDK.

It compares, two children at a time, and holds each child against the bounds as they were sent.
There are no positions and no sort keys here, so it shares nothing with what it is held against.
"""

import re
from collections.abc import Mapping
from functools import cmp_to_key, partial
from typing import Any

Child = tuple[str, Any]

MINIMUM, MAXIMUM = ("[MIN_NAME]", "[MIN_KEY]"), ("[MAX_NAME]", "[MAX_KEY]")


def naive_query(data: Any, query: Mapping[str, Any]) -> list[str]:
    """Return the keys of the children a query object chooses of a value, in its order."""
    members = data if isinstance(data, dict) and ".value" not in data else {}
    found: list[Child] = [(key, child) for key, child in members.items() if key != ".priority"]
    order = query.get("i", ".priority")
    found.sort(key=cmp_to_key(partial(compare, order)))
    found = [child for child in found if is_inside(order, child, query)]
    if "l" in query:
        keeps_first = query.get("vf", "l" if "sp" in query else "r") == "l"
        found = found[: query["l"]] if keeps_first else found[-query["l"] :]
    return [key for key, _ in found]


def naive_window(data: Any, query: Mapping[str, Any]) -> Any:
    """Return the answer to a query object, children in key order."""
    if not {"sp", "ep", "l"} & query.keys():
        return data
    keys = sorted(naive_query(data, query), key=cmp_to_key(compare_keys))
    return {key: data[key] for key in keys} or None


def is_inside(order: str, child: Child, query: Mapping[str, Any]) -> bool:
    if "sp" in query:
        inclusive = query.get("sin", True)
        edge = MINIMUM[0] if inclusive else MAXIMUM[0]
        side = against_bound(order, child, query["sp"], query.get("sn", edge))
        if side < 0 or (side == 0 and not inclusive):
            return False
    if "ep" in query:
        inclusive = query.get("ein", True)
        edge = MAXIMUM[0] if inclusive else MINIMUM[0]
        side = against_bound(order, child, query["ep"], query.get("en", edge))
        if side > 0 or (side == 0 and not inclusive):
            return False
    return True


def against_bound(order: str, child: Child, value: Any, key: str) -> int:
    """Tell whether a child comes before a bound, at it or behind it: -1, 0 or 1."""
    if order == ".key":
        return compare_keys(child[0], value)
    return compare_values(ordering_value(order, child[1]), value) or compare_keys(child[0], key)


def compare(order: str, one: Child, other: Child) -> int:
    if order == ".key":
        return compare_keys(one[0], other[0])
    first, second = ordering_value(order, one[1]), ordering_value(order, other[1])
    return compare_values(first, second) or compare_keys(one[0], other[0])


def ordering_value(order: str, child: Any) -> Any:
    if order == ".priority":
        return child.get(".priority") if isinstance(child, dict) else None
    for key in [] if order == ".value" else filter(None, order.split("/")):
        child = child.get(key) if isinstance(child, dict) else None
    return child.get(".value", child) if isinstance(child, dict) else child


def compare_values(one: Any, other: Any) -> int:
    if rank(one) != rank(other):
        return -1 if rank(one) < rank(other) else 1
    if one is None or isinstance(one, dict | bool):
        return 0
    return compare_text(one, other) if isinstance(one, str) else (one > other) - (one < other)


def rank(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool):
        return 2 if value else 1
    return 3 if isinstance(value, int | float) else 4 if isinstance(value, str) else 5


def compare_keys(one: str, other: str) -> int:
    if one == other:
        return 0
    if one in MINIMUM or other in MAXIMUM:
        return -1
    if other in MINIMUM or one in MAXIMUM:
        return 1
    first, second = integer(one), integer(other)
    if first is None or second is None:
        if first is second:
            return compare_text(one, other)
        return -1 if second is None else 1
    if first != second:
        return -1 if first < second else 1
    # Firebase lets "00" and "-0" tie; treedb puts the minus second.
    return (len(one) > len(other)) - (len(one) < len(other)) or compare_text(other, one)


def compare_text(one: str, other: str) -> int:
    first, second = one.encode("utf-16-be"), other.encode("utf-16-be")
    return (first > second) - (first < second)


def integer(key: str) -> int | None:
    if re.fullmatch("-?0*[0-9]{1,10}", key) and -(2**31) <= int(key) < 2**31:
        return int(key)
    return None
