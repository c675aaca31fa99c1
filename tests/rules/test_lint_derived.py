"""Mirrors and counts that nobody reads, or whose values no rule lets stand, are warned of."""

import json
from typing import Any

import pytest

from treedb.rules.lint import lint
from treedb.rules.loader import parse_rules

READ = {".read": "auth != null"}
UNREAD = "No client may read {}: no .read is above it, at it or below."
NEVER = "No client can make an entry: no value suits /a/$x and /b/$x."
UNCOUNTED = "No client can add to /b: /n takes no number."


def warnings_of(tree: object) -> list[str]:
    return [found.message for found in lint(parse_rules(json.dumps({"rules": tree})))]


def mirrored(source: dict[str, Any], target: dict[str, Any], value: str = "copy") -> dict[str, Any]:
    mirror = {".mirror": {"to": "/b/$x", "value": value}}
    return {**READ, "a": {"$x": {**mirror, **source}}, "b": {"$x": target}}


def valid(expression: object) -> dict[str, Any]:
    return {".validate": expression}


# Who reads it

READABLE = [
    {".read": "auth != null"},
    {"b": {".read": "auth != null"}},
    {"b": {"$other": {".read": "auth != null"}}},
    {"b": {"named": {".read": "auth != null"}}},
    {"b": {"$other": {"since": {".read": "auth != null"}}}},
    {"$any": {"$other": {".read": "auth != null"}}},
]
UNREADABLE: list[dict[str, Any]] = [
    {},
    {".read": False},
    {"b": {".read": "false"}},
    {"c": {".read": "auth != null"}},
    {"b": {".write": "auth != null"}, "$any": {".read": "auth != null"}},
]


@pytest.mark.parametrize("rules", READABLE, ids=json.dumps)
def test_a_target_that_somebody_may_read_is_fine(rules: dict[str, Any]) -> None:
    assert warnings_of({"a": {"$x": {".mirror": "/b/$x"}}, **rules}) == []


@pytest.mark.parametrize("rules", UNREADABLE, ids=json.dumps)
def test_a_target_that_nobody_may_read_is_told(rules: dict[str, Any]) -> None:
    assert warnings_of({"a": {"$x": {".mirror": "/b/$x"}}, **rules}) == [UNREAD.format("/b/$x")]


def test_a_count_that_nobody_may_read_is_told_where_it_stands() -> None:
    text = '{"rules": {\n  "b": {".read": "auth != null",\n    ".count": "/n"}}}'
    [found] = lint(parse_rules(text))
    assert (found.line, found.column, found.message) == (3, 15, UNREAD.format("/n"))
    assert (found.place, found.hint) == ("/b .count", "put one where it is to be read")


# What gets through

CLASHING = [
    (valid("newData.isString()"), valid("newData.isNumber()"), "copy"),
    (valid("newData.isString() && newData.val() != ''"), valid("newData.val() == true"), "copy"),
    (valid("newData.hasChildren(['since'])"), valid("true === newData.val()"), "copy"),
    (valid("newData.hasChild('since')"), valid("newData.isBoolean()"), "copy"),
    (valid("newData.val() == 'x'"), valid("newData.val() == 5"), "copy"),
    ({}, valid(False), "copy"),
    ({}, valid(False), "true"),
    (valid("false"), {}, "true"),
    ({}, valid("newData.isString()"), "true"),
    ({}, valid("newData.hasChildren()"), "true"),
    ({}, valid("newData.val() == null"), "copy"),
]
SUITING = [
    ({}, {}, "copy"),
    ({}, {}, "true"),
    ({}, valid(True), "copy"),
    (valid("newData.isString()"), valid("newData.isString()"), "copy"),
    (valid("newData.hasChildren(['since'])"), valid("newData.val() === true"), "true"),
    (valid("newData.isString() || newData.isNumber()"), valid("newData.isBoolean()"), "copy"),
    (valid("newData.isNumber()"), valid("newData.val() < 'x'"), "copy"),
    (valid("data.isString()"), valid("newData.isNumber()"), "copy"),
    (valid("newData.child('x').isString()"), valid("newData.isNumber()"), "copy"),
    (valid("newData.val() != 'x'"), valid("newData.isNumber()"), "copy"),
]


@pytest.mark.parametrize("source, target, value", CLASHING, ids=json.dumps)
def test_sides_that_no_value_suits_are_told(
    source: dict[str, Any], target: dict[str, Any], value: str
) -> None:
    assert NEVER in warnings_of(mirrored(source, target, value))


@pytest.mark.parametrize("source, target, value", SUITING, ids=json.dumps)
def test_sides_that_a_value_may_suit_are_fine(
    source: dict[str, Any], target: dict[str, Any], value: str
) -> None:
    assert NEVER not in warnings_of(mirrored(source, target, value))


def test_a_closed_place_above_keeps_every_entry_out() -> None:
    rules = {**READ, "a": {"$x": {".mirror": "/b/$x/in"}}}
    closed = {"b": {"$x": {"name": {}, "$other": {".validate": False}}}}
    message = "No client can make an entry: no value suits /a/$x and /b/$x/in."
    assert warnings_of({**rules, **closed}) == [message]
    opened = {"b": {"$x": {"name": {}, "in": {}, "$other": {".validate": False}}}}
    assert warnings_of({**rules, **opened}) == []


def test_a_closed_child_beside_a_name_closes_no_more_than_itself() -> None:
    assert warnings_of({**READ, **mirrored({}, {}), "b": {"k": {".validate": False}}}) == []


def test_the_warning_leads_to_the_rules_that_clash() -> None:
    text = """{"rules": {".read": "auth != null",
  "a": {"$x": {".mirror": "/b/$x", ".validate": "newData.isNumber()"}},
  "b": {"$x": {".validate": "newData.isString()"}}}}"""
    [found] = lint(parse_rules(text))
    assert (found.line, found.column, found.place) == (2, 27, "/a/$x .mirror")
    assert found.hint == "see the .validate at 2:50 and 3:30"


@pytest.mark.parametrize("expression", ["newData.isString()", False, "newData.val() == true"])
def test_a_count_that_must_be_no_number_is_told(expression: object) -> None:
    rules = {**READ, "b": {".count": "/n"}, "n": valid(expression)}
    assert warnings_of(rules) == [UNCOUNTED]


@pytest.mark.parametrize("expression", ["newData.isNumber()", True, "newData.val() <= 100"])
def test_a_count_that_may_be_a_number_is_fine(expression: object) -> None:
    assert warnings_of({**READ, "b": {".count": "/n"}, "n": valid(expression)}) == []
