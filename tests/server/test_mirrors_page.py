import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.mirrored_store import AGREEING, COUNT, MIRROR, RULES, make_store
from tests.server.live_server import LiveServer, live_server
from treedb.clock import SystemClock
from treedb.rules.loader import parse_rules
from treedb.server.mirrors_page import mirrors_report
from treedb.server.reserved import MIRRORS
from treedb.server.reserved import RULES as RULES_PLACE
from treedb.store.kept_derived import CheckedDeclaration, KeptBackfill, KeptCheck

OWNER = {"Authorization": "Bearer owner"}
KNOWN: dict[str, Any] = {
    "mirrors": [
        {
            "source": "/users/$u/groups/$g",
            "target": "/groups/$g/members/$u",
            "value": "copy",
            "line": 1,
            "column": 151,
            "meaning": "/users/$u/groups/$g exists exactly when /groups/$g/members/$u does, with "
            "the same value",
            "entries": None,
            "faults": None,
            "examples": [],
            "backfill": None,
        }
    ],
    "counts": [
        {
            "collection": "/groups/$g/members",
            "count": "/groups/$g/size",
            "line": 1,
            "column": 83,
            "meaning": "/groups/$g/size is the number of children of /groups/$g/members",
            "entries": None,
            "faults": None,
            "examples": [],
            "backfill": None,
        }
    ],
    "lastCheck": None,
}


def test_before_the_first_check_only_the_rules_are_known() -> None:
    assert mirrors_report(parse_rules(json.dumps(RULES)), (), None) == KNOWN


def test_rules_without_mirrors_have_nothing_to_tell() -> None:
    report = mirrors_report(parse_rules('{"rules": {}}'), (), None)
    assert report == {"mirrors": [], "counts": [], "lastCheck": None}


def test_what_was_found_and_what_is_under_way_goes_with_its_declaration() -> None:
    found = KeptCheck(
        1700, 5, (CheckedDeclaration(COUNT, 9, 1, ("/x is 1",)), CheckedDeclaration("old", 1, 1))
    )
    going = [
        KeptBackfill(MIRROR, "union", is_second=True, entries=8, changed=2, conflicts=1),
        KeptBackfill(COUNT, "union"),
    ]
    report = mirrors_report(parse_rules(json.dumps(RULES)), going, found)
    mirror, counted = report["mirrors"][0], report["counts"][0]
    assert report["lastCheck"] == {"time": 1700, "revision": 5}
    assert (mirror["entries"], mirror["faults"], mirror["examples"]) == (None, None, [])
    assert (counted["entries"], counted["faults"], counted["examples"]) == (9, 1, ["/x is 1"])
    assert mirror["backfill"] == {
        "side": "union",
        "pass": 2,
        "entries": 8,
        "written": 2,
        "conflicts": 1,
    }
    assert counted["backfill"]["pass"] == 1


# Over HTTP


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("mirrors")
    make_store(folder / "data", {"users": {"bob": {"groups": {"a": 1}}}}, namespace="wrong")
    with live_server(folder) as running:
        yield running


def asked(server: LiveServer, method: str, namespace: str) -> Any:
    answer = server.ask(method, f"{MIRRORS}?ns={namespace}", headers=OWNER)
    assert answer.status == 200, answer
    return answer.json


def numbers(report: Any) -> list[tuple[int, int]]:
    return [(each["entries"], each["faults"]) for each in (*report["mirrors"], *report["counts"])]


def test_a_check_is_run_by_post_and_kept(server: LiveServer) -> None:
    put = server.ask("PUT", f"{RULES_PLACE}?ns=kept", json.dumps(RULES), headers=OWNER)
    assert put.status == 200
    server.put("/.json?ns=kept", AGREEING)
    assert asked(server, "GET", "kept") == KNOWN
    before = SystemClock().now_ms()
    report = asked(server, "POST", "kept")
    assert numbers(report) == [(1, 0), (1, 0)]
    assert report["lastCheck"]["revision"] == 2
    assert before <= report["lastCheck"]["time"] <= SystemClock().now_ms()
    assert asked(server, "GET", "kept") == report


def test_faults_are_counted_and_the_first_are_told(server: LiveServer) -> None:
    report = asked(server, "POST", "wrong")
    assert numbers(report) == [(1, 1), (0, 0)]
    missing = "/groups/a/members/bob is missing: /users/bob/groups/a is there"
    assert report["mirrors"][0]["examples"] == [missing]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_only_an_administrator_may_ask(server: LiveServer, method: str) -> None:
    answer = server.ask(method, MIRRORS)
    assert (answer.status, answer.json) == (401, {"error": "Permission denied"})


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "HEAD"])
def test_it_is_got_and_posted_and_nothing_else(server: LiveServer, method: str) -> None:
    assert server.ask(method, MIRRORS, "1", headers=OWNER).status == 405
