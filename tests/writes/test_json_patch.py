"""A JSON Patch comes to what RFC 6902 says, on the value as it is read."""

import json
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.writes.patch_oracle import REFUSALS, applied, objects, operations
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import (
    InvalidPatch,
    PatchConflict,
    PayloadTooLarge,
    PermissionDenied,
    TooDeep,
    TreeError,
)
from treedb.paths.path import ROOT, Path
from treedb.tree.arrays import to_plain
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, normal_form
from treedb.writes.json_patch import parse_json_patch

NOW = 1_700_000_000_000
TABLE = json.loads((FilePath(__file__).parent.parent / "spec" / "json_patch.json").read_text())


def normal(raw: object) -> Value:
    return normal_form(raw, 0, DEFAULT_LIMITS).value


def patched(
    value: Value, patch: object, base: str = "/", limits: Limits = DEFAULT_LIMITS
) -> tuple[Value, dict[str, Value]]:
    """Return the tree after a patch of a place, and the changes that it came to."""
    place, reader = Path.parse(base), ValueReader(value)
    parsed = parse_json_patch(place, patch, limits)
    changes = parsed.changes(place, reader, lambda _: None, NOW)
    after = Overlay(reader, Patch.of(changes)).get(ROOT)
    return after, {path.format(): new for path, new in changes}


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: row["says"])
def test_the_table_of_shapes(row: dict[str, Any]) -> None:
    before = normal(row["before"])
    if "after" in row:
        assert to_plain(patched(before, row["patch"])[0]) == row["after"]
        return
    with pytest.raises(InvalidPatch if row["status"] == 400 else PatchConflict) as caught:
        patched(before, row["patch"])
    assert caught.value.http_status == row["status"]
    for part in row["details"]:
        assert part in caught.value.detail
    if isinstance(caught.value, PatchConflict):
        assert caught.value.operation == row.get("operation", 0)


@pytest.mark.parametrize(
    "row",
    [row for row in TABLE["rows"] if "differs" not in row and row["before"] is not None],
    ids=lambda row: row["says"],
)
def test_the_table_says_what_another_implementation_does(row: dict[str, Any]) -> None:
    if "after" not in row:
        with pytest.raises((*REFUSALS, TypeError)):
            jsonpatch.JsonPatch(row["patch"]).apply(row["before"])
        return
    after = jsonpatch.JsonPatch(row["patch"]).apply(row["before"])
    assert to_plain(normal(after)) == row["after"]


@settings(max_examples=400)
@given(st.data())
def test_a_random_patch_comes_to_what_another_implementation_makes_of_it(
    data: st.DataObject,
) -> None:
    before = normal(data.draw(objects.filter(normal)))
    document = to_plain(before)
    patch = []
    for number in range(data.draw(st.integers(1, 6))):
        operation = data.draw(
            operations(document).filter(lambda each: (each["op"], each["path"]) != ("remove", ""))
        )
        patch.append(operation)
        try:
            document = applied(document, operation)
        except REFUSALS:
            with pytest.raises((PatchConflict, InvalidPatch)) as caught:
                patched(before, patch)
            if isinstance(caught.value, PatchConflict):
                assert caught.value.operation == number
            return
    assert patched(before, patch)[0] == normal(document)


# What is changed is what the patch touched, and no more.

WITH_PRIORITIES: Value = {
    "list": {"0": {".value": "x", ".priority": 1}, "1": "y", ".priority": 9},
    "o": {".priority": 5, "a": 1, "b": {"c": 2}},
}
CHANGES = [
    ([{"op": "add", "path": "/o/n", "value": 1}], {"/o/n": 1}),
    ([{"op": "test", "path": "/o/a", "value": 1}], {}),
    ([{"op": "add", "path": "/o/n", "value": 1}, {"op": "remove", "path": "/o/n"}], {}),
    ([{"op": "add", "path": "/list/-", "value": "z"}], {"/list/2": "z"}),
    ([{"op": "remove", "path": "/list/0"}], {"/list/0": "y", "/list/1": None}),
    (
        [{"op": "add", "path": "/list/0", "value": "w"}],
        {"/list/0": "w", "/list/1": {".value": "x", ".priority": 1}, "/list/2": "y"},
    ),
    (
        [{"op": "move", "from": "/o", "path": "/p"}],
        {"/o": None, "/p": {".priority": 5, "a": 1, "b": {"c": 2}}},
    ),
    (
        [
            {"op": "remove", "path": "/o/b/c"},
            {"op": "copy", "from": "/o", "path": "/p"},
            {"op": "replace", "path": "/o/a", "value": 7},
        ],
        {"/o/b/c": None, "/p": {".priority": 5, "a": 1}, "/o/a": 7},
    ),
    (
        [{"op": "add", "path": "/list/-", "value": "z"}, {"op": "move", "from": "/list", "path": "/l"}],
        {"/list": None, "/l": {".priority": 9, "0": {".value": "x", ".priority": 1}, "1": "y", "2": "z"}},
    ),
    (
        [{"op": "add", "path": "/n", "value": {".value": 1, ".priority": 2}}, {"op": "test", "path": "/n", "value": 1}],
        {"/n": {".value": 1, ".priority": 2}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("patch, changes", CHANGES)
def test_only_what_is_touched_changes(patch: object, changes: dict[str, Value]) -> None:
    before = {**WITH_PRIORITIES, "list": normal(WITH_PRIORITIES["list"])}  # type: ignore[dict-item,index]
    assert patched(before, patch)[1] == changes


def test_pointers_are_relative_to_the_place_that_is_patched() -> None:
    assert patched({"a": {"b": 1}}, [{"op": "replace", "path": "/b", "value": 2}], "/a")[1] == {
        "/a/b": 2
    }


# Server values

SERVER_VALUES = [
    ([{"op": "add", "path": "/t", "value": {".sv": "timestamp"}}], {"/t": NOW}),
    ([{"op": "add", "path": "/t", "value": [{".sv": "timestamp"}]}], {"/t": {"0": NOW}}),
    ([{"op": "replace", "path": "/n", "value": {".sv": {"increment": 2}}}], {"/n": 7}),
    ([{"op": "replace", "path": "/n", "value": {".sv": {"increment": 2}}}] * 3, {"/n": 11}),
    ([{"op": "add", "path": "/m", "value": {"x": {".sv": {"increment": 2}}}}], {"/m": {"x": 2}}),
    ([{"op": "replace", "path": "/o", "value": {"n": {".sv": {"increment": 2}}}}], {"/o": {"n": 3}}),
    ([{"op": "add", "path": "/l/0", "value": {".sv": {"increment": 2}}}], {"/l/0": 2, "/l/1": 3}),
    ([{"op": "replace", "path": "/l/0", "value": {".sv": {"increment": 2}}}], {"/l/0": 5}),
    (
        [{"op": "replace", "path": "/p", "value": {".value": 1, ".priority": {".sv": {"increment": 2}}}}],
        {"/p": {".value": 1, ".priority": 6}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("patch, changes", SERVER_VALUES)
def test_a_server_value_is_filled_in_when_its_operation_is_done(
    patch: object, changes: dict[str, Value]
) -> None:
    before: Value = {"l": {"0": 3}, "n": 5, "o": {"n": 1}, "p": {".value": 1, ".priority": 4}}
    assert patched(before, patch)[1] == changes


# Permission to look

LOOKS = [
    ([{"op": "test", "path": "/o/a", "value": 1}], ["/o/a"]),
    ([{"op": "replace", "path": "/o/a", "value": 1}], ["/o/a"]),
    ([{"op": "remove", "path": "/o/a"}], ["/o/a"]),
    ([{"op": "remove", "path": "/list/0"}], ["/list/0", "/list"]),
    ([{"op": "add", "path": "/o/n", "value": 1}], ["/o"]),
    ([{"op": "add", "path": "", "value": 1}], []),
    ([{"op": "copy", "from": "/o/a", "path": "/n"}], ["/o/a", "/"]),
    ([{"op": "move", "from": "/list/0", "path": "/o/n"}], ["/list/0", "/list", "/o"]),
    ([{"op": "test", "path": "/no/thing", "value": 1}], ["/no/thing"]),
]


@pytest.mark.parametrize("patch, looks", LOOKS)
def test_an_operation_needs_the_permission_to_read_what_it_looks_at(
    patch: object, looks: list[str]
) -> None:
    before: Value = {"list": normal(["x"]), "o": {"a": 1}}
    parsed = parse_json_patch(ROOT, patch, DEFAULT_LIMITS)
    for missing in looks:

        def ask(place: Path, missing: str = missing) -> None:
            if place.format() == missing or place == ROOT:
                raise PermissionDenied

        with pytest.raises(PermissionDenied):
            parsed.changes(ROOT, ValueReader(before), ask, NOW)

    def ask_all(place: Path) -> None:
        if place.format() not in looks:
            raise PermissionDenied

    with suppress(PatchConflict):  # where there is nothing, that is told
        parsed.changes(ROOT, ValueReader(before), ask_all, NOW)


def test_who_may_read_the_document_is_asked_for_once() -> None:
    asked: list[Path] = []
    patch = [{"op": "test", "path": "/o/a", "value": 1}] * 5
    parse_json_patch(ROOT, patch, DEFAULT_LIMITS).changes(
        ROOT, ValueReader({"o": {"a": 1}}), asked.append, NOW
    )
    assert asked == [ROOT]


# Limits

SMALL = Limits(patch_operations=3, nodes_per_write=50, patch_items=5)
DEEP: Any = 1
for _ in range(31):
    DEEP = {"d": DEEP}
TOO_MUCH: list[tuple[object, Limits, type[TreeError], str]] = [
    ([{"op": "remove", "path": "/a"}] * 4, SMALL, PayloadTooLarge, "4 operations, at most 3"),
    (
        [{"op": "add", "path": "/a", "value": [1] * 40}] * 2,
        SMALL,
        PayloadTooLarge,
        "82 nodes, at most 50",
    ),
    (
        [{"op": "copy", "from": "/big", "path": "/x"}, {"op": "copy", "from": "/big", "path": "/y"}],
        SMALL,
        PayloadTooLarge,
        "more than 50 nodes",
    ),
    ([{"op": "copy", "from": "/text", "path": "/x"}], SMALL, PayloadTooLarge, "more than 50 nodes"),
    ([{"op": "remove", "path": "/items/0"}], SMALL, PayloadTooLarge, "/items has more than 5"),
    ([{"op": "remove", "path": "/d" * 33}], DEFAULT_LIMITS, InvalidPatch, "33 levels below"),
    ([{"op": "add", "path": "/x/y", "value": DEEP}], DEFAULT_LIMITS, TooDeep, "Operation 0: "),
    ([{"op": "copy", "from": "", "path": "/a/b"}] * 40, DEFAULT_LIMITS, TooDeep, "levels below"),
    (
        [
            {"op": "add", "path": "/m", "value": {"a": {}, "b": {}}},
            *[
                {"op": "copy", "from": "/m", "path": f"/m/{key}"}
                for _ in range(40)
                for key in "ab"
            ],
        ],
        Limits(nodes_per_write=1000),
        PayloadTooLarge,
        "more than 1000 nodes",
    ),
]  # fmt: skip


@pytest.mark.parametrize("patch, limits, error, told", TOO_MUCH)
def test_a_patch_has_limits(
    patch: object, limits: Limits, error: type[TreeError], told: str
) -> None:
    before: Value = {
        "a": {"b": 1},
        "big": {f"k{number}": 1 for number in range(24)},
        "items": normal(list(range(1, 8))),
        "text": "x" * 5000,
    }
    with pytest.raises(error) as caught:
        patched(before, patch, limits=limits)
    assert told in caught.value.detail


def test_what_the_patch_brought_costs_as_often_as_it_is_looked_at() -> None:
    brought = {"op": "add", "path": "/x", "value": [[1] * 30]}
    looks = [
        {"op": "copy", "from": "/x", "path": "/y"},
        {"op": "test", "path": "/y/0/0", "value": 1},
    ]
    limits = Limits(nodes_per_write=500)
    with pytest.raises(PayloadTooLarge, match="more than 500 nodes"):
        patched({"a": 1}, [brought, *(looks * 20)], limits=limits)
