import json
from typing import Any

import pytest

from treedb.errors import InvalidData
from treedb.paths.path import Path
from treedb.rules.cases import (
    Outcome,
    format_outcomes,
    query_variables,
    read_cases,
    run_cases,
)
from treedb.rules.loader import parse_rules
from treedb.rules.scope import REALTIME_READ, QueryVariables
from treedb.writes.derive import derive

RULES = parse_rules(
    json.dumps(
        {
            "rules": {
                "rooms": {
                    "$room": {
                        ".read": "data.child('open').val() == true || query.limitToFirst <= 5",
                        ".write": "auth.uid == 'zoe'",
                        "open": {".validate": "newData.isBoolean()"},
                        "count": {".validate": "newData.val() == data.val() + 1"},
                        "at": {".validate": "newData.val() == now"},
                    }
                }
            }
        }
    )
)
FILE: dict[str, Any] = {
    "data": {"rooms": {"r1": {"open": True, "count": 4}}},
    "users": {"zoe": {"uid": "zoe"}, "nobody": None},
    "tests": [],
}


def run(*tests: dict[str, Any], **members: Any) -> tuple[Outcome, ...]:
    return run_cases(RULES, read_cases({**FILE, **members, "tests": list(tests)}), derive)


PASSING = [
    {"read": "/rooms/r1", "expect": "allow"},
    {"read": "/rooms/r2", "expect": "deny"},
    {"read": "/rooms/r2", "query": {"limitToFirst": 5}, "expect": "allow"},
    {"read": "/rooms/r1", "data": None, "expect": "deny"},
    {"as": "zoe", "set": "/rooms/r1/open", "value": False, "expect": "allow"},
    {"as": "zoe", "set": "/rooms/r1/open", "value": "no", "expect": "deny"},
    {"as": "nobody", "set": "/rooms/r1/open", "value": False, "expect": "deny"},
    {"as": {"uid": "zoe"}, "remove": "/rooms/r1", "expect": "allow"},
    {"as": {"uid": "max"}, "remove": "/rooms/r1", "expect": "deny"},
    {"as": None, "remove": "/rooms/r1", "expect": "deny"},
    {"as": "zoe", "set": "/rooms/r1/open/.priority", "value": 1, "expect": "allow"},
    {"as": "zoe", "update": "/", "value": {"rooms/r1/open": True, "/rooms/r2/open": False},
     "expect": "allow"},
    {"as": "zoe", "update": "/", "value": {"rooms/r1/open": True, "other": 1}, "expect": "deny"},
    {"as": "zoe", "set": "/rooms/r1/count", "value": {".sv": {"increment": 1}}, "expect": "allow"},
    {"as": "zoe", "set": "/rooms/r1/count", "value": {".sv": {"increment": 2}}, "expect": "deny"},
    {"as": "zoe", "set": "/rooms/r1/at", "value": {".sv": "timestamp"}, "expect": "allow"},
    {"as": "zoe", "set": "/rooms/r1/at", "value": 5, "now": 5, "expect": "allow"},
]  # fmt: skip


@pytest.mark.parametrize("test", PASSING, ids=json.dumps)
def test_a_case_passes_when_the_rules_say_what_is_expected(test: dict[str, Any]) -> None:
    [outcome] = run(test)
    assert outcome.passed
    [other] = run({**test, "expect": {"allow": "deny", "deny": "allow"}[test["expect"]]})
    assert not other.passed


REFUSED = [
    ([], "the file is an object"),
    ({}, 'the file has no "tests": they are an array of objects'),
    ({"tests": [], "rules": {}}, "the file has no 'rules'"),
    ({"tests": [1]}, "test 1: the test is an object"),
    ({"tests": [{"expect": "allow"}]}, "test 1: it has one of read, set, update, remove"),
    ({"tests": [{"read": "/", "set": "/", "expect": "allow"}]}, "test 1: it has one of read"),
    ({"tests": [{"read": "/"}]}, 'test 1: "expect" is "allow" or "deny"'),
    ({"tests": [{"read": "/", "expect": True}]}, 'test 1: "expect" is "allow" or "deny"'),
    ({"tests": [{"read": 5, "expect": "allow"}]}, "test 1: the path of 'read' is a string"),
    ({"tests": [{"read": "/a.b", "expect": "allow"}]}, "test 1: "),
    ({"tests": [{"set": "/", "expect": "allow"}]}, 'test 1: it has no "value"'),
    ({"tests": [{"read": "/", "expect": "allow", "at": 1}]}, "test 1: the test has no 'at'"),
    ({"tests": [{"read": "/", "expect": "allow", "as": "max"}]}, "test 1: there is no 'max'"),
    ({"tests": [{"read": "/", "expect": "allow", "now": "x"}]}, 'test 1: "now" is'),
    (
        {"tests": [{"read": "/", "expect": "allow", "query": {"limit": 1}}]},
        "test 1: a query has no 'limit'",
    ),
    ({"data": {"a.b": 1}, "tests": [{"read": "/", "expect": "allow"}]}, "test 1: "),
]


@pytest.mark.parametrize("document, message", REFUSED)
def test_a_wrong_file_is_refused_naming_the_test(document: object, message: str) -> None:
    with pytest.raises(InvalidData) as refusal:
        read_cases(document)
    assert refusal.value.reason.startswith(message)


WRONG_WRITES = [
    {"update": "/rooms", "value": 1, "expect": "deny"},
    {"set": "/rooms/.priority", "value": {"a": 1}, "expect": "deny"},
    {"set": "/rooms", "value": {"a.b": 1}, "expect": "deny"},
]


@pytest.mark.parametrize("test", WRONG_WRITES, ids=json.dumps)
def test_a_write_that_is_none_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(InvalidData):
        run(test)


GROUPS = parse_rules("""{"rules": {
  "users": {"$uid": {"groups": {"$gid": {
    ".write": "auth.uid == $uid",
    ".mirror": "/groups/$gid/members/$uid"
  }}}},
  "groups": {
    "$gid": {
      ".write": "auth.uid == 'owner'",
      "members": {
        ".read": "data.hasChild(auth.uid)",
        ".count": "/groups/$gid/memberCount",
        "$uid": {".validate": "newData.val() == true"}
      },
      "memberCount": {".validate": "newData.val() <= 2"}
    }
  }
}}""")
ALPHA = "/users/zoe/groups/alpha"
MIRRORED = [
    # The other side is asked whether it is valid, and not who may write there.
    ({"set": ALPHA, "value": True, "expect": "allow"}, None),
    ({"set": ALPHA, "value": "x", "expect": "deny"}, None),
    # So is the count that comes of both.
    ({"set": ALPHA, "value": True, "expect": "allow"}, {"users": {"max": {"groups": {"alpha": True}}}}),
    ({"set": ALPHA, "value": True, "expect": "deny"}, {"groups": {"alpha": {"members": {"max": True, "ann": True}}}}),
    # The data has both sides, whichever is written down.
    ({"read": "/groups/alpha/members", "expect": "deny"}, None),
    ({"read": "/groups/alpha/members", "expect": "allow"}, {"users": {"zoe": {"groups": {"alpha": True}}}}),
    # What the server refuses is not allowed, whatever the rules say.
    ({"as": {"uid": "owner"}, "set": "/groups/alpha/memberCount", "value": 1, "expect": "deny"}, None),
    ({"as": {"uid": "owner"}, "set": "/groups/alpha", "value": {"memberCount": 1}, "expect": "allow"}, None),
]  # fmt: skip


@pytest.mark.parametrize("test, data", MIRRORED, ids=json.dumps)
def test_a_write_is_judged_with_what_the_server_adds(test: dict[str, Any], data: Any) -> None:
    document = {"data": data, "tests": [{"as": {"uid": "zoe"}, **test}]}
    [outcome] = run_cases(GROUPS, read_cases(document), derive)
    assert outcome.passed, outcome.explanation.to_text()


def count_set_by(uid: str) -> str:
    test = {"as": {"uid": uid}, "set": "/groups/alpha/memberCount", "value": 1, "expect": "deny"}
    [outcome] = run_cases(GROUPS, read_cases({"tests": [test]}), derive)
    return outcome.explanation.reason


def test_why_the_server_refuses_a_write_is_told_to_who_may_write_there() -> None:
    assert count_set_by("owner") == (
        "the server refuses it: /groups/alpha/memberCount is the number of children of "
        "/groups/alpha/members, which the server keeps; leave it out"
    )
    assert count_set_by("zoe") == (
        "no .write rule on the path to /groups/alpha/memberCount is true"
    )


def test_data_that_contradicts_its_mirrors_is_refused() -> None:
    data = {
        "users": {"zoe": {"groups": {"alpha": 1}}},
        "groups": {"alpha": {"members": {"zoe": 2}}},
    }
    document = {"data": data, "tests": [{"read": "/", "expect": "deny"}]}
    with pytest.raises(InvalidData) as refusal:
        run_cases(GROUPS, read_cases(document), derive)
    assert refusal.value.reason.startswith("the data: /users/zoe/groups/alpha and ")


def test_outcomes_are_listed_and_failures_explained() -> None:
    outcomes = run(
        {"name": "open rooms are readable", "read": "/rooms/r1", "expect": "allow"},
        {"read": "/rooms/r2", "expect": "allow"},
    )
    lines = format_outcomes(outcomes).split("\n")
    assert lines[0] == "ok 1 open rooms are readable"
    assert lines[1] == "FAILED 2 read /rooms/r2 #2"
    assert lines[2] == "    expected to be allowed"
    assert lines[3] == "    DENIED read /rooms/r2"
    assert "    hint: .read at /rooms/r2 failed in 'query.limitToFirst <= 5': " in "\n".join(lines)
    assert lines[-1] == "1 passed, 1 failed"


def test_a_query_without_an_order_is_by_priority() -> None:
    assert query_variables({}) == REALTIME_READ
    assert query_variables({"orderByChild": "who", "equalTo": "zoe"}) == QueryVariables(
        order_by_child="who", equal_to="zoe"
    )
    assert query_variables({"orderByKey": True, "startAt": "a"}) == QueryVariables(
        order_by_key=True, start_at="a"
    )


def test_cases_know_their_operation() -> None:
    [case] = read_cases({"tests": [{"as": {"uid": "x"}, "remove": "/a", "expect": "deny"}]})
    assert (case.operation, case.path, case.auth) == ("remove", Path(("a",)), {"uid": "x"})
    assert case.allowed is False
