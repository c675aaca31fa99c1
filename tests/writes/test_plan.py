"""A plan is a pure function of the write, the tree before it, and the time."""

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import DataStale, NoSuchNode, NotFinite, PatchConflict, PermissionDenied
from treedb.paths.path import Path
from treedb.rules.authority import SERVER, Authority, Caller
from treedb.rules.loader import parse_rules
from treedb.tree.hashing import node_hash
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value
from treedb.writes.plan import plan
from treedb.writes.request import (
    Write,
    json_patch_write,
    merge_patch_write,
    set_write,
    update_write,
)

NOW = 1_700_000_000_000
BEFORE = ValueReader({"a": {"n": 5, "s": "x"}, "b": True})


OPEN = Authority.of(parse_rules('{"rules": {".read": true, ".write": true}}'), counting=False)
LOCKED = Authority.of(parse_rules('{"rules": {}}'), counting=False)


def path(text: str) -> Path:
    return Path.parse(text, allow_priority=True)


def a_json_patch(text: str, *operations: dict[str, object]) -> Write:
    return json_patch_write(path(text), list(operations), DEFAULT_LIMITS)


def a_set(text: str, raw: object, expected_hash: str | None = None) -> Write:
    return set_write(path(text), raw, DEFAULT_LIMITS, expected_hash=expected_hash)


@pytest.mark.parametrize(
    ("write", "changes"),
    [
        (a_set("/a", {"x": 1}), {"/a": {"x": 1}}),
        (a_set("/a", None), {"/a": None}),
        (a_set("/a/t", {".sv": "timestamp"}), {"/a/t": NOW}),
        (a_set("/a/n", {".sv": {"increment": 2}}), {"/a/n": 7}),
        (a_set("/a/s", {".sv": {"increment": 2}}), {"/a/s": 2}),
        (a_set("/z", {"n": {".sv": {"increment": 1.5}}}), {"/z": {"n": 1.5}}),
        (a_set("/a/.priority", 3), {"/a/.priority": 3}),
        (a_set("/nothing/.priority", None), {"/nothing/.priority": None}),
        (
            update_write(path("/a"), {"n": {".sv": {"increment": -5}}, "s": None}, DEFAULT_LIMITS),
            {"/a/n": 0, "/a/s": None},
        ),
        (update_write(path("/a"), {}, DEFAULT_LIMITS), {}),
        (a_json_patch("/a", {"op": "move", "from": "/n", "path": "/m"}), {"/a/m": 5, "/a/n": None}),
        (a_json_patch("/a", {"op": "test", "path": "/n", "value": 5}), {}),
        (
            merge_patch_write(
                path("/"), {"a": {"n": {".sv": {"increment": 2}}}, "b": {}}, DEFAULT_LIMITS
            ),
            {"/a/n": 7, "/b": None},
        ),
    ],
)
def test_a_write_comes_to_a_patch(write: Write, changes: dict[str, Value]) -> None:
    patch = plan(write, BEFORE, OPEN, NOW).patch
    assert {place.format(): value for place, value in patch.changes} == changes


def test_a_transaction_holds_while_the_hash_is_right() -> None:
    right = node_hash(BEFORE.get(path("/a")))
    assert plan(a_set("/a", 1, right), BEFORE, OPEN, NOW).patch.changes == ((path("/a"), 1),)
    assert plan(a_set("/new", 1, ""), BEFORE, OPEN, NOW).patch.changes == ((path("/new"), 1),)


@pytest.mark.parametrize(("place", "stale"), [("/a", ""), ("/a", "AAAA"), ("/new", "AAAA")])
def test_a_transaction_with_another_hash_is_stale(place: str, stale: str) -> None:
    with pytest.raises(DataStale):
        plan(a_set(place, 1, stale), BEFORE, OPEN, NOW)


def test_nothing_cannot_have_a_priority() -> None:
    with pytest.raises(NoSuchNode, match="/nothing"):
        plan(a_set("/nothing/.priority", 1), BEFORE, OPEN, NOW)


def test_an_increment_past_the_largest_double_is_refused() -> None:
    reader = ValueReader({"n": 1.7e308})
    with pytest.raises(NotFinite):
        plan(a_set("/n", {".sv": {"increment": 1.7e308}}), reader, OPEN, NOW)


def test_the_rules_are_asked_about_the_resolved_values() -> None:
    rules = '{"rules": {"t": {".write": "newData.val() === now"}}}'
    authority = Authority.of(parse_rules(rules), counting=False)
    assert plan(a_set("/t", {".sv": "timestamp"}), BEFORE, authority, NOW).patch.changes
    with pytest.raises(PermissionDenied):
        plan(a_set("/t", NOW + 1), BEFORE, authority, NOW)


def test_a_stale_transaction_is_told_so_before_the_rules_are_asked() -> None:
    with pytest.raises(DataStale):
        plan(a_set("/a", 1, "AAAA"), BEFORE, LOCKED, NOW)


def test_an_update_of_nothing_needs_no_permission() -> None:
    assert (
        plan(update_write(path("/a"), {}, DEFAULT_LIMITS), BEFORE, LOCKED, NOW).patch.changes == ()
    )


def test_the_server_itself_is_not_bound_by_rules() -> None:
    write = set_write(path("/a"), 1, DEFAULT_LIMITS, caller=SERVER)
    assert plan(write, BEFORE, LOCKED, NOW).patch.changes


def test_a_denial_tells_why_only_to_who_may_know() -> None:
    for wants_reason in (False, True):
        caller = Caller(wants_reason=wants_reason)
        with pytest.raises(PermissionDenied) as denied:
            plan(set_write(path("/a"), 1, DEFAULT_LIMITS, caller=caller), BEFORE, LOCKED, NOW)
        assert bool(denied.value.detail) is wants_reason


def test_who_may_not_write_does_not_learn_whether_there_is_something_to_have_a_priority() -> None:
    for reader in (ValueReader(None), ValueReader({"a": 5})):
        with pytest.raises(PermissionDenied):
            plan(a_set("/a/.priority", 1), reader, LOCKED, NOW)


def test_a_patch_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PatchConflict):
        plan(a_json_patch("/a", {"op": "test", "path": "/n", "value": 6}), BEFORE, OPEN, NOW)


def test_a_patch_needs_the_permission_to_read_what_it_looks_at() -> None:
    blind = Authority.of(
        parse_rules('{"rules": {".write": true, "b": {".read": true}}}'), counting=False
    )
    readable = Authority.of(
        parse_rules('{"rules": {".write": true, ".read": true}}'), counting=False
    )
    seen = a_json_patch("/", {"op": "test", "path": "/b", "value": True})
    unseen = a_json_patch("/", {"op": "test", "path": "/a/n", "value": 5})
    assert plan(seen, BEFORE, blind, NOW).patch.changes == ()
    assert plan(unseen, BEFORE, readable, NOW).patch.changes == ()
    with pytest.raises(PermissionDenied):
        plan(unseen, BEFORE, blind, NOW)
