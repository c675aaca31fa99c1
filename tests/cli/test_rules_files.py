import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from treedb.cli.rules_files import (
    Question,
    Report,
    check,
    explain,
    load_rules,
    read_text,
    run_tests,
)
from treedb.config import DEFAULT_LIMITS
from treedb.errors import WrongUse
from treedb.rules.ruleset import Ruleset

GOOD = """{
  // Notes of people.
  "rules": {
    "notes": {
      "$uid": {
        ".read": "auth != null && auth.uid == $uid || query.limitToFirst <= 5",
        ".write": "auth != null && auth.uid == $uid",
        ".validate": "newData.isString() && newData.val().length <= data.parent().child('max').val()",
      }
    }
  }
}
"""

# Each line tells what is wrong in it, and at which column.
PLANTED = """{
  "rules": {
    "rooms": {
      ".read": "atuh != null",
      "$room": {
        ".write": "newData.child('name').val()",
        "name": {".validate": "newData.isString() && newData.val().length() < 80"},
        "$other": {".valdate": false},
        "open": {".read": "data.val() = true"}
      }
    }
  }
}
"""
PLANTED_AT = [
    "4:17: Unknown variable 'atuh'.",
    "6:20: Expression must evaluate to a boolean.",
    "7:54: Type error: Function call on target that is not a function.",
    "8:32: Expected '{'.",
    "9:39: Rule expressions may not contain assignments.",
]

QUESTION = Question("read", "/notes/zoe", None, None, None, None, now_ms=1_700_000_000_000)


@pytest.fixture
def good(tmp_path: Path) -> str:
    return written(tmp_path / "rules.json", GOOD)


def written(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


# Checking


def test_each_of_five_planted_mistakes_is_listed_at_its_line_and_column(tmp_path: Path) -> None:
    file = written(tmp_path / "rules.json", PLANTED)
    report = check(file)
    found = [line for line in report.text.splitlines() if line.startswith(f"{file}:")]
    assert report.code == 1
    assert len(found) == len(PLANTED_AT) + 1
    for line, expected in zip(found, PLANTED_AT, strict=False):
        assert line.startswith(f"{file}:{expected}"), line
    assert found[-1] == f"{file}: 5 mistakes"


def test_a_caret_stands_below_each_mistake(tmp_path: Path) -> None:
    report = check(written(tmp_path / "rules.json", PLANTED))
    lines = report.text.splitlines()[:-1]
    marked = []
    for shown, below in zip(lines[1::3], lines[2::3], strict=True):
        marked.append(shown[below.index("^") :][:12])
    assert marked == [
        "atuh != null",
        "newData.chil",
        "newData.val(",
        "false},",
        '= true"}',
    ]


def test_a_file_without_mistakes_is_said_to_have_none(good: str) -> None:
    report = check(good)
    assert (report.text, report.code) == (f"{good}: no mistakes, no warnings", 0)


def test_warnings_are_listed_and_are_no_failure(tmp_path: Path) -> None:
    file = written(tmp_path / "rules.json", '{"rules": {".read": true}}')
    report = check(file)
    assert report.code == 0
    assert report.text == (
        f"{file}:1:21: warning: Everybody may read the whole database. (/ .read)\n"
        '    {"rules": {".read": true}}\n'
        "                        ^ put the rule where it is needed\n"
        f"{file}: no mistakes, 1 warning"
    )


GROUPS = """{"rules": {
  "users": {"$uid": {".read": "auth.uid == $uid", "groups": {"$gid": {
    ".write": "auth.uid == $uid",
    ".mirror": "/groups/$gid/members/$uid"
  }}}},
  "groups": {"$gid": {
    "members": {".count": "/groups/$gid/memberCount"},
    "memberCount": {".read": "auth != null"}
  }}
}}
"""


@pytest.fixture
def groups(tmp_path: Path) -> str:
    return written(tmp_path / "groups.json", GROUPS)


def test_what_mirrors_and_counts_mean_is_told_before_the_warnings(groups: str) -> None:
    report = check(groups)
    assert report.code == 0
    assert report.text == (
        f"{groups}:4:16: mirror: /users/$uid/groups/$gid exists exactly when "
        "/groups/$gid/members/$uid does, with the same value\n"
        f"{groups}:7:27: count: /groups/$gid/memberCount is the number of children of "
        "/groups/$gid/members\n"
        f"{groups}:4:16: warning: No client may read /groups/$gid/members/$uid: no .read is above "
        "it, at it or below. (/users/$uid/groups/$gid .mirror)\n"
        '    ".mirror": "/groups/$gid/members/$uid"\n'
        "               ^ put one where it is to be read\n"
        f"{groups}: no mistakes, 1 warning"
    )


def test_a_list_that_was_cut_says_so(tmp_path: Path) -> None:
    most = DEFAULT_LIMITS.rules_findings
    rules = {f"k{number}": {".read": "x"} for number in range(most + 5)}
    file = written(tmp_path / "rules.json", json.dumps({"rules": rules}))
    assert check(file).text.endswith(f"{file}: {most} mistakes, and there may be more")


def test_standard_input_is_a_file_named_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"rules": 1}')))
    report = check("-")
    assert report.text.startswith("stdin:1:11: Expected '{'.")


def test_the_text_is_read_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_bytes('\ufeff{"rules":\r\n{}}'.encode())
    assert read_text(str(file)) == '\ufeff{"rules":\r\n{}}'


def test_a_file_that_cannot_be_read_is_wrong_use(tmp_path: Path) -> None:
    absent, binary = str(tmp_path / "absent"), tmp_path / "binary"
    binary.write_bytes(b'{"r\xff')
    with pytest.raises(WrongUse, match=f"^{absent} cannot be read: No such file or directory.$"):
        check(absent)
    with pytest.raises(WrongUse, match=f"^{binary} is not UTF-8 from byte 3 on.$"):
        check(str(binary))


def test_rules_are_loaded_or_their_mistakes_reported(tmp_path: Path, good: str) -> None:
    assert isinstance(load_rules(good), Ruleset)
    refused = load_rules(written(tmp_path / "wrong.json", "{}"))
    assert isinstance(refused, Report)
    assert refused.code == 1


# Explaining


def ask(file: str, **parts: Any) -> str:
    return explain(file, replace(QUESTION, **parts), as_json=False).text


@pytest.mark.parametrize(
    "parts, verdict",
    [
        ({}, "DENIED read /notes/zoe"),
        ({"auth": "max"}, "DENIED read /notes/zoe"),
        ({"auth": "null"}, "DENIED read /notes/zoe"),
        ({"auth": "zoe"}, "ALLOWED read /notes/zoe"),
        ({"auth": '{"uid": "zoe"}'}, "ALLOWED read /notes/zoe"),
        ({"query": '{"orderByKey": true, "limitToFirst": 5}'}, "ALLOWED read /notes/zoe"),
        ({"query": '{"limitToFirst": 6}'}, "DENIED read /notes/zoe"),
        (
            {"operation": "write", "value": '"hello"', "auth": "zoe", "data": '{"notes":{"max":5}}'},
            "ALLOWED set /notes/zoe",
        ),
        (
            {"operation": "write", "value": '"hello!"', "auth": "zoe", "data": '{"notes":{"max":5}}'},
            "DENIED set /notes/zoe",
        ),
        ({"operation": "write", "value": "null", "auth": "zoe"}, "ALLOWED set /notes/zoe"),
        (
            {"operation": "update", "path": "/", "value": '{"notes/zoe": null}', "auth": "zoe"},
            "ALLOWED update /",
        ),
        (
            {"operation": "update", "path": "/", "value": '{"notes/max": null}', "auth": "zoe"},
            "DENIED update /",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_a_question_is_answered_by_the_rules(
    good: str, parts: dict[str, Any], verdict: str
) -> None:
    assert ask(good, **parts).startswith(f"{verdict}\n")


def test_the_explanation_has_the_rule_and_its_values(good: str) -> None:
    text = ask(good, auth="max")
    assert "/notes/$uid .read at /notes/zoe (6:19) => error" in text
    assert '$uid  => "zoe"' in text
    assert '  as {"uid": "max", "provider": null, "token": {"sub": "max"}}' in text
    assert "  at 1700000000000" in text


def test_data_may_be_in_a_file(tmp_path: Path, good: str) -> None:
    data = written(tmp_path / "data.json", '{"notes": {"max": 2, "at": {".sv": "timestamp"}}}')
    parts = {"operation": "write", "auth": "zoe", "data": data}
    assert ask(good, value='"ab"', **parts).startswith("ALLOWED")
    assert ask(good, value='"abc"', **parts).startswith("DENIED")


def test_the_value_may_come_from_standard_input(good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"null")))
    assert ask(good, operation="write", value="-", auth="zoe").startswith("ALLOWED")


def test_a_write_is_explained_with_what_the_server_adds(groups: str) -> None:
    parts = {"operation": "write", "path": "/users/zoe/groups/alpha", "value": "true"}
    text = ask(groups, **parts, auth="zoe", data='{"groups": {"alpha": {"name": "Alpha"}}}')
    assert text.startswith("ALLOWED set /users/zoe/groups/alpha\n")
    assert (
        "/groups/alpha/memberCount\n"
        "  (derived from /groups/alpha/members by the count at 7:27; only .validate is asked)\n"
        "\n"
        "/groups/alpha/members/zoe\n"
        "  (derived from /users/zoe/groups/alpha by the mirror at 4:16; only .validate is asked)\n"
        "\n"
        "/users/zoe/groups/alpha\n"
        "  (named by the client)\n"
    ) in text


def test_an_explanation_can_be_had_as_json(good: str) -> None:
    report = explain(good, replace(QUESTION, auth="zoe"), as_json=True)
    answer = json.loads(report.text)
    assert (answer["allowed"], answer["operation"], report.code) == (True, "read", 0)
    assert answer["targets"][0]["read"]["by"] == {
        "node": "/notes/$uid", "at": "/notes/zoe", "line": 6, "col": 19,
    }  # fmt: skip


def test_wrong_rules_are_listed_instead_of_an_answer(tmp_path: Path) -> None:
    report = explain(written(tmp_path / "wrong.json", PLANTED), QUESTION, as_json=True)
    assert report.code == 1
    assert report.text.endswith("wrong.json: 5 mistakes")


WRONG_QUESTIONS = [
    ({"operation": "set"}, "there is no operation 'set'; allowed: read, write, update."),
    ({"value": "1"}, "a read has no VALUE; leave it out."),
    ({"operation": "write"}, "write has no VALUE; give it as JSON, null to remove."),
    (
        {"operation": "write", "value": "hello"},
        "VALUE: the text is no JSON: ",
    ),
    (
        {"operation": "update", "value": "1"},
        "update has the VALUE 1; give an object of paths and their values.",
    ),
    ({"operation": "write", "value": "1", "query": "{}"}, "--query is for a read; leave it out."),
    ({"query": "5"}, "--query is 5; a JSON object is needed."),
    ({"query": '{"limit": 5}'}, "a query has no 'limit'"),
    ({"auth": ""}, "--auth is empty; give a user's id or JSON, or leave it out."),
    ({"auth": "{"}, "--auth: the text is no JSON: "),
    ({"data": "{"}, "--data: the text is no JSON: "),
    ({"data": "absent.json"}, "absent.json cannot be read: No such file or directory."),
    ({"data": '{"a.b": 1}'}, "The key 'a.b' holds '.'"),
    ({"path": "/a.b"}, "The key 'a.b' holds '.'"),
]


@pytest.mark.parametrize("parts, sentence", WRONG_QUESTIONS, ids=str)
def test_a_question_that_is_none_is_wrong_use(
    good: str, parts: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(WrongUse) as refused:
        ask(good, **parts)
    assert refused.value.reason.startswith(sentence)


def test_a_text_without_quotes_is_told_to_have_them(good: str) -> None:
    with pytest.raises(WrongUse, match=r"; a text has quotes of its own, as in '\"hello\"'$"):
        ask(good, operation="write", value="hello")


# Testing

TESTS: dict[str, Any] = {
    "users": {"zoe": {"uid": "zoe"}},
    "tests": [
        {"name": "own notes", "as": "zoe", "read": "/notes/zoe", "expect": "allow"},
        {"name": "others' notes", "as": "zoe", "read": "/notes/max", "expect": "deny"},
    ],
}
FAILING = {"name": "a wish", "as": "zoe", "remove": "/notes/max", "expect": "allow"}


def test_tests_that_pass_are_counted(tmp_path: Path, good: str) -> None:
    report = run_tests(good, written(tmp_path / "tests.json", json.dumps(TESTS)), as_json=False)
    assert report.text == "ok 1 own notes\nok 2 others' notes\n2 passed, 0 failed"
    assert report.code == 0


def test_a_test_that_fails_is_shown_with_its_rule_and_values(tmp_path: Path, good: str) -> None:
    document = {**TESTS, "tests": [*TESTS["tests"], FAILING]}
    report = run_tests(good, written(tmp_path / "tests.json", json.dumps(document)), as_json=False)
    assert report.code == 1
    assert (
        "FAILED 3 a wish\n    expected to be allowed\n    DENIED remove /notes/max" in report.text
    )
    assert "/notes/$uid .write at /notes/max (7:20) => false" in report.text
    assert '$uid  => "max"' in report.text
    assert report.text.endswith("2 passed, 1 failed")


def test_outcomes_can_be_had_as_json(tmp_path: Path, good: str) -> None:
    document = {**TESTS, "tests": [*TESTS["tests"], FAILING]}
    report = run_tests(good, written(tmp_path / "tests.json", json.dumps(document)), as_json=True)
    answer = json.loads(report.text)
    assert (answer["passed"], answer["failed"], report.code) == (2, 1, 1)
    [*_, last] = answer["tests"]
    assert (last["name"], last["expect"], last["passed"]) == ("a wish", "allow", False)
    assert last["explanation"]["allowed"] is False


def test_a_wrong_file_of_tests_is_wrong_use(tmp_path: Path, good: str) -> None:
    file = written(tmp_path / "tests.json", '{"tests": [{}]}')
    with pytest.raises(WrongUse) as refused:
        run_tests(good, file, as_json=False)
    assert refused.value.reason == (
        f"{file}: test 1: it has one of read, set, update, remove, with a path"
    )
    with pytest.raises(WrongUse, match=r"tests\.json: the text is no JSON"):
        run_tests(good, written(tmp_path / "tests.json", "{"), as_json=False)


def test_wrong_rules_are_listed_instead_of_outcomes(tmp_path: Path) -> None:
    wrong = written(tmp_path / "wrong.json", PLANTED)
    report = run_tests(wrong, "absent.json", as_json=False)
    assert (report.code, report.text[-10:]) == (1, "5 mistakes")
