import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.live_server import LiveServer, live_server
from tests.server_process import wait_until
from treedb import __version__
from treedb.config import Settings
from treedb.server.namespaces import LOCKED_RULES, OPEN_RULES
from treedb.server.reserved import RULES

OWNER = {"Authorization": "Bearer owner"}
PLACES = ["/.settings/rules.json", "/.settings/x", "/.inspect/coverage", "/.inspect/x.json"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("reserved")) as running:
        yield running


def test_health_says_how_durable_writes_are(server: LiveServer) -> None:
    answer = server.ask("GET", "/.health")
    assert answer.status == 200
    assert answer.json == {"status": "ok", "durability": "fsync", "version": __version__}


def test_health_shows_the_switch_that_lowers_it(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", dev=True, unsafe_no_fsync=True)
    with live_server(tmp_path, settings=settings) as server:
        assert server.get("/.health")["durability"] == "unsafe_no_fsync"


def test_health_is_only_read(server: LiveServer) -> None:
    answer = server.ask("POST", "/.health", "1")
    assert (answer.status, answer.json) == (405, {"error": "Method Not Allowed"})
    assert server.ask("HEAD", "/.health").status == 200


@pytest.mark.parametrize("target", PLACES)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_only_an_administrator_may_ask(server: LiveServer, method: str, target: str) -> None:
    answer = server.ask(method, target, "1")
    assert (answer.status, answer.json) == (401, {"error": "Permission denied"})


@pytest.mark.parametrize("target", ["/.settings/x", "/.inspect/x.json"])
def test_an_administrator_is_told_what_there_is(server: LiveServer, target: str) -> None:
    answer = server.ask("GET", target, headers=OWNER)
    assert answer.status == 404
    assert answer.json["detail"].startswith(target)
    assert RULES in answer.json["detail"]


def test_a_new_namespace_shows_the_default_rules(server: LiveServer) -> None:
    answer = server.ask("GET", f"{RULES}?ns=fresh", headers=OWNER)
    assert (answer.status, answer.text) == (200, OPEN_RULES)


TEXT = '\ufeff// whose rules\r\n{"rules": {\t".read": "auth != null", // all\n }}\n'


def test_rules_are_kept_byte_for_byte_and_shown_strictly(server: LiveServer) -> None:
    put = server.ask("PUT", f"{RULES}?ns=kept", TEXT, headers=OWNER)
    assert (put.status, put.json) == (200, {"status": "ok"})
    assert server.ask("GET", f"{RULES}?ns=kept", headers=OWNER).body == TEXT.encode()
    strict = server.ask("GET", f"{RULES}?ns=kept&format=strict", headers=OWNER)
    assert strict.json == {"rules": {".read": "auth != null"}}
    assert server.ask("GET", "/a.json?ns=kept").status == 401


@pytest.mark.parametrize(
    "text, starts",
    [
        ('{"rules": {".read": "auth != nul"}}', "1:30: Unknown variable 'nul'"),
        ('{"rules": {".reed": true}}', "1:"),
        ("{}", "1:"),
    ],
)
def test_wrong_rules_are_refused_with_their_places_and_the_last_good_stay(
    server: LiveServer, text: str, starts: str
) -> None:
    server.ask("PUT", f"{RULES}?ns=wrong", OPEN_RULES, headers=OWNER)
    answer = server.ask("PUT", f"{RULES}?ns=wrong", text, headers=OWNER)
    assert answer.status == 400
    assert answer.json["error"].startswith(starts)
    assert answer.json["findings"][0]["line"] == 1
    assert server.ask("GET", f"{RULES}?ns=wrong", headers=OWNER).text == OPEN_RULES


@pytest.mark.parametrize(
    "body, starts",
    [
        ("{{", "1:2: Parse error: Expected"),
        ("", "1:1: Parse error: Unexpected end of the file."),
        ("rules", "1:1: Parse error: "),
        (b'{"rules":\n {"\xff": {}}}', "2:4: Parse error: The rules are not UTF-8 text."),
    ],
)
def test_rules_that_are_no_json_are_a_parse_error(
    server: LiveServer, body: str | bytes, starts: str
) -> None:
    for dry in ("", "?dryRun=true"):
        answer = server.ask("PUT", RULES + dry, body, headers=OWNER)
        assert answer.status == 400
        assert answer.json["error"].startswith(starts)
        assert len(answer.json["findings"]) == 1


def test_every_mistake_is_found_with_its_place(server: LiveServer) -> None:
    text = '{"rules": {\n  ".read": "nope",\n  "a": {".write": 5}\n}}'
    answer = server.ask("PUT", RULES, text, headers=OWNER)
    assert answer.json["error"] == "2:13: Unknown variable 'nope'."
    places = [(each["line"], each["column"]) for each in answer.json["findings"]]
    assert places == [(2, 13), (3, 19)]


def test_rules_beyond_the_limit_are_not_read(server: LiveServer) -> None:
    large = '{"rules": {}}'.ljust(256 * 1024 + 1)
    answer = server.ask("PUT", RULES, large, headers=OWNER)
    assert (answer.status, answer.json["error"]) == (413, "Payload is too large")
    assert server.ask("PUT", RULES, large[:-1], headers=OWNER).status == 200
    assert server.ask("PUT", RULES, OPEN_RULES, headers=OWNER).status == 200


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "HEAD"])
def test_rules_are_got_and_put_and_nothing_else(server: LiveServer, method: str) -> None:
    answer = server.ask(method, RULES, "{}", headers=OWNER)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, PUT")


def test_a_dry_run_checks_and_changes_nothing(server: LiveServer) -> None:
    good = server.ask("PUT", f"{RULES}?ns=dry&dryRun=true", TEXT, headers=OWNER)
    assert (good.status, good.json) == (200, {"status": "ok"})
    assert server.ask("PUT", f"{RULES}?ns=dry&dryRun=true", "{}", headers=OWNER).status == 400
    assert server.ask("GET", f"{RULES}?ns=dry", headers=OWNER).text == OPEN_RULES


MIRRORED = """{"rules": {".read": true, ".write": true,
  "b": {".count": "/n"},
  "a": {"$x": {".mirror": "/b/$x"}}
}}"""


def put_mirrored(server: LiveServer, query: str) -> Any:
    return server.ask("PUT", f"{RULES}?{query}", MIRRORED, headers=OWNER)


@pytest.mark.parametrize("dry", ["", "&dryRun=true"])
def test_rules_that_the_data_disagrees_with_are_refused_place_by_place(
    server: LiveServer, dry: str
) -> None:
    server.put("/.json?ns=disagreeing", {"a": {"k": 1, "l": 1}, "b": {"k": 2}, "n": 1})
    hint = (
        "give the side that is right, source, target or union, as --mirror-backfill, or mend the "
        "data, and put the rules again"
    )
    answer = put_mirrored(server, f"ns=disagreeing{dry}")
    assert (answer.status, answer.json) == (
        400,
        {
            "error": "3:27: The data disagrees: /b/k differs from /a/k.",
            "findings": [
                {
                    "line": 3,
                    "column": 27,
                    "message": f"The data disagrees: {problem}.",
                    "hint": hint,
                }
                for problem in ("/b/k differs from /a/k", "/b/l is missing: /a/l is there")
            ],
        },
    )
    answer = put_mirrored(server, f"ns=disagreeing&mirrorBackfill=union{dry}")
    assert answer.status == 400
    cannot = "3:27: The data cannot be brought to agree: /b/k differs from /a/k."
    assert answer.json["error"] == cannot
    assert server.ask("GET", f"{RULES}?ns=disagreeing", headers=OWNER).text == OPEN_RULES


def test_with_the_side_that_is_right_the_data_is_brought_to_agree(server: LiveServer) -> None:
    before = {"a": {"k": 1}, "b": {"k": 2, "l": 3}}
    server.put("/.json?ns=agreeing", before)
    dry = put_mirrored(server, "ns=agreeing&mirrorBackfill=target&dryRun=true")
    assert (dry.status, dry.json) == (200, {"status": "ok", "backfills": 2})
    assert server.get("/.json?ns=agreeing") == before
    put = put_mirrored(server, "ns=agreeing&mirrorBackfill=target")
    assert (put.status, put.json) == (200, {"status": "ok", "backfills": 2})
    after = {"a": {"k": 2, "l": 3}, "b": {"k": 2, "l": 3}, "n": 2}
    wait_until(lambda: bool(server.get("/.json?ns=agreeing") == after), 10, "data that agrees")
    again = put_mirrored(server, "ns=agreeing&mirrorBackfill=target")
    assert again.json == {"status": "ok", "backfills": 0}


def test_a_side_that_is_none_is_refused_by_name(server: LiveServer) -> None:
    answer = put_mirrored(server, "ns=agreeing&mirrorBackfill=left")
    assert (answer.status, answer.json) == (
        400,
        {
            "error": "Invalid query parameter",
            "detail": "mirrorBackfill is 'left'; allowed: source, target, union.",
        },
    )
    answer = server.ask("PUT", "/a.json?mirrorBackfill=union", "1", headers=OWNER)
    assert answer.status == 400
    assert answer.json["detail"] == (
        "format=strict, dryRun and mirrorBackfill are for /.settings/rules.json."
    )


def test_coverage_counts_reads_and_writes(server: LiveServer) -> None:
    rules = """{"rules": {".read": "auth != null", "$k": {".write": "newData.isString()"}}}"""
    server.ask("PUT", f"{RULES}?ns=counted", rules, headers=OWNER)
    server.ask("GET", "/a.json?ns=counted")
    server.ask("PUT", "/a.json?ns=counted", "5")
    server.ask("PUT", "/a.json?ns=counted", '"x"')
    counted = server.ask("GET", "/.inspect/coverage.json?ns=counted", headers=OWNER).json
    kinds = {rule["kind"]: (rule["true"], rule["false"]) for rule in counted["rules"]}
    assert kinds == {"read": (0, 1), "write": (1, 1)}
    page = server.ask("GET", "/.inspect/coverage?ns=counted", headers=OWNER)
    assert page.status == 200
    assert "newData.isString()" in page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"


def test_coverage_counts_what_an_index_has_served(server: LiveServer) -> None:
    text = b'{"rules": {".read": true, "list": {".indexOn": ["n", "m"]}}}'
    server.ask("PUT", "/.settings/rules.json?ns=indexed", text, OWNER)
    for _ in range(2):
        server.ask("GET", "/list.json?ns=indexed&orderBy=%22n%22&limitToFirst=1")
    report = server.ask("GET", "/.inspect/coverage.json?ns=indexed", headers=OWNER).json
    assert {index["name"]: index["hits"] for index in report["indexes"]} == {"n": 2, "m": 0}


def test_coverage_begins_anew_with_each_rules(server: LiveServer) -> None:
    server.ask("PUT", "/a.json?ns=anew", "1")
    for number in range(3):
        rules = {"rules": {str(each): {".read": "auth != null"} for each in range(number + 1)}}
        server.ask("PUT", f"{RULES}?ns=anew", json.dumps(rules), headers=OWNER)
        server.ask("GET", "/0.json?ns=anew")
        counted = server.ask("GET", "/.inspect/coverage.json?ns=anew", headers=OWNER).json
        assert [rule["evaluated"] for rule in counted["rules"]] == [1] + [0] * number
        page = server.ask("GET", "/.inspect/coverage?ns=anew", headers=OWNER)
        assert page.text.count("auth != null") == 2 * (number + 1)


def test_outside_development_mode_nothing_is_counted_and_nobody_makes_a_namespace_by_looking(
    tmp_path: Path,
) -> None:
    settings = Settings(data=tmp_path / "data", admin_token="t0ken")
    admin = {"Authorization": "Bearer t0ken"}
    with live_server(tmp_path, settings=settings) as server:
        answer = server.ask("GET", "/.inspect/coverage.json", headers=admin)
        assert (answer.status, answer.json["error"]) == (404, "404 Not Found")
        assert "--dev" in answer.json["detail"]
        for method, query in (("GET", "ns=new"), ("PUT", "ns=new&dryRun=true")):
            answer = server.ask(method, f"{RULES}?{query}", '{"rules": {}}', headers=admin)
            assert answer.status == 404
        assert server.ask("GET", RULES, headers=admin).text == LOCKED_RULES
        assert server.ask("PUT", f"{RULES}?ns=new", OPEN_RULES, headers=admin).status == 200
        assert server.ask("PUT", "/a.json?ns=new", "1").status == 200
        assert server.ask("PUT", "/a.json", "1").status == 401


def test_rules_survive_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        with live_server(tmp_path) as server:
            if server.ask("GET", "/a.json").status == 200:
                server.ask("PUT", RULES, TEXT, headers=OWNER)
    with live_server(tmp_path) as server:
        assert server.ask("GET", RULES, headers=OWNER).body == TEXT.encode()
        assert server.ask("GET", "/a.json").status == 401


def test_outside_development_mode_there_is_no_owner(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", dev=False)
    with live_server(tmp_path, settings=settings) as server:
        answer = server.ask("GET", PLACES[0], headers=OWNER)
        assert (answer.status, answer.json) == (401, {"error": "Could not parse auth token."})
