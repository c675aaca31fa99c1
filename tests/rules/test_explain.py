import json
from typing import Any

import pytest

from treedb.paths.path import Path
from treedb.rules.explanation import Explanation
from treedb.rules.loader import parse_rules
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value

NOW = 1_700_000_000_000
ZOE = {"uid": "zoe"}


def explained_read(tree: object, path: str, data: Value = None, auth: Any = None) -> Explanation:
    rules = parse_rules(json.dumps({"rules": tree}))
    return rules.explain_read(Path.parse(path), ValueReader(data), auth=auth, now_ms=NOW)


def explained_write(
    tree: object, changes: dict[str, Value], data: Value = None, **options: Any
) -> Explanation:
    rules = parse_rules(json.dumps({"rules": tree}))
    patch = Patch.of(
        (Path.parse(path, allow_priority=True), value) for path, value in changes.items()
    )
    before = ValueReader(data)
    options.setdefault("auth", None)
    return rules.explain_write(patch, before, Overlay(before, patch), now_ms=NOW, **options)


def outcomes(explanation: Explanation) -> list[tuple[str, str, str]]:
    return [
        (asked.rule.access.value, "/" + "/".join(asked.at), asked.verdict)
        for target in explanation.targets
        for asked in target.asked
    ]


def test_after_a_grant_further_rules_are_listed_but_not_asked() -> None:
    tree = {"a": {".read": "data.val() > 1", "b": {".read": True, "c": {".read": "auth != null"}}}}
    found = explained_read(tree, "/a/b/c", {"a": "s"})
    assert found.allowed
    assert outcomes(found) == [
        (".read", "/a", "error"),
        (".read", "/a/b", "true"),
        (".read", "/a/b/c", "skipped(already granted)"),
    ]
    assert found.reason.startswith("granted by .read at /a/b (1:")


def test_rules_below_the_place_are_listed_when_nothing_grants() -> None:
    tree = {"a": {".read": False, "b": {".read": True}, "$x": {"c": {".read": True}}}}
    found = explained_read(tree, "/a")
    assert outcomes(found) == [
        (".read", "/a", "false"),
        (".read", "/a/b", "skipped(below target)"),
        (".read", "/a/$x/c", "skipped(below target)"),
    ]
    assert found.reason == "no .read rule on the path to /a is true"


def test_a_place_without_rules_is_told_so() -> None:
    assert explained_read({}, "/a").reason == "there is no .read rule on the path to /a"
    assert explained_write({}, {"/a": 1}).reason == "there is no .write rule on the path to /a"


def test_every_rule_of_a_write_has_its_outcome_or_why_it_was_not_asked() -> None:
    tree = {
        ".write": "auth != null",
        "e": {
            ".validate": "newData.hasChildren(['a', 'b'])",
            "a": {".validate": "newData.isString()"},
            "b": {".validate": "newData.isNumber()"},
            "c": {".validate": "newData.isBoolean()"},
        },
        "f": {".validate": "true"},
    }
    found = explained_write(tree, {"/e": {"a": "x", "b": "y"}}, auth=ZOE)
    assert not found.allowed
    assert outcomes(found) == [
        (".write", "/", "true"),
        (".validate", "/f", "skipped(not carried by the write)"),
        (".validate", "/e", "true"),
        (".validate", "/e/c", "skipped(new value is null)"),
        (".validate", "/e/a", "true"),
        (".validate", "/e/b", "false"),
    ]
    assert found.reason.startswith(".validate at /e/b (1:")
    assert found.reason.endswith(" is false")


def test_a_removal_is_not_validated() -> None:
    tree = {"e": {".write": True, ".validate": False}}
    found = explained_write(tree, {"/e": None}, {"e": 1})
    assert found.allowed
    assert outcomes(found)[1] == (".validate", "/e", "skipped(new value is null)")


def test_every_place_of_an_update_is_a_target() -> None:
    tree = {"u": {"$k": {".write": "$k == auth.uid"}}, "log": {".write": False}}
    found = explained_write(
        tree,
        {"/u/zoe/n": 1, "/log/l1": "x"},
        auth=ZOE,
        operation="update",
        path=Path(()),
    )
    assert [(str(target.path), target.allowed) for target in found.targets] == [
        ("/log/l1", False),
        ("/u/zoe/n", True),
    ]
    assert found.reason == "no .write rule on the path to /log/l1 is true"
    assert (found.operation, str(found.path)) == ("update", "/")


def test_a_place_that_is_denied_for_want_of_rules_is_a_target() -> None:
    tree = {"b": {".write": True}}
    found = explained_write(tree, {"/b": None, "/a/.priority": None}, {"b": 1})
    assert [(str(target.path), target.allowed) for target in found.targets] == [
        ("/b", True),
        ("/a/.priority", False),
    ]


MIRRORED = {
    "a": {"$x": {".write": True, ".mirror": "/b/$x"}},
    "b": {"$x": {".write": False, ".validate": "newData.isString()"}, ".count": "/n"},
}


def test_what_the_server_adds_is_only_validated() -> None:
    found = explained_write(MIRRORED, {"/a/k": 1, "/b/k": 1, "/n": 1}, named=[Path(("a", "k"))])
    assert not found.allowed
    named, mirrored, counted = found.targets
    assert (str(named.path), named.is_named, named.derivation) == ("/a/k", True, None)
    assert (str(mirrored.path), mirrored.is_named) == ("/b/k", False)
    assert str(mirrored.derivation) == "derived from /a/k by the mirror at 1:52"
    assert [asked.rule.access.value for asked in mirrored.asked] == [".validate"]
    assert (str(counted.path), counted.asked) == ("/n", ())
    assert str(counted.derivation) == "derived from /b by the count at 1:139"
    assert found.reason == (
        ".validate at /b/k (1:107) is false, and /b/k is derived from /a/k by the mirror at 1:52"
    )


def test_derived_places_are_shown_in_part_when_there_are_many() -> None:
    tree = {"a": {".write": True, "$x": {".mirror": "/b/$x"}}}
    keys = [f"k{number:04}" for number in range(2000)]
    changes: dict[str, Value] = {"/a": dict.fromkeys(keys, True)}
    found = explained_write(
        tree, {**changes, **{f"/b/{key}": True for key in keys}}, named=[Path(("a",))]
    )
    assert (found.allowed, found.is_cut) == (True, True)
    assert len(found.targets) == 500


def test_a_huge_write_is_explained_in_part() -> None:
    tree = {"a": {".write": True, "$k": {".validate": "newData.isNumber()"}}}
    value: Value = {f"k{number:04}": 1 for number in range(2000)}
    found = explained_write(tree, {"/a": value})
    assert found.allowed
    assert found.is_cut
    assert len(outcomes(found)) == 500


@pytest.mark.parametrize("last", [1, "s"])
def test_what_is_not_shown_still_counts(last: object) -> None:
    tree = {"a": {".write": True, "$k": {".validate": "newData.isNumber()"}}}
    value: Value = {f"k{number:04}": 1 for number in range(2000)} | {"l": last}  # type: ignore[assignment]
    assert explained_write(tree, {"/a": value}).allowed is (last == 1)
