"""JSON Patch and JSON Merge Patch over HTTP."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.server.live_server import Answer, LiveServer
from treedb.server.etags import tag_of

TABLE = json.loads((Path(__file__).parent.parent / "spec" / "json_patch.json").read_text())
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}
OWNER = {"Authorization": "Bearer owner"}
RULES = {
    "rules": {
        "open": {".read": True, ".write": True},
        "blind": {".write": True},
        "shown": {".read": True},
        "parts": {
            "seen": {".read": True, ".write": True},
            "secret": {".write": True},
        },
        "checked": {
            ".read": True,
            ".write": True,
            ".validate": "newData.child('from').val() + newData.child('to').val() === 10",
        },
    }
}


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    """Return a server with rules, and some values under them."""
    put = shared.ask("PUT", "/.settings/rules.json", json.dumps(RULES), OWNER)
    assert put.status == 200, put
    tree = {
        "open": {"n": 5, "list": ["a", "b", "c"], "o": {"x": 1}},
        "blind": {"n": 5},
        "shown": {"n": 5},
        "parts": {"seen": {"n": 5}, "secret": {"n": 5}},
        "checked": {"from": 10, "to": 0},
    }
    assert shared.ask("PUT", "/.json", json.dumps(tree), OWNER).status == 200
    return shared


def patch(server: LiveServer, target: str, body: object, kind: dict[str, str]) -> Answer:
    return server.ask("PATCH", target, json.dumps(body), kind)


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: row["says"])
def test_a_server_answers_the_table_of_shapes(server: LiveServer, row: dict[str, Any]) -> None:
    server.put("/open/t.json", row["before"])
    before = server.get("/open/t.json")
    answer = patch(server, "/open/t.json", row["patch"], JSON_PATCH)
    if "after" in row:
        assert (answer.status, answer.body) == (204, b""), answer
        assert server.get("/open/t.json") == row["after"]
        return
    assert answer.status == row["status"]
    for part in row["details"]:
        assert part in answer.json["detail"]
    assert answer.json.get("operation", 0) == row.get("operation", 0)
    assert server.get("/open/t.json") == before


# Which kind it is

KINDS = [
    ("application/json-patch+json", '[{"op":"remove","path":"/n"}]', 204),
    ("Application/JSON-Patch+JSON; charset=utf-8", '[{"op":"remove","path":"/n"}]', 204),
    ("application/json-patch+json", '{"n":1}', 400),
    ("application/merge-patch+json", '{"n":1}', 204),
    ("application/json", '{"n":1}', 200),
    ("application/json", '[{"op":"remove","path":"/n"}]', 400),
    ("text/plain", '{"n":1}', 200),
    ("application/x-www-form-urlencoded", '{"n":1}', 200),
]


@pytest.mark.parametrize("kind, body, status", KINDS)
def test_the_content_type_tells_the_kind_of_a_patch(
    server: LiveServer, kind: str, body: str, status: int
) -> None:
    assert server.ask("PATCH", "/open.json", body, {"Content-Type": kind}).status == status


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_with_another_method_the_content_type_means_nothing(
    server: LiveServer, method: str
) -> None:
    answer = server.ask(method, "/open/v.json", '[{"op":"remove"}]', JSON_PATCH)
    assert answer.status == 200


def test_a_post_may_be_a_patch(server: LiveServer) -> None:
    headers = {**JSON_PATCH, "X-HTTP-Method-Override": "PATCH"}
    body = '[{"op":"replace","path":"/n","value":6}]'
    assert server.ask("POST", "/open.json", body, headers).status == 204
    assert server.get("/open/n.json") == 6


def test_options_tells_the_kinds(server: LiveServer) -> None:
    answer = server.ask("OPTIONS", "/open.json")
    kinds = "application/json-patch+json, application/merge-patch+json"
    assert answer.headers["accept-patch"] == kinds


@pytest.mark.parametrize("kind", [JSON_PATCH, MERGE_PATCH])
@pytest.mark.parametrize("query", ["", "?print=silent", "?print=pretty", "?format=export"])
def test_the_answer_is_empty_however_it_is_to_be_printed(
    server: LiveServer, kind: dict[str, str], query: str
) -> None:
    body: object = [] if kind is JSON_PATCH else {"n": 6}
    answer = patch(server, f"/open.json{query}", body, kind)
    assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize("kind", [JSON_PATCH, MERGE_PATCH])
@pytest.mark.parametrize("body, text", [("", "Error: No data supplied."), ("{", "Invalid data; ")])
def test_a_body_that_is_no_json_is_refused(
    server: LiveServer, kind: dict[str, str], body: str, text: str
) -> None:
    answer = server.ask("PATCH", "/open.json", body, kind)
    assert answer.status == 400
    assert answer.json["error"].startswith(text)


# Conditions


def test_a_failed_test_is_409_with_its_number(server: LiveServer) -> None:
    body = [
        {"op": "test", "path": "/o/x", "value": 1},
        {"op": "replace", "path": "/o/x", "value": 2},
        {"op": "test", "path": "/n", "value": 4},
    ]
    answer = patch(server, "/open.json", body, JSON_PATCH)
    assert (answer.status, answer.json) == (
        409,
        {
            "error": "The patch does not fit the value.",
            "detail": 'Operation 2, test "/n": the value there is another.',
            "operation": 2,
        },
    )
    assert server.get("/open/o/x.json") == 1


def test_of_patches_that_race_each_sees_what_the_others_did(server: LiveServer) -> None:
    """Each patch moves one unit; a test of both places makes it safe, and losers try again."""

    def move(_: int) -> int:
        tries = 0
        while True:
            tries += 1
            seen = server.get("/checked.json")
            body = [
                {"op": "test", "path": "/from", "value": seen["from"]},
                {"op": "test", "path": "/to", "value": seen["to"]},
                {"op": "replace", "path": "/from", "value": seen["from"] - 1},
                {"op": "replace", "path": "/to", "value": seen["to"] + 1},
            ]
            answer = patch(server, "/checked.json", body, JSON_PATCH)
            if answer.status == 204:
                return tries
            assert answer.status == 409

    with ThreadPoolExecutor(5) as pool:
        assert sum(pool.map(move, range(10))) >= 10
    assert server.get("/checked.json") == {"from": 0, "to": 10}


@pytest.mark.parametrize(
    "kind, body",
    [(JSON_PATCH, [{"op": "replace", "path": "/x", "value": 2}]), (MERGE_PATCH, {"x": 2})],
)
def test_a_standard_patch_may_be_conditional(
    server: LiveServer, kind: dict[str, str], body: object
) -> None:
    stale = patch(server, "/open/o.json", body, {**kind, "if-match": "other"})
    assert (stale.status, stale.json, stale.headers["etag"]) == (412, {"x": 1}, tag_of({"x": 1}))
    fresh = {**kind, "if-match": tag_of({"x": 1})}
    assert patch(server, "/open/o.json", body, fresh).status == 204
    assert patch(server, "/open/o.json", body, fresh).status == 412
    assert server.get("/open/o.json") == {"x": 2}


def test_the_tag_of_a_patch_is_not_told(server: LiveServer) -> None:
    answer = patch(server, "/open.json", [], {**JSON_PATCH, "X-Firebase-ETag": "true"})
    assert answer.status == 400


# Rules

PERMITTED = [
    ("/blind.json", [{"op": "test", "path": "/n", "value": 5}], 401),
    ("/blind.json", [{"op": "test", "path": "/n", "value": 6}], 401),
    ("/blind.json", [{"op": "remove", "path": "/n"}], 401),
    ("/blind.json", [{"op": "remove", "path": "/no"}], 401),
    ("/blind.json", [{"op": "replace", "path": "/no", "value": 1}], 401),
    ("/blind.json", [{"op": "add", "path": "/m", "value": 1}], 401),
    ("/blind.json", [{"op": "add", "path": "", "value": {"m": 1}}], 204),
    ("/shown.json", [{"op": "test", "path": "/n", "value": 5}], 204),
    ("/shown.json", [{"op": "test", "path": "/n", "value": 6}], 409),
    ("/shown.json", [{"op": "replace", "path": "/n", "value": 6}], 401),
    ("/parts.json", [{"op": "replace", "path": "/seen/n", "value": 6}], 204),
    ("/parts.json", [{"op": "replace", "path": "/secret/n", "value": 6}], 401),
    ("/parts.json", [{"op": "copy", "from": "/secret/n", "path": "/seen/m"}], 401),
    ("/parts.json", [{"op": "move", "from": "/secret/n", "path": "/seen/m"}], 401),
    ("/parts.json", [{"op": "copy", "from": "/seen/n", "path": "/secret/m"}], 401),
    ("/parts/seen.json", [{"op": "copy", "from": "/n", "path": "/m"}], 204),
    ("/checked.json", [{"op": "replace", "path": "/to", "value": 1}], 401),
    (
        "/checked.json",
        [
            {"op": "copy", "from": "/from", "path": "/to"},
            {"op": "replace", "path": "/from", "value": 0},
        ],
        204,
    ),
]


@pytest.mark.parametrize("target, body, status", PERMITTED)
def test_rules_bind_what_a_json_patch_looks_at_and_what_it_changes(
    server: LiveServer, target: str, body: object, status: int
) -> None:
    answer = patch(server, target, body, JSON_PATCH)
    assert answer.status == status
    if status == 401:
        assert answer.json == {"error": "Permission denied"}


@pytest.mark.parametrize(
    "target, status", [("/blind.json", 204), ("/shown.json", 401), ("/checked.json", 401)]
)
def test_a_merge_patch_needs_the_permission_to_write_alone(
    server: LiveServer, target: str, status: int
) -> None:
    assert patch(server, target, {"m": 1, "from": 3}, MERGE_PATCH).status == status


def test_a_denial_tells_why_to_those_who_may_know(server: LiveServer) -> None:
    body = [{"op": "test", "path": "/n", "value": 5}]
    answer = patch(server, "/blind.json?explain=1", body, JSON_PATCH)
    assert "read /blind/n" in answer.json["explanation"]
    body = [{"op": "replace", "path": "/n", "value": 6}]
    answer = patch(server, "/shown.json?explain=1", body, JSON_PATCH)
    assert "patch /shown" in answer.json["explanation"]


# One commit


@pytest.mark.parametrize(
    "kind, body",
    [
        (
            JSON_PATCH,
            [{"op": "remove", "path": "/n"}, {"op": "add", "path": "/list/0", "value": 1}],
        ),
        (MERGE_PATCH, {"n": None, "o": {"y": {"z": 2}}}),
    ],
)
def test_a_patch_is_one_commit(server: LiveServer, kind: dict[str, str], body: object) -> None:
    database = server.databases._databases["default"]
    before = database.revision
    assert patch(server, "/open.json", body, kind).status == 204
    assert database.revision == before + 1


def test_a_patch_that_changes_nothing_is_no_commit(server: LiveServer) -> None:
    database = server.databases._databases["default"]
    before = database.revision
    body = [{"op": "test", "path": "/n", "value": 5}]
    assert patch(server, "/open.json", body, JSON_PATCH).status == 204
    assert database.revision == before


def test_a_merge_patch_merges(server: LiveServer) -> None:
    body = {"n": None, "o": {"x": None, "y": [1]}, "list": {"1": "B"}, "at": {".sv": "timestamp"}}
    assert patch(server, "/open.json", body, MERGE_PATCH).status == 204
    after = server.get("/open.json")
    assert after.pop("at") > 1_700_000_000_000
    assert after == {"list": ["a", "B", "c"], "o": {"y": [1]}}
