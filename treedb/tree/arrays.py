"""The plain form of values: no priorities, and objects that look like arrays are arrays.

An object is printed as an array when all its keys are array indexes and the largest is less than
twice their number, so that at most half of the array is holes; a hole is null. Source: Firebase's
JavaScript SDK, `ChildrenNode.val`.
"""

import re
from collections.abc import Sequence

from treedb.tree.forms import Form
from treedb.tree.values import Value

_INDEX = re.compile("0|[1-9][0-9]*", re.ASCII)
# A key of more digits is no array's: lists that long are beyond every limit.
MAX_DIGITS = 10


def to_plain(value: Value) -> object:
    """Return the plain form; the value itself when the two are the same."""
    if not isinstance(value, dict):
        return value
    if ".value" in value:
        return value[".value"]
    changed: dict[str, object] = {}
    for key, child in value.items():
        if isinstance(child, dict):
            plain = to_plain(child)
            if plain is not child:
                changed[key] = plain
    plain_members: dict[str, object] = {**value, **changed} if changed else value  # type: ignore[assignment]
    if ".priority" in value:
        plain_members = {key: child for key, child in plain_members.items() if key != ".priority"}
    if not _may_be_array(plain_members):
        return plain_members
    length = array_length(list(plain_members))
    if length is None:
        return plain_members
    return [plain_members.get(str(index)) for index in range(length)]


def in_form(value: Value, form: Form) -> object:
    """Return the value in a form."""
    return to_plain(value) if form is Form.PLAIN else value


def is_plain(value: Value) -> bool:
    """Tell whether the plain form is the value itself."""
    if not isinstance(value, dict):
        return True
    if ".value" in value or ".priority" in value:
        return False
    if _may_be_array(value) and array_length(list(value)) is not None:
        return False
    return all(is_plain(child) for child in value.values() if isinstance(child, dict))


def array_length(keys: Sequence[str]) -> int | None:
    """Return the length of the array an object with these keys in key order is, None if none."""
    if not keys or len(keys[-1]) > MAX_DIGITS or not _INDEX.fullmatch(keys[-1]):
        return None
    # Key order puts the largest index last: a larger one would fail the test just made.
    length = int(keys[-1]) + 1
    if length > 2 * len(keys) or not all(map(_INDEX.fullmatch, keys)):
        return None
    return length


def is_index(key: str) -> bool:
    """Tell whether a key may be the index of an array's item."""
    return len(key) <= MAX_DIGITS and _INDEX.fullmatch(key) is not None


def _may_be_array(members: dict[str, Value] | dict[str, object]) -> bool:
    """Tell cheaply: integer keys come first, so one look refuses nearly every object."""
    return "0" <= next(iter(members))[0] <= "9"
