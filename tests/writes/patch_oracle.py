"""Random JSON Patches that mostly fit, and what the package `jsonpatch` makes of them."""

import copy
from collections.abc import Iterator
from typing import Any

import jsonpatch
import jsonpointer
from hypothesis import strategies as st

# Few, so that random pointers meet; some are indexes, one is what stands behind an array.
KEYS = ("a", "b", "0", "1", "2", "-", "~x", "é")
LEAVES = st.none() | st.sampled_from(("", "x", "10")) | st.integers(-3, 3) | st.booleans()
REFUSALS = (
    jsonpatch.JsonPatchException,
    jsonpointer.JsonPointerException,
)

keys = st.sampled_from(KEYS)
values = st.recursive(
    LEAVES | st.just(1.0) | st.just(-0.0),
    lambda inner: st.dictionaries(keys, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(keys, values, min_size=1, max_size=4)


def applied(document: Any, operation: dict[str, Any]) -> Any:
    """Return the document after one operation; one of REFUSALS is raised when it cannot be done."""
    patch = jsonpatch.JsonPatch([copy.deepcopy(operation)])
    return patch.apply(copy.deepcopy(document))


def places_in(document: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the places that a document has, and one behind each array."""
    yield above
    if isinstance(document, dict):
        for key, child in document.items():
            yield from places_in(child, (*above, key))
    if isinstance(document, list):
        yield (*above, "-")
        for index, child in enumerate(document):
            yield from places_in(child, (*above, str(index)))


@st.composite
def operations(draw: st.DrawFn, document: Any) -> dict[str, Any]:
    """Draw an operation whose pointers mostly lead somewhere in the document."""
    places = list(places_in(document))
    pointers = st.sampled_from(places) | st.builds(
        lambda place, key: (*place, key), st.sampled_from(places), keys
    )
    name = draw(st.sampled_from(("add", "remove", "replace", "move", "copy", "test")))
    operation: dict[str, Any] = {"op": name, "path": draw(pointers)}
    if name in ("move", "copy"):
        operation["from"] = draw(pointers)
    if name in ("add", "replace"):
        operation["value"] = draw(values)
    if name == "test":
        there = at(document, operation["path"])
        operation["value"] = draw(st.just(there) | values)
    for member in ("path", "from"):
        if member in operation:
            operation[member] = jsonpointer.JsonPointer.from_parts(operation[member]).path
    return operation


def at(document: Any, place: tuple[str, ...]) -> Any:
    """Return what is at a place, None when there is nothing."""
    found = jsonpointer.JsonPointer.from_parts(place).resolve(document, None)
    return None if isinstance(found, jsonpointer.EndOfList) else copy.deepcopy(found)
