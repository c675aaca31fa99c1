"""What waits for the end of a session is what the SDK's own copy of it would be."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive_tree import NaiveTree
from tests.tree.strategies import any_paths, places, values
from treedb.auth.identity import Auth
from treedb.config import DEFAULT_LIMITS
from treedb.errors import PayloadTooLarge
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Authority
from treedb.rules.loader import parse_rules
from treedb.store.kept_sessions import Entries, KeptSession, decode_session
from treedb.tree.overlay import Overlay
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, children, is_object, with_value_at
from treedb.writes.on_disconnect import encode_checked, plan_end, with_cancel, with_set

NOW = 1_700_000_000_000
OPEN = Authority.of(parse_rules('{"rules": {".write": true}}'), counting=False)
TIMESTAMP: Value = {".sv": "timestamp"}
ONE_MORE: Value = {".sv": {"increment": 1}}
CANCEL = object()


def asked(*steps: tuple[str, Any]) -> dict[str, Value]:
    """Return what waits after sets and cancels, by the texts of the places."""
    entries: Entries = {}
    for text, value in steps:
        path = Path.parse(text, allow_priority=True)
        entries = with_cancel(entries, path) if value is CANCEL else with_set(entries, path, value)
    return {path.format(): value for path, value in entries.items()}


WITH_PRIORITY: Value = {".value": 5, ".priority": 1}


@pytest.mark.parametrize(
    "steps, waiting",
    [
        # The scenario of the Android SDK's test.
        (
            [("/foo", {"bar": 1, "baz": 2}), ("/foo/bam", 3), ("/foo/baz", None)],
            {"/foo": {"bam": 3, "bar": 1}},
        ),
        ([("/a", 1), ("/b", 2)], {"/a": 1, "/b": 2}),
        ([("/a", 1), ("/a", 2)], {"/a": 2}),
        ([("/a/b", 1), ("/a/c/d", 2), ("/a", 3)], {"/a": 3}),
        ([("/a/b", 1), ("/", None)], {"/": None}),
        ([("/a/b", 1), ("/a/.priority", 2)], {"/a/b": 1, "/a/.priority": 2}),
        ([("/a/.priority", 2), ("/a", 3)], {"/a": 3}),
        ([("/a", 5), ("/a/.priority", 1)], {"/a": WITH_PRIORITY}),
        ([("/a", WITH_PRIORITY), ("/a/.priority", None)], {"/a": 5}),
        ([("/a", {"b": 1}), ("/a/.priority", 1)], {"/a": {".priority": 1, "b": 1}}),
        ([("/a", None), ("/a/.priority", 1)], {"/a": None}),
        ([("/a", None), ("/a/b", 1)], {"/a": {"b": 1}}),
        ([("/a", {"b": 1}), ("/a/b", None)], {"/a": None}),
        ([("/a", WITH_PRIORITY), ("/a/b", 1)], {"/a": {".priority": 1, "b": 1}}),
        ([("/a", 5), ("/a/b", None)], {"/a": 5}),
        # Server values are leaves, and may be priorities.
        ([("/a", TIMESTAMP), ("/a/b", 1)], {"/a": {"b": 1}}),
        ([("/a", TIMESTAMP), ("/a/b", None)], {"/a": TIMESTAMP}),
        (
            [("/a", TIMESTAMP), ("/a/.priority", ONE_MORE)],
            {"/a": {".value": TIMESTAMP, ".priority": ONE_MORE}},
        ),
        (
            [("/a", {"b": 1}), ("/a/.priority", TIMESTAMP), ("/a/c", ONE_MORE)],
            {"/a": {".priority": TIMESTAMP, "b": 1, "c": ONE_MORE}},
        ),
        (
            [("/a", {".value": TIMESTAMP, ".priority": 1}), ("/a/.priority", None)],
            {"/a": TIMESTAMP},
        ),
        # Cancels.
        ([("/a", 1), ("/b", 2), ("/", CANCEL)], {}),
        ([("/a/b", 1), ("/a/c", 2), ("/d", 3), ("/a", CANCEL)], {"/d": 3}),
        ([("/a/b", 1), ("/a/.priority", 2), ("/a", CANCEL)], {}),
        ([("/a", 1), ("/b", CANCEL)], {"/a": 1}),
        ([("/a", {"b": 1, "c": 2}), ("/a/b", CANCEL)], {"/a/c": 2}),
        ([("/a", {".priority": 1, "b": 1, "c": 2}), ("/a/b", CANCEL)], {"/a/c": 2}),
        ([("/a", {"b": {"x": 1, "y": 2}, "c": 2}), ("/a/b/x", CANCEL)], {"/a/b/y": 2, "/a/c": 2}),
        ([("/a", {"b": 1, "c": 2}), ("/a/b/x", CANCEL)], {"/a/b": 1, "/a/c": 2}),
        ([("/a", {"b": 1}), ("/a/x/y", CANCEL)], {"/a/b": 1}),
        ([("/a", 1), ("/a/b", CANCEL)], {"/a": 1}),
        ([("/a", WITH_PRIORITY), ("/a/.priority", CANCEL)], {"/a": WITH_PRIORITY}),
        ([("/a", TIMESTAMP), ("/a/b", CANCEL)], {"/a": TIMESTAMP}),
        ([("/a", None), ("/a/b", CANCEL)], {}),
        ([("/a", CANCEL), ("/a", 1)], {"/a": 1}),
    ],
)
def test_what_waits(steps: list[tuple[str, Any]], waiting: dict[str, Value]) -> None:
    found = asked(*steps)
    assert found == waiting
    for text, value in found.items():
        assert list_order(value) == list_order(waiting[text]), "in key order"


def list_order(value: Value) -> list[str]:
    return list(value) if isinstance(value, dict) else []


@dataclass
class SparseTree:
    """The SDK's `SparseSnapshotTree`, line by line; NOTHING is its null, None its empty node."""

    value: Any = CANCEL
    children: dict[str, "SparseTree"] = field(default_factory=dict)

    def remember(self, keys: tuple[str, ...], value: Value) -> None:
        if not keys:
            self.value, self.children = value, {}
        elif self.value is not CANCEL:
            self.value = with_value_at(self.value, keys, value)
        else:
            self.children.setdefault(keys[0], SparseTree()).remember(keys[1:], value)

    def forget(self, keys: tuple[str, ...]) -> None:
        if not keys:
            self.value, self.children = CANCEL, {}
        elif self.value is not CANCEL:
            if self.value is not None and not is_object(self.value):
                return
            value, self.value = self.value, CANCEL
            for key, child in children(value):
                self.remember((key,), child)
            self.forget(keys)
        elif keys[0] in self.children:
            self.children[keys[0]].forget(keys[1:])

    def entries(self, keys: tuple[str, ...] = ()) -> dict[Path, Value]:
        if self.value is not CANCEL:
            return {Path(keys): self.value}
        below: dict[Path, Value] = {}
        for key, child in self.children.items():
            below |= child.entries((*keys, key))
        return below


# A priority's value is a leaf, any other place may have any value.
sets = st.builds(
    lambda path, value, leaf: (path, leaf if path.is_priority else value),
    any_paths,
    values,
    st.sampled_from([None, 1, "p"]),
)
histories = st.lists(sets | places.map(lambda keys: (Path(keys), CANCEL)), max_size=8)


@given(histories)
def test_any_history_is_kept_as_the_sdk_keeps_it(history: list[tuple[Path, Any]]) -> None:
    entries: Entries = {}
    oracle = SparseTree()
    for path, value in history:
        if value is CANCEL:
            entries = with_cancel(entries, path)
            oracle.forget(path.keys)
        else:
            entries = with_set(entries, path, value)
            oracle.remember(path.keys, value)
        assert entries == oracle.entries()


@given(values, st.lists(st.tuples(places, values), max_size=6))
def test_without_cancels_the_end_is_as_if_all_had_been_set_one_after_the_other(
    before: Value, history: list[tuple[tuple[str, ...], Value]]
) -> None:
    naive = NaiveTree()
    naive.set((), before)
    tree = ValueReader(before)
    entries: Entries = {}
    for keys, value in history:
        naive.set(keys, value)
        entries = with_set(entries, Path(keys), value)
    patch = plan_end(KeptSession(None, entries), tree, OPEN, NOW)
    # One patch is one change: a node that loses all its children and gets others keeps its
    # priority, which sets one by one would remove with the last child.
    assert without_priorities(Overlay(tree, patch).get(ROOT)) == without_priorities(naive.get(()))


def without_priorities(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if ".value" in value:
        return value[".value"]
    return {key: without_priorities(each) for key, each in value.items() if key != ".priority"}


def planned(rules: str, entries: dict[str, Value], before: Value, auth: Auth | None) -> Any:
    session = KeptSession(
        auth, {Path.parse(text, allow_priority=True): value for text, value in entries.items()}
    )
    authority = Authority.of(parse_rules(rules), counting=False)
    patch = plan_end(session, ValueReader(before), authority, NOW)
    return {path.format(): value for path, value in patch.changes}


def test_server_values_are_those_of_the_end() -> None:
    entries: dict[str, Value] = {"/at": TIMESTAMP, "/count": ONE_MORE, "/new": {"n": ONE_MORE}}
    found = planned('{"rules": {".write": true}}', entries, {"count": 4}, None)
    assert found == {"/at": NOW, "/count": 5, "/new": {"n": 1}}


RULES = """{"rules": {
  "own": {"$uid": {".write": "auth.uid === $uid"}},
  "open": {".write": true, "small": {".validate": "newData.val() < 10"}},
  "once": {".write": "!data.parent().child('open').exists()"}
}}"""


@pytest.mark.parametrize(
    "auth, before, left_out",
    [
        (Auth("mchen", {}, False, None), None, {"/own/hmadi"}),
        (Auth("mchen", {}, False, 1), None, {"/own/hmadi"}),  # it counted while it lasted
        (None, None, {"/own/hmadi", "/own/mchen"}),
        (Auth(None, {}, True, None), None, set()),
        (None, {"open": {"x": 1}}, {"/own/hmadi", "/own/mchen", "/once"}),
        (None, {"open": {"small": 9}}, {"/own/hmadi", "/own/mchen", "/once", "/open/small"}),
    ],
)
def test_each_place_is_asked_about_by_itself_on_the_tree_as_it_is(
    auth: Auth | None, before: Value, left_out: set[str]
) -> None:
    every: dict[str, Value] = {
        "/own/mchen": 1,
        "/own/hmadi": 2,
        "/open/x": 3,
        "/open/small": ONE_MORE,
        "/once": 4,
    }
    session = KeptSession(auth, {Path.parse(text): value for text, value in every.items()})
    authority = Authority.of(parse_rules(RULES), counting=False)
    kept = decode_session(encode_checked(session, DEFAULT_LIMITS))
    patch = plan_end(kept, ValueReader(before), authority, NOW)
    assert {path.format() for path, _ in patch.changes} == set(every) - left_out


def test_what_cannot_be_written_is_left_out() -> None:
    entries: dict[str, Value] = {
        "/nothing/.priority": 1,
        "/huge": {".sv": {"increment": 1e308}},
        "/fine": 1,
    }
    found = planned('{"rules": {".write": true}}', entries, {"huge": 1.5e308}, None)
    assert found == {"/fine": 1}


DERIVING = """{"rules": {
  ".write": true,
  "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}},
  "groups": {"$g": {"members": {".count": "/groups/$g/count"}}}
}}"""
GROUPS: Value = {
    "users": {"ann": {"groups": {"a": 1}}, "bob": {"groups": {"a": 1}}},
    "groups": {"a": {"count": 2, "members": {"ann": 1, "bob": 1}}},
}


def test_what_places_bring_with_them_is_counted_for_all_of_them_together() -> None:
    entries: dict[str, Value] = {
        "/users/ann/groups/a": None,
        "/groups/a/members/bob": None,
        "/groups/a/members/cat": ONE_MORE,
    }
    assert planned(DERIVING, entries, GROUPS, None) == {
        **entries,
        "/groups/a/members/ann": None,
        "/users/bob/groups/a": None,
        "/groups/a/members/cat": 1,
        "/users/cat/groups/a": 1,
        "/groups/a/count": 1,
    }


def test_of_places_that_contradict_one_another_the_first_is_written() -> None:
    entries: dict[str, Value] = {
        "/users/ann/groups/a": None,
        "/groups/a/members/ann": 5,
        "/users/zoe/name": "Zoe",
    }
    assert planned(DERIVING, entries, GROUPS, None) == {
        "/users/ann/groups/a": None,
        "/groups/a/members/ann": None,
        "/groups/a/count": 1,
        "/users/zoe/name": "Zoe",
    }


def test_what_may_wait_is_bounded() -> None:
    limits = replace(DEFAULT_LIMITS, on_disconnects_per_connection=2, on_disconnect_bytes=60)
    two: Entries = {Path(("a",)): 1, Path(("b",)): None}
    encode_checked(KeptSession(None, two), limits)
    with pytest.raises(PayloadTooLarge) as places_error:
        encode_checked(KeptSession(None, {**two, Path(("c",)): 1}), limits)
    assert places_error.value.reason == (
        "3 places would wait for the end of this connection, at most 2 are allowed; "
        "set one place above several of them"
    )
    with pytest.raises(PayloadTooLarge) as bytes_error:
        encode_checked(KeptSession(None, {**two, Path(("b",)): "x" * 60}), limits)
    assert bytes_error.value.reason == (
        "What waits for the end of this connection would take 74 bytes, at most 60 are allowed; "
        "have less written then"
    )
