"""What the rules mean to a client of REST: every verb is asked about, and nothing leaks."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.auth.minting import signed, unsigned
from tests.server.live_server import Answer, LiveServer, live_server
from treedb.config import Settings

RULES = """{"rules": {
  "open": {".read": true, ".write": true},
  "own": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid"}},
  "inbox": {".write": true},
  "roles": {".read": "auth.role === 'editor'"}
}}"""
SECRET = "a-secret-for-tests-of-40-bytes-0123456789"
ADMIN_TOKEN = "5f1d-an-admin-token-for-tests-5f1d"
OWNER = {"Authorization": "Bearer owner"}
DENIED = (401, {"error": "Permission denied"})


def rules_file(folder: Path) -> Path:
    file = folder / "rules.json"
    file.write_text(RULES)
    return file


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("dev")
    settings = Settings(data=folder / "data", dev=True, rules=rules_file(folder))
    with live_server(folder, settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("production")
    settings = Settings(
        data=folder / "data",
        rules=rules_file(folder),
        admin_token=ADMIN_TOKEN,
        auth_secret=SECRET,
    )
    with live_server(folder, settings=settings) as running:
        yield running


def token(**claims: object) -> str:
    now_s = int(time.time())
    return signed({"sub": "mchen", "iat": now_s, "exp": now_s + 60, **claims}, now_s)


def verdict(answer: Answer) -> tuple[int, object]:
    return answer.status, answer.json


VERBS = [
    ("GET", None),
    ("GET?shallow=true", None),
    ("GET?depth=2", None),
    ("GET?format=export", None),
    ("GET?print=pretty", None),
    ("PUT", "1"),
    ("PUT?print=pretty", "1"),
    ("PATCH", '{"a": 1}'),
    ("PATCH", "{}"),
    ("POST", "1"),
    ("POST?x-http-method-override=PUT", "1"),
    ("DELETE", None),
]


@pytest.mark.parametrize("verb, body", VERBS)
def test_each_verb_is_for_whom_the_rules_let(dev: LiveServer, verb: str, body: str | None) -> None:
    method, _, query = verb.partition("?")
    for place in ("/open/x", f"/own/mchen?auth={unsigned(sub='mchen')}"):
        path, _, credential = place.partition("?")
        answer = dev.ask(method, f"{path}.json?{query}&{credential}", body)
        assert answer.status == 200, answer
    nothing_changes = verb == "PATCH" and body == "{}"
    for place in ("/own/mchen", f"/own/mchen?auth={unsigned(sub='hmadi')}", "/", "/own"):
        path, _, credential = place.partition("?")
        answer = dev.ask(method, f"{path.rstrip('/')}/.json?{query}&{credential}", body)
        assert verdict(answer) == ((200, {}) if nothing_changes else DENIED)


@pytest.mark.parametrize("method, body", [("HEAD", None), ("GET", None), ("PUT", "1")])
def test_silent_tells_no_more_and_no_less(dev: LiveServer, method: str, body: str | None) -> None:
    assert dev.ask(method, "/open/x.json?print=silent", body).status == 204
    assert dev.ask(method, "/own/mchen.json?print=silent", body).status == 401


def test_a_priority_is_its_owners(dev: LiveServer) -> None:
    assert dev.ask("PUT", "/own/mchen.json", "1", OWNER).status == 200
    assert verdict(dev.ask("GET", "/own/mchen/.priority.json")) == DENIED
    assert verdict(dev.ask("PUT", "/own/mchen/.priority.json", "1")) == DENIED
    mine = f"/own/mchen/.priority.json?auth={unsigned(sub='mchen')}"
    assert dev.ask("PUT", mine, "1").status == 200
    assert dev.ask("GET", mine).json == 1


def test_an_update_is_denied_whole(dev: LiveServer) -> None:
    dev.ask("DELETE", "/.json", headers=OWNER)
    assert verdict(dev.ask("PATCH", "/.json", '{"open/a": 1, "own/mchen": 1}')) == DENIED
    assert dev.ask("GET", "/.json", headers=OWNER).json is None


def test_who_may_write_but_not_read_learns_no_sum(dev: LiveServer) -> None:
    assert dev.ask("PUT", "/inbox/n.json", "41", OWNER).status == 200
    asked = '{".sv":{"increment":0}}'
    assert dev.ask("PUT", "/inbox/n.json", asked).json == json.loads(asked)
    several = f'{{"n":{asked}}}'
    assert dev.ask("PATCH", "/inbox.json", several).json == json.loads(several)
    assert dev.ask("PUT", "/inbox/n.json", asked, OWNER).json == 41
    assert set(dev.ask("POST", "/inbox.json", asked).json) == {"name"}


# Why


def test_in_development_who_asks_is_told_why(dev: LiveServer) -> None:
    for method, body in (("GET", None), ("PUT", "1"), ("PATCH", '{"a":1}'), ("DELETE", None)):
        answer = dev.ask(method, "/own/mchen.json?explain=1", body)
        assert answer.status == 401
        assert set(answer.json) == {"error", "explanation"}
        assert answer.json["error"] == "Permission denied"
        assert "auth.uid === $uid" in answer.json["explanation"]
        assert verdict(dev.ask(method, "/own/mchen.json", body)) == DENIED


def test_elsewhere_only_who_has_the_claim_and_asks_is_told_why(production: LiveServer) -> None:
    place = "/own/hmadi.json"
    for claims in ({}, {"debug": False}, {"debug": "true"}, {"debug": 1}):
        credential = token(**claims)
        answer = production.ask("GET", f"{place}?explain=1&auth={credential}")
        assert verdict(answer) == DENIED
    credential = token(debug=True)
    assert verdict(production.ask("GET", f"{place}?auth={credential}")) == DENIED
    told = production.ask("GET", f"{place}?auth={credential}&explain=1")
    assert "auth.uid === $uid" in told.json["explanation"]
    assert verdict(production.ask("GET", f"{place}?explain=1")) == DENIED


# An admin, and whom one acts as


@pytest.mark.parametrize("how", ["Bearer", "bearer", "auth", "access_token"])
def test_the_admin_token_is_above_the_rules(production: LiveServer, how: str) -> None:
    in_header = how.lower() == "bearer"
    headers = {"Authorization": f"{how} {ADMIN_TOKEN}"} if in_header else {}
    query = "" if in_header else f"?{how}={ADMIN_TOKEN}"
    assert production.ask("PUT", f"/anything.json{query}", "1", headers).status == 200
    assert production.ask("GET", f"/anything.json{query}", headers=headers).json == 1
    wrong = ADMIN_TOKEN[:-1]
    answer = production.ask("GET", "/anything.json", headers={"Authorization": f"Bearer {wrong}"})
    assert verdict(answer) == (401, {"error": "Could not parse auth token."})


def test_a_tokens_claim_named_admin_gives_nothing(production: LiveServer) -> None:
    credential = token(admin=True, is_admin=True)
    assert verdict(production.ask("GET", f"/anything.json?auth={credential}")) == DENIED
    answer = production.ask("GET", f"/.settings/rules.json?auth={credential}")
    assert verdict(answer) == DENIED


ACTING = [
    ('{"uid":"mchen"}', "/own/mchen.json", 200),
    ('{"uid":"mchen"}', "/own/hmadi.json", 401),
    ('{"role":"editor"}', "/roles.json", 200),
    ("{}", "/roles.json", 401),
    ("null", "/own/mchen.json", 401),
    ("null", "/open.json", 200),
    ("5", "/open.json", 400),
    ("{", "/open.json", 400),
    ('["mchen"]', "/open.json", 400),
    ("", "/open.json", 400),
]


@pytest.mark.parametrize("variable, place, status", ACTING)
def test_an_admin_acts_as_whom_the_rules_bind(
    production: LiveServer, variable: str, place: str, status: int
) -> None:
    target = f"{place}?auth_variable_override={quote(variable)}"
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    assert production.ask("GET", target, headers=headers).status == status


def test_who_acts_as_a_client_is_no_admin_meanwhile(production: LiveServer) -> None:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    target = "/.settings/rules.json?auth_variable_override=null"
    assert verdict(production.ask("GET", target, headers=headers)) == DENIED


def test_nobody_else_acts_as_another(production: LiveServer) -> None:
    for credential in ("", f"&auth={token()}"):
        answer = production.ask("GET", f"/open.json?auth_variable_override=null{credential}")
        assert answer.status == 400
        assert "auth_variable_override is for an admin's credential" in answer.json["detail"]


def test_an_expired_token_is_refused_even_where_nobody_needs_one(production: LiveServer) -> None:
    now_s = int(time.time())
    late = signed({"sub": "mchen", "iat": now_s - 60, "exp": now_s - 1}, now_s)
    answer = production.ask("GET", f"/open.json?auth={late}")
    assert verdict(answer) == (401, {"error": "Auth token is expired"})
