"""Values that only the server knows: its time, and a number counted up from the present one.

`{".sv": "timestamp"}` is the server's time in milliseconds; `{".sv": {"increment": d}}` is the
present number at that very place plus d, or d alone where there is no number. Either may be a
value or a priority. Source: Firebase's REST reference, "Server Values", and JavaScript SDK.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from treedb.errors import NotFinite
from treedb.paths.path import Path
from treedb.tree.reader import Reader
from treedb.tree.values import Leaf, Value, canonical_number, leaf_of

# Returns the present value some keys below the place that is written; ".priority" may come last.
CurrentAt: TypeAlias = Callable[[tuple[str, ...]], Value]


def resolve(value: Value, current_at: CurrentAt, now_ms: int) -> Value:
    """Return the value with its server values filled in, in normal form.

    `current_at` is asked only for what is incremented. Raises NotFinite, naming the place, when an
    increment passes the largest double.
    """
    return _resolve(value, current_at, now_ms, ())


def resolve_at(path: Path, value: Value, reader: Reader, now_ms: int) -> Value:
    """Return the value for a place, its increments counted from what a tree has there."""
    return resolve(value, partial(_current, reader, path), now_ms)


def _current(reader: Reader, place: Path, keys: tuple[str, ...]) -> Value:
    return reader.get(place.join(keys))


def _resolve(value: Value, current_at: CurrentAt, now_ms: int, keys: tuple[str, ...]) -> Value:
    if not isinstance(value, dict):
        return value
    if ".sv" in value:
        return _server_value(value[".sv"], current_at, now_ms, keys)
    changed: dict[str, Value] = {}
    for key, child in value.items():
        if isinstance(child, dict):
            # The leaf of {".value": ...} stands at the node's own place.
            place = keys if key == ".value" else (*keys, key)
            resolved = _resolve(child, current_at, now_ms, place)
            if resolved is not child:
                changed[key] = resolved
    return {**value, **changed} if changed else value


def _server_value(
    operation: Value, current_at: CurrentAt, now_ms: int, keys: tuple[str, ...]
) -> Leaf:
    if not isinstance(operation, dict):
        assert operation == "timestamp", "normal_form lets no other operation by"
        return now_ms
    delta = operation["increment"]
    assert isinstance(delta, int | float), "normal_form lets only numbers by"
    present = leaf_of(current_at(keys))
    is_number = isinstance(present, int | float) and not isinstance(present, bool)
    try:
        return canonical_number(present + delta if is_number else delta)  # type: ignore[operator]
    except (NotFinite, OverflowError):
        raise NotFinite(
            f"the increment of {present} at /{'/'.join(keys)} by {delta} passes the largest "
            "double; set the number instead"
        ) from None
