import json
from typing import Any

from treedb.paths.path import Path
from treedb.rules.explanation import Explanation
from treedb.rules.loader import parse_rules
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value

NOW = 1_700_000_000_000
RULES = """{"rules": {
  "u": {"$k": {
    ".write": "$k == auth.uid",
    ".validate": "newData.val() > 5"
  }},
  "log": {".write": "root.child('admins').child(auth.uid).val() == true"},
  "o": {".read": "data.val() == null || auth.token.size / 0 > now"}
}}"""
ZOE = {"uid": "zoe", "token": {"secret": "s3cret"}}


def update(changes: dict[str, Value], data: Value = None) -> Explanation:
    rules = parse_rules(RULES)
    patch = Patch.of((Path.parse(path), value) for path, value in changes.items())
    before = ValueReader(data)
    return rules.explain_write(
        patch,
        before,
        Overlay(before, patch),
        auth=ZOE,
        now_ms=NOW,
        operation="update",
        path=Path(()),
    )


def read(path: str, data: Value, auth: Any = None) -> Explanation:
    return parse_rules(RULES).explain_read(
        Path.parse(path), ValueReader(data), auth=auth, now_ms=NOW
    )


def test_an_explanation_is_plain_json() -> None:
    found = update({"/u/zoe": "x", "/log/l1": 1}).to_json()
    assert json.loads(json.dumps(found)) == found
    assert found["allowed"] is False
    assert found["operation"] == "update"
    assert (found["path"], found["now"], found["auth"]) == ("/", NOW, ZOE)
    log, user = found["targets"]
    assert log["path"] == "/log/l1"
    assert log["write"] == {"granted": False}
    assert user["write"] == {
        "granted": True,
        "by": {"node": "/u/$k", "at": "/u/zoe", "line": 3, "col": 16},
    }
    assert user["validate"] == {
        "ok": False,
        "failed": [{"node": "/u/$k", "at": "/u/zoe", "line": 4, "col": 19}],
    }


def test_an_evaluation_tells_the_value_of_every_part() -> None:
    grant = update({"/u/zoe": 6}).to_json()["targets"][0]["evaluations"][0]
    assert grant == {
        "kind": "write",
        "node": "/u/$k",
        "at": "/u/zoe",
        "line": 3,
        "col": 16,
        "bindings": {"$k": "zoe"},
        "expr": "$k == auth.uid",
        "result": True,
        "trace": [
            {"span": [0, 14], "line": 3, "col": 16, "value": True},
            {"span": [0, 2], "line": 3, "col": 16, "value": "zoe"},
            {"span": [6, 14], "line": 3, "col": 22, "value": "zoe"},
            {"span": [6, 10], "line": 3, "col": 22, "value": ZOE},
        ],
    }


def test_a_failure_is_told_at_its_part() -> None:
    [_, validate] = update({"/u/zoe": "x"}).to_json()["targets"][0]["evaluations"]
    assert validate["result"] == "error"
    trace = {tuple(part["span"]): part for part in validate["trace"]}
    error = "> compares two numbers or two strings, found a string and a number."
    assert trace[0, 17]["error"] == error
    assert trace[0, 13]["value"] == "x"


def test_snapshots_and_children_say_what_they_are() -> None:
    [log] = update({"/log/l1": 1}, {"admins": {"max": True}}).to_json()["targets"]
    values = [part.get("value") for part in log["evaluations"][0]["trace"]]
    assert {"path": "/admins/zoe", "exists": False} in values
    assert {"path": "/admins", "exists": True} in values
    [target] = read("/o", {"o": {"x": 1}}).to_json()["targets"]
    parts = {tuple(part["span"]): part for part in target["evaluations"][0]["trace"]}
    assert parts[0, 10]["value"] == {"children": True}


def test_parts_that_were_not_evaluated_say_why() -> None:
    [target] = read("/o", None).to_json()["targets"]
    assert target["read"]["granted"] is True
    assert {part.get("skipped") for part in target["evaluations"][0]["trace"]} == {
        None,
        "short circuit",
    }
    [target] = read("/o", {"o": 1}).to_json()["targets"]
    reasons = {part.get("skipped") for part in target["evaluations"][0]["trace"]}
    assert reasons == {None, "after the error"}


def test_secrets_can_be_redacted() -> None:
    def redact(value: object) -> object:
        if isinstance(value, dict) and "token" in value:
            return {**value, "token": "(hidden)"}
        return value

    found = update({"/u/zoe": 6})
    assert "s3cret" in json.dumps(found.to_json())
    assert "s3cret" not in json.dumps(found.to_json(redact))


def test_claims_of_any_depth_can_be_shown() -> None:
    deep: Any = "bottom"
    for _ in range(900):
        deep = {"a": [deep]}
    found = read("/o", None, {"uid": "zoe", "token": deep})
    assert "bottom" not in json.dumps(found.to_json())
    assert "..." in json.dumps(found.to_json())
    assert found.to_text()


def test_numbers_that_json_has_not_are_written_as_text() -> None:
    rules = parse_rules('{"rules": {".read": "1 / 0 > now / 0"}}')
    found = rules.explain_read(Path(()), ValueReader(None), auth=None, now_ms=NOW)
    assert '"nan"' in json.dumps(found.to_json())


TEXT = """\
DENIED update /
  as {"uid": "zoe", "token": {"secret": "s3cret"}}
  at 1700000000000
  .validate at /u/zoe (4:19) failed

/u/zoe
  /u/$k .write at /u/zoe (3:16) => true
      $k == auth.uid  => true
      $k  => "zoe"
      auth.uid  => "zoe"
      auth  => {"uid": "zoe", "token": {"secret": "s3cret"}}
  /u/$k .validate at /u/zoe (4:19) => error
      newData.val() > 5  => error: > compares two numbers or two strings, found a string and a number.
      newData.val()  => "x"
      newData  => /u/zoe (exists)

hint: .validate at /u/zoe failed in 'newData.val() > 5': > compares two numbers or two strings, found a string and a number."""


def test_an_explanation_reads_well() -> None:
    assert update({"/u/zoe": "x"}).to_text() == TEXT


GROUPS = """{"rules": {
  "users": {"$uid": {"groups": {"$gid": {
    ".write": "auth.uid == $uid",
    ".mirror": "/groups/$gid/members/$uid"
  }}}},
  "groups": {"$gid": {
    "closed": {".validate": "newData.isBoolean()"},
    "members": {"$uid": {".validate": "newData.parent().parent().child('closed').val() != true"}}
  }}
}}"""
JOINED = """\
DENIED set /users/zoe/groups/alpha
  as {"uid": "zoe"}
  at 1700000000000
  .validate at /groups/alpha/members/zoe (8:40) is false, and /groups/alpha/members/zoe is derived \
from /users/zoe/groups/alpha by the mirror at 4:16

/groups/alpha/members/zoe
  (derived from /users/zoe/groups/alpha by the mirror at 4:16; only .validate is asked)
  /groups/$gid/closed .validate at /groups/alpha/closed (7:30) => skipped(not carried by the write)
  /groups/$gid/members/$uid .validate at /groups/alpha/members/zoe (8:40) => false
      newData.parent().parent().child('closed').val() != true  => false
      newData.parent().parent().child('closed').val()  => true
      newData.parent().parent().child('closed')  => /groups/alpha/closed (exists)
      newData.parent().parent()  => /groups/alpha (exists)
      newData.parent()  => /groups/alpha/members (exists)
      newData  => /groups/alpha/members/zoe (exists)

/users/zoe/groups/alpha
  (named by the client)
  /users/$uid/groups/$gid .write at /users/zoe/groups/alpha (3:16) => true
      auth.uid == $uid  => true
      auth.uid  => "zoe"
      auth  => {"uid": "zoe"}
      $uid  => "zoe"
"""


def join() -> Explanation:
    named, derived = Path.parse("/users/zoe/groups/alpha"), Path.parse("/groups/alpha/members/zoe")
    before = ValueReader({"groups": {"alpha": {"closed": True}}})
    patch = Patch.of([(named, True), (derived, True)])
    return parse_rules(GROUPS).explain_write(
        patch,
        before,
        Overlay(before, patch),
        auth={"uid": "zoe"},
        now_ms=NOW,
        named=[named],
        operation="set",
        path=named,
    )


def test_a_write_with_derived_places_tells_which_the_client_named() -> None:
    assert f"{join().to_text()}\n" == JOINED


def test_a_derived_place_has_its_origin_and_its_declaration() -> None:
    derived, named = join().to_json()["targets"]
    assert derived["derived"] == {
        "by": "mirror",
        "from": "/users/zoe/groups/alpha",
        "line": 4,
        "col": 16,
    }
    assert "write" not in derived
    assert derived["validate"]["ok"] is False
    assert named["write"]["granted"] is True
    assert "derived" not in named


def test_nobody_is_shown_as_nobody() -> None:
    text = read("/u", None).to_text()
    assert text.startswith("DENIED read /u\n  as nobody (auth is null)\n")


def test_long_values_are_cut_in_the_text() -> None:
    text = read("/o", {"o": "y" * 10_000}).to_text()
    assert len(text) < 2000
    assert "(10002 characters)" in text


def test_expressions_over_lines_are_shown_on_one() -> None:
    rules = parse_rules('{"rules": {".read": "auth != null\n  &&   now > 1"}}')
    text = rules.explain_read(Path(()), ValueReader(None), auth={}, now_ms=NOW).to_text()
    assert "auth != null && now > 1  => true" in text
