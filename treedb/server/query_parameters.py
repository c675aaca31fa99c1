"""The query that a REST request asks, from its parameters.

    orderBy="height"&startAt=3,"dino"&limitToFirst=10

`orderBy` is JSON text: "$key", "$value", "$priority" or the path of a child. A bound is one JSON
primitive, or two with a comma between: a value, and the key that parts children of that value.
The fixed texts are those that Firebase answers. Source: Firebase's page "Firebase Database REST
API", the sections on query parameters and error conditions.
"""

import re
from collections.abc import Mapping
from typing import Final

from treedb.errors import InvalidJson, InvalidPath, InvalidQuery, NoData
from treedb.paths.keys import key_problem, shown
from treedb.paths.path import Path
from treedb.tree.json_text import parse_json
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, OrderBy, by_child
from treedb.tree.values import Leaf, canonical_number
from treedb.wire.query_object import MAX_LIMIT

LIMITS: Final = ("limitToFirst", "limitToLast")
STARTS: Final = ("startAt", "startAfter")
ENDS: Final = ("endAt", "endBefore")
QUERY_NAMES: Final = ("orderBy", *LIMITS, *STARTS, *ENDS, "equalTo")

_ORDERS: Final = {"$key": KEY, "$value": VALUE, "$priority": PRIORITY}

_NO_ORDER: Final = "orderBy must be defined when other query parameters are defined"
_BAD_ORDER: Final = "orderBy must be a valid JSON encoded path"
_BAD_VALUE: Final = "Constraint index field must be a JSON primitive"
_BAD_KEY: Final = "Constraint key field must be a valid key name"
_NO_STRING: Final = "Provided key index type is invalid, must be string"
_TWO_LIMITS: Final = "Only one of limitToFirst and limitToLast may be specified"
_EQUAL_AND_RANGE: Final = (
    "equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore"
)


def parse_query(given: Mapping[str, str]) -> Query | None:
    """Read the query among a request's parameters, None when there is none of them.

    Raises InvalidQuery, whose text is Firebase's and whose detail names the parameter.
    """
    named = [name for name in QUERY_NAMES if name in given]
    if not named:
        return None
    _refuse_contradictions(given)
    limit = next((_limit(name, given[name]) for name in LIMITS if name in given), None)
    if "orderBy" not in given:
        raise InvalidQuery(f'{named[0]} needs an order, such as orderBy="$key".', _NO_ORDER)
    order_by = _order_by(given["orderBy"])
    start = _first_bound(given, (*STARTS, "equalTo"), order_by)
    end = _first_bound(given, (*ENDS, "equalTo"), order_by)
    return Query(order_by, start, end, limit, "limitToLast" in given)


def _refuse_contradictions(given: Mapping[str, str]) -> None:
    if all(name in given for name in LIMITS):
        raise InvalidQuery("limitToLast and limitToFirst: give one of them.", _TWO_LIMITS)
    for names in (STARTS, ENDS):
        found = [name for name in names if name in given]
        if found and "equalTo" in given:
            detail = f"equalTo is a range already: leave {found[0]} out."
            raise InvalidQuery(detail, _EQUAL_AND_RANGE)
        if len(found) > 1:
            detail = f"{found[0]} and {found[1]} bound the same end: give one of them."
            raise InvalidQuery(detail)


def _order_by(text: str) -> OrderBy:
    try:
        name = parse_json(text.encode())
    except (InvalidJson, NoData):
        name = None
    if not isinstance(name, str):
        detail = f'orderBy is {shown(text)}; it is text in double quotes, as in orderBy="height".'
        raise InvalidQuery(detail, _BAD_ORDER)
    if name in _ORDERS:
        return _ORDERS[name]
    try:
        keys = Path.parse(name).keys
    except InvalidPath as error:
        raise InvalidQuery(f"orderBy: {error.detail}", _BAD_ORDER) from error
    if not keys:
        raise InvalidQuery('orderBy is empty; name a child, or "$key".', _BAD_ORDER)
    return by_child(*keys)


def _first_bound(
    given: Mapping[str, str], names: tuple[str, ...], order_by: OrderBy
) -> Bound | None:
    return next((_bound(given, name, order_by) for name in names if name in given), None)


def _bound(given: Mapping[str, str], name: str, order_by: OrderBy) -> Bound:
    value, *keys = _primitives(name, given[name], order_by)
    is_inclusive = name not in ("startAfter", "endBefore")
    if order_by == KEY:
        if not isinstance(value, str):
            detail = f"{name} is {shown(given[name])}; in the order of keys it is a key in quotes."
            raise InvalidQuery(detail, _NO_STRING)
        if keys:
            raise InvalidQuery(f"{name} is a key already: leave the second out.", _BAD_KEY)
        return Bound(value, None, is_inclusive)
    if not keys:
        return Bound(value, None, is_inclusive)
    key = keys[0]
    if not isinstance(key, str) or key_problem(key) is not None:
        detail = f'{name} is {shown(given[name])}; its second part is a key, as in 5,"dino".'
        raise InvalidQuery(detail, _BAD_KEY)
    return Bound(value, key, is_inclusive)


def _primitives(name: str, text: str, order_by: OrderBy) -> list[Leaf | None]:
    """Return the one or two values of a bound."""
    try:
        values = parse_json(b"[%b]" % text.encode())
    except InvalidJson:
        if name == "startAfter" and order_by == KEY and _is_bare_key(text):
            return [text]  # as the Firebase command line tool pages through keys, without quotes
        values = None
    if not isinstance(values, list) or not 1 <= len(values) <= 2 or not all(map(_is_leaf, values)):
        detail = f'{name} is {shown(text)}; it is a value, or a value and a key: 5,"dino".'
        raise InvalidQuery(detail, _BAD_VALUE)
    return [_canonical(value) for value in values]


def _is_bare_key(text: str) -> bool:
    return not text.startswith('"') and key_problem(text) is None


def _is_leaf(raw: object) -> bool:
    return raw is None or isinstance(raw, bool | int | float | str)


def _canonical(leaf: Leaf | None) -> Leaf | None:
    """Return a number in its one spelling, for rules see it; anything else as it is."""
    if isinstance(leaf, bool) or not isinstance(leaf, int | float):
        return leaf
    return canonical_number(leaf)


def _limit(name: str, text: str) -> int:
    if re.fullmatch("-?[0-9]+", text) is None:
        detail = f"{name} is {shown(text)}; it is a whole number of at least 1."
        raise InvalidQuery(detail, f"{name} must be an integer")
    digits = text.lstrip("-").lstrip("0")
    if text.startswith("-") or not digits:
        detail = f"{name} is {shown(text)}; it is at least 1."
        raise InvalidQuery(detail, f"{name} must be positive")
    if len(digits) > len(str(MAX_LIMIT)) or int(digits) > MAX_LIMIT:
        raise InvalidQuery(f"{name} is {shown(text)}; it is at most {MAX_LIMIT}.")
    return int(digits)
