"""Values at places, and the one function that brings JSON into their normal form.

A value is plain Python: None, a leaf (bool, number, string) or a dict of children. A node with a
priority is written in Firebase's export form:

    the leaf 5 with priority "p"      {".value": 5, ".priority": "p"}
    an object with priority 1         {".priority": 1, "name": "Mary"}

Normal form: nothing empty inside an object, arrays are objects of integer keys, ".priority" comes
first and then the children in key order, keys are legal, depth is bounded, and a number has one
spelling: integral and at most 2^53 in magnitude it is an int, else a float, and -0 is 0. A server
value that nobody has filled in yet, {".sv": ...}, is a leaf and may be a priority. Values are never
changed in place: change makes a new dict, which shares what stayed the same.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from treedb.config import Limits
from treedb.errors import InvalidData, NotFinite, StringTooLong, TooDeep, TooManyNodes
from treedb.paths.keys import find_bad_key, key_problem, shown
from treedb.paths.order import encode_key, sort_keys

Leaf: TypeAlias = bool | int | float | str
Priority: TypeAlias = int | float | str
Value: TypeAlias = "Leaf | dict[str, Value] | None"

# Up to here every integer is a double of its own.
MAX_INTEGER = 2**53

# Records of one list tend to have the same keys: their check and order are remembered per walk,
# for that many key lists of at most that many keys.
SHAPES = 1_000
SHAPE_KEYS = 64

# Characters of a place told in an error.
SHOWN_PLACE = 200


@dataclass(frozen=True, slots=True)
class Normal:
    """A value in normal form, but for `{".sv": ...}` nodes when `has_server_values`.

    `nodes` counts the leaves and objects as they were given, nulls included: they cost time too.
    """

    value: Value
    has_server_values: bool
    nodes: int


def normal_form(raw: object, depth: int, limits: Limits) -> Normal:
    """Bring parsed JSON that is put `depth` levels below the root into normal form.

    Server values are checked and kept as they are. Dicts that are normal already are shared with
    the result, not copied. Raises InvalidData, TooDeep, StringTooLong or TooManyNodes, each naming
    the place inside the value. Source: Firebase's REST reference and JavaScript SDK.
    """
    walk = _Walk(limits)
    if depth > limits.depth:
        raise walk.too_deep(depth)
    value = walk.node(raw, depth)
    return Normal(value, walk.has_server_values, walk.nodes)


def canonical_number(number: float) -> int | float:
    """Return the one spelling of a number; NotFinite for what no finite double stands for."""
    try:
        double = float(number)
    except OverflowError:
        double = math.inf
    if not math.isfinite(double):
        raise NotFinite
    if double.is_integer() and abs(double) <= MAX_INTEGER:
        return int(double)
    return double


# Reading.


def is_object(value: Value) -> bool:
    """Tell whether a value has children."""
    return isinstance(value, dict) and ".value" not in value and ".sv" not in value


def children(value: Value) -> Iterator[tuple[str, Value]]:
    """Return the children in key order, none for a leaf."""
    if not isinstance(value, dict) or ".value" in value:
        return iter(())
    members = iter(value.items())
    if ".priority" in value:
        next(members)
    return members


def child_keys(value: Value) -> list[str]:
    """Return the children's keys in key order."""
    if not isinstance(value, dict) or ".value" in value:
        return []
    return list(value)[1:] if ".priority" in value else list(value)


def priority_of(value: Value) -> Priority | None:
    """Return the priority of a node, None when it has none."""
    priority = value.get(".priority") if isinstance(value, dict) else None
    assert priority is None or isinstance(priority, str | int | float), "a priority is a leaf"
    return priority


def leaf_of(value: Value) -> Leaf | None:
    """Return a leaf without its priority, None for an object or nothing."""
    bare = value.get(".value") if isinstance(value, dict) else value
    return None if isinstance(bare, dict) else bare


def value_at(value: Value, keys: Sequence[str]) -> Value:
    """Return the value some keys below, None when there is none; ".priority" may come last."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


# Changing: a new value each time.


def with_value_at(value: Value, keys: Sequence[str], new: Value) -> Value:
    """Return the value after `new` is set some keys below; ".priority" may come last.

    A leaf that gets a child becomes an object and keeps its priority; removing what a leaf does
    not have leaves it; what loses its last child vanishes with its priority.
    Source: Firebase's JavaScript SDK, `Node.updateChild`.
    """
    if not keys:
        return new
    if keys[0] == ".priority":
        assert not is_object(new), "a priority is a leaf"
        return with_priority(value, new)
    old = value.get(keys[0]) if isinstance(value, dict) else None
    child = with_value_at(old, keys[1:], new)
    return value if child is old else _with_child(value, keys[0], child)


def with_priority(value: Value, priority: Value) -> Value:
    """Return the value with another priority, or with none; nothing has no priority."""
    if isinstance(value, dict) and ".value" in value:
        value = value[".value"]
    if priority is None:
        return dict(children(value)) if is_object(value) else value
    if value is None:
        return None
    if not is_object(value):
        return {".value": value, ".priority": priority}
    return {".priority": priority, **dict(children(value))}


def _with_child(value: Value, key: str, child: Value) -> Value:
    priority = value.get(".priority") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not is_object(value):
        assert child is not None, "a leaf has no child to remove"
        return with_priority({key: child}, priority)
    if child is None:
        rest = {name: member for name, member in value.items() if name != key}
        return None if not rest or rest.keys() == {".priority"} else rest
    if key in value:
        return {**value, key: child}
    keys = child_keys(value)
    position = bisect_left(keys, encode_key(key), key=encode_key)
    if position == len(keys):
        return {**value, key: child}
    new: dict[str, Value] = {key: child}
    before = {name: value[name] for name in keys[:position]}
    after = {name: value[name] for name in keys[position:]}
    return with_priority(before | new | after, priority)


# Normal form.


class _Walk:
    """One walk over a raw value: what it counted and found, and where it is."""

    __slots__ = ("has_server_values", "limits", "nodes", "shapes", "trail")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.nodes = 1
        self.has_server_values = False
        self.trail: list[str] = []
        # Key lists found legal, each with its sorted form, None where it is sorted already.
        self.shapes: dict[tuple[str, ...], list[str] | None] = {}

    def node(self, raw: object, depth: int) -> Value:
        """Return the normal form of any raw value, raw itself when it is normal."""
        if type(raw) is dict:
            return self._object(raw, depth)
        if type(raw) is list:
            self._enter(len(raw), depth)
            members = {str(index): item for index, item in enumerate(raw) if item is not None}
            return self._members(members, depth) or None
        if type(raw) is str:
            return self._text(raw)
        if type(raw) is int or type(raw) is float:
            return self._number(raw)
        if raw is None or type(raw) is bool:
            return raw
        raise InvalidData(f"{self._place()} is a Python {type(raw).__name__}; it must be JSON")

    def too_deep(self, depth: int) -> TooDeep:
        return TooDeep(
            f"{self._place()} is {depth} levels below the root, at most {self.limits.depth} are "
            "allowed; use fewer levels"
        )

    def _object(self, raw: dict[str, object], depth: int) -> Value:
        shape = tuple(raw)
        known = shape in self.shapes
        if not known and not raw.keys().isdisjoint((".value", ".sv", ".priority")):
            return self._dotted(raw, depth)
        self._enter(len(raw), depth)
        if known:
            order = self.shapes[shape]
        else:
            order = self._checked_order(shape)
        value = self._members(raw, depth)
        if order is not None:
            value = {key: value[key] for key in order if key in value}
        return value or None

    def _dotted(self, raw: dict[str, object], depth: int) -> Value:
        """Take an object with members that are no children."""
        if ".sv" in raw:
            self._check_members(raw, (".sv",))
            self._check_server_value(raw[".sv"])
            return {".sv": raw[".sv"]}  # type: ignore[dict-item]  # checked just now
        priority = self._priority(raw.get(".priority"))
        if ".value" not in raw:
            rest = {key: child for key, child in raw.items() if key != ".priority"}
            value = self._object(rest, depth)
        else:
            self._check_members(raw, (".value", ".priority"))
            value = self._bare_leaf(raw[".value"])
        if priority is None or value is None:
            return value
        if isinstance(value, dict) and ".sv" not in value:
            return {".priority": priority, **value}
        return {".value": value, ".priority": priority}

    def _members(self, raw: dict[str, object], depth: int) -> dict[str, Value]:
        """Return raw with every child in normal form, in raw's order; raw itself if all were.

        Runs once a leaf, so what most leaves are is decided here without a call.
        """
        longest = self.limits.string_bytes
        changed: dict[str, Value] = {}
        for key, child in raw.items():
            if type(child) is str:
                if child.isascii() and len(child) <= longest:
                    continue
            elif type(child) is bool or (
                type(child) is int and -MAX_INTEGER <= child <= MAX_INTEGER
            ):
                continue
            self.trail.append(key)
            new = self.node(child, depth + 1)
            self.trail.pop()
            if new is None or new is not child:
                changed[key] = new
        if not changed:
            return raw  # type: ignore[return-value]  # every child was found normal
        merged: dict[str, Value] = {**raw, **changed}  # type: ignore[dict-item]  # likewise
        if None in changed.values():
            return {key: child for key, child in merged.items() if child is not None}
        return merged

    def _enter(self, members: int, depth: int) -> None:
        """Count the members of an object or array before they are walked."""
        if not members:
            return
        if depth >= self.limits.depth:
            raise self.too_deep(depth + 1)
        self.nodes += members
        if self.nodes > self.limits.nodes_per_write:
            raise TooManyNodes(
                f"the value has more than {self.limits.nodes_per_write} nodes, counted up to "
                f"{self._place()}; write it in parts"
            )

    def _checked_order(self, shape: tuple[str, ...]) -> list[str] | None:
        """Check the keys of an object; return them in key order, None when they were."""
        for key in shape:
            if type(key) is not str:
                kind = type(key).__name__
                raise InvalidData(f"{self._place()} has a key that is a Python {kind}, no string")
        bad = find_bad_key(shape)
        if bad is not None:
            raise InvalidData(f"{key_problem(bad)} It is in {self._place()}.")
        ordered = sort_keys(shape)
        order = None if tuple(ordered) == shape else ordered
        if len(shape) <= SHAPE_KEYS and len(self.shapes) < SHAPES:
            self.shapes[shape] = order
        return order

    def _text(self, text: str) -> str:
        try:
            size = len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError as error:
            raise InvalidData(
                f"{self._place()} has half of a surrogate pair at character {error.start}; "
                "text must be valid Unicode"
            ) from None
        if size > self.limits.string_bytes:
            raise StringTooLong(
                f"{self._place()} is a string of {size} bytes, at most "
                f"{self.limits.string_bytes} are allowed; cut it into several"
            )
        return text

    def _number(self, number: float) -> int | float:
        try:
            canonical = canonical_number(number)
        except NotFinite:
            raise InvalidData(f"{self._place()} is a number that no double can hold") from None
        same = type(canonical) is type(number) and canonical == number
        return number if same else canonical

    def _bare_leaf(self, raw: object) -> Value:
        if type(raw) is list or (type(raw) is dict and ".sv" not in raw):
            raise InvalidData(f'{self._place()} has a ".value" that is no leaf')
        return self.node(raw, self.limits.depth)

    def _priority(self, raw: object) -> Value:
        is_server_value = type(raw) is dict and ".sv" in raw
        if raw is not None and not is_server_value and type(raw) not in {str, int, float}:
            raise InvalidData(
                f'{self._place()} has a ".priority" that is neither a number nor a string'
            )
        self.trail.append(".priority")
        priority = self.node(raw, self.limits.depth)
        self.trail.pop()
        return priority

    def _check_members(self, raw: dict[str, object], allowed: tuple[str, ...]) -> None:
        for key in raw:
            if key not in allowed:
                raise InvalidData(
                    f'{self._place()} has "{allowed[0]}" beside the member {shown(str(key))}; '
                    'only {".value": leaf, ".priority": priority} may stand together'
                )

    def _check_server_value(self, operation: object) -> None:
        self.has_server_values = True
        if operation == "timestamp":
            return
        if type(operation) is dict and operation.keys() == {"increment"}:
            delta = operation["increment"]
            if type(delta) is int or type(delta) is float:
                self._number(delta)
                return
        raise InvalidData(
            f'{self._place()} has an unknown ".sv"; there is "timestamp", and '
            '{"increment": number} with a finite number'
        )

    def _place(self) -> str:
        if not self.trail:
            return "the value"
        # Foreign text: quoted, so that it stays on one line and printable, and cut when long.
        text = f"/{'/'.join(self.trail)}"
        shown_text = repr(text) if len(text) <= SHOWN_PLACE else f"{text[:SHOWN_PLACE]!r}..."
        return f"{shown_text} in the value"
