"""Queries over REST: what is chosen, what they need, and who may ask them."""

import json
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any
from urllib.parse import quote

import pytest

from tests.server.live_server import Answer, LiveServer, live_server
from tests.server.test_query_parameters import as_parameters
from treedb.store.index_definitions import IndexState
from treedb.tree.query import as_window

SPEC = FilePath(__file__).parent.parent / "spec"
CASES = json.loads((SPEC / "queries.json").read_text())["cases"]
ORDERS = [".value", "height", "dim", "dim/h", "0", "1/2/3/4", "foo", "g", "i", "index", "z"]
OWNER = {"Authorization": "Bearer owner"}

RULES: dict[str, Any] = {
    "dinos": {".read": True, ".write": True, ".indexOn": ORDERS},
    "pages": {".read": "query.orderByKey && query.limitToFirst <= 100"},
    "mine": {
        ".read": "query.orderByChild == 'owner' && query.equalTo == auth.uid",
        ".indexOn": "owner",
    },
    "last": {".read": "query.orderByChild == 'at' && query.limitToLast <= 10", ".indexOn": "at"},
    "from": {
        ".read": "query.orderByValue && query.startAt >= 5 && query.endAt <= 9",
        ".indexOn": ".value",
    },
    "secret": {".indexOn": "at"},
}
DINOS: dict[str, Any] = {
    "bruhath": {"height": 18, "dim": {"h": 1}, ".priority": 2},
    "lambeo": {"height": 2.1, "dim": {"h": 5}},
    "linhe": {"height": 0.6},
    "ptero": {"height": 0.6, "dim": {"h": "tall"}, ".priority": 1},
    "stego": {"height": 4, "dim": {"h": 1}},
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("queries")) as server:
        put_rules(server, {"rules": RULES})
        yield server


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    """Return a server whose dinosaurs are DINOS."""
    shared.put("/dinos.json", DINOS)
    return shared


def put_rules(server: LiveServer, rules: Any) -> None:
    assert server.ask("PUT", "/.settings/rules.json", json.dumps(rules), OWNER).status == 200


def ask(server: LiveServer, place: str, query: str, method: str = "GET", **headers: str) -> Answer:
    return server.ask(method, f"{place}.json?{quote(query, safe='=&')}", headers=headers)


CHOSEN = [
    ('orderBy="height"&limitToFirst=2', ["linhe", "ptero"]),
    ('orderBy="height"&limitToLast=2', ["bruhath", "stego"]),
    ('orderBy="height"&startAt=2.1', ["bruhath", "lambeo", "stego"]),
    ('orderBy="height"&startAt=0.6,"ptero"&limitToFirst=2', ["lambeo", "ptero"]),
    ('orderBy="height"&startAfter=0.6,"linhe"&endBefore=4', ["lambeo", "ptero"]),
    ('orderBy="height"&equalTo=0.6', ["linhe", "ptero"]),
    ('orderBy="height"&equalTo=0.6,"ptero"', ["ptero"]),
    ('orderBy="height"&equalTo=true', []),
    ('orderBy="dim/h"&equalTo=1', ["bruhath", "stego"]),
    ('orderBy="dim/h"&endAt=null', ["linhe"]),
    ('orderBy="dim/h"&startAt=""', ["ptero"]),
    ('orderBy="$key"&startAt="li"&limitToFirst=1', ["linhe"]),
    ('orderBy="$key"&startAfter=linhe', ["ptero", "stego"]),
    ('orderBy="$key"&endBefore="linhe"', ["bruhath", "lambeo"]),
    ('orderBy="$priority"&startAt=1', ["bruhath", "ptero"]),
    ('orderBy="$priority"&limitToLast=1', ["bruhath"]),
    ('orderBy="$value"&limitToFirst=1', ["bruhath"]),
    ('orderBy="$value"', list(DINOS)),
    ('orderBy="height"', list(DINOS)),
]


@pytest.mark.parametrize("query, keys", CHOSEN)
def test_a_query_chooses_children(server: LiveServer, query: str, keys: list[str]) -> None:
    answer = ask(server, "/dinos", f"{query}&format=export")
    assert answer.status == 200
    assert answer.json == ({key: DINOS[key] for key in keys} or None)
    assert list(answer.json or {}) == keys, "in the order of keys, like every object"


def is_askable(case: dict[str, Any]) -> bool:
    """Tell whether REST can ask it: it has no words for the two endmost keys, nor a key twice."""
    query = case["query"]
    keys = [query[name] for name in ("sn", "en") if name in query]
    if query.get("i") == ".key":
        return not keys
    return all(key and not key.startswith("[") for key in keys)


@pytest.mark.parametrize(
    "case", [case for case in CASES if is_askable(case)], ids=lambda case: case["name"]
)
def test_the_cases_of_all_languages_hold(server: LiveServer, case: dict[str, Any]) -> None:
    server.put("/dinos.json", case["data"])
    query = "&".join(f"{name}={text}" for name, text in as_parameters(case["query"]).items())
    answer = ask(server, "/dinos", f"{query}&format=export")
    stored = server.get("/dinos.json?format=export")
    if {"sp", "ep", "l"} & case["query"].keys():
        assert answer.json == as_window((key, stored[key]) for key in case["expect"])
    else:
        assert answer.json == stored


def test_most_cases_can_be_asked() -> None:
    assert sum(map(is_askable, CASES)) > 0.8 * len(CASES)


FORMS = [
    ("", '{"linhe":{"height":0.6}}'),
    ("&format=export", '{"linhe":{"height":0.6}}'),
    ("&print=pretty", '{\n  "linhe": {\n    "height": 0.6\n  }\n}'),
    ("&print=silent", ""),
]


@pytest.mark.parametrize("parameter, text", FORMS)
def test_an_answer_has_the_form_asked_for(server: LiveServer, parameter: str, text: str) -> None:
    answer = ask(server, "/dinos", f'orderBy="dim/h"&limitToFirst=1{parameter}')
    assert (answer.status, answer.text) == (204 if "silent" in parameter else 200, text)


def test_head_has_the_length_of_the_answer(server: LiveServer) -> None:
    query = 'orderBy="height"&limitToLast=2'
    answer = ask(server, "/dinos", query, "HEAD")
    assert answer.headers["content-length"] == str(len(ask(server, "/dinos", query).body))


def test_priorities_are_exported_but_for_that_of_the_place(server: LiveServer) -> None:
    server.put("/dinos.json", {**DINOS, ".priority": 5})
    query = 'orderBy="$priority"&limitToLast=1'
    assert ask(server, "/dinos", query).json == {"bruhath": {"height": 18, "dim": {"h": 1}}}
    exported = {"bruhath": DINOS["bruhath"]}
    assert ask(server, "/dinos", f"{query}&format=export").json == exported
    whole = ask(server, "/dinos", 'orderBy="$priority"&format=export').json
    assert whole == {**DINOS, ".priority": 5}


def test_an_answer_of_whole_numbers_becomes_an_array_as_everywhere(server: LiveServer) -> None:
    server.put("/dinos.json", ["a", "b", "c", "d"])
    assert ask(server, "/dinos", 'orderBy="$key"&limitToFirst=2').json == ["a", "b"]
    assert ask(server, "/dinos", 'orderBy="$key"&limitToLast=1').json == {"3": "d"}


@pytest.mark.parametrize("place", ["/dinos/stego/height", "/dinos/none", "/dinos/ptero/.priority"])
def test_where_there_are_no_children_nothing_is_chosen(server: LiveServer, place: str) -> None:
    assert ask(server, place, 'orderBy="$key"&limitToFirst=5').text == "null"


# What a query needs


@pytest.mark.parametrize(
    "order, name", [("weight", "weight"), ("a/b", "a/b"), ("height", "height")]
)
@pytest.mark.parametrize("rest", ["", "&limitToFirst=1", "&print=silent", "&equalTo=null"])
def test_an_order_without_an_index_names_it(
    server: LiveServer, order: str, name: str, rest: str
) -> None:
    place = "/dinos/stego" if order == "height" else "/dinos"
    answer = ask(server, place, f'orderBy="{order}"{rest}', **OWNER)
    text = f'Index not defined, add ".indexOn": "{name}", for path "{place}", to the rules'
    assert (answer.status, answer.json) == (400, {"error": text})


def test_an_order_by_value_needs_an_index_too(server: LiveServer) -> None:
    answer = ask(server, "/dinos/stego", 'orderBy="$value"')
    assert '".indexOn": ".value"' in answer.json["error"]


@pytest.mark.parametrize("order", ["$key", "$priority"])
def test_keys_and_priorities_need_no_index(server: LiveServer, order: str) -> None:
    answer = ask(server, "/dinos/stego", f'orderBy="{order}"&limitToFirst=1')
    assert answer.json == {"dim": {"h": 1}}


@pytest.mark.parametrize(
    "place, query", [("/secret", 'orderBy="none"'), ("/none", 'orderBy="$value"')]
)
def test_who_may_not_read_learns_nothing_of_the_indexes(
    server: LiveServer, place: str, query: str
) -> None:
    answer = ask(server, place, query)
    assert (answer.status, answer.json) == (401, {"error": "Permission denied"})
    assert ask(server, place, query, **OWNER).status == 400


def test_an_index_that_rules_gain_is_used_while_it_is_built_and_after(tmp_path: FilePath) -> None:
    children = {f"k{number}": {"at": number % 100} for number in range(3000)}
    rules = {"rules": {".read": True, ".write": True, "list": {".indexOn": "at"}}}
    with live_server(tmp_path) as server:
        server.put("/list.json", children)
        query = 'orderBy="at"&limitToLast=2'
        assert ask(server, "/list", query).status == 400
        put_rules(server, rules)
        states = set()
        while IndexState.COMPLETE not in states:
            assert ask(server, "/list", query).json == {
                "k99": {"at": 99},
                "k999": {"at": 99},
            }
            progress = server.databases.opened[0].index_progress()
            states = {each.state for each in progress if each.place.name == "at"}
        assert ask(server, "/list", query).status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST", "DELETE"])
def test_a_write_takes_no_query(server: LiveServer, method: str) -> None:
    target = "/dinos.json?" + quote('orderBy="$key"&limitToFirst=1', safe="=&")
    answer = server.ask(method, target, '{"a":1}')
    assert (answer.status, answer.json["error"]) == (400, "Invalid query parameter")
    assert "orderBy" in answer.json["detail"]
    assert server.get("/dinos.json?format=export") == DINOS


@pytest.mark.parametrize("cutting", ["shallow=true", "depth=1", "depth=32"])
def test_a_query_answers_whole_children(server: LiveServer, cutting: str) -> None:
    answer = ask(server, "/dinos", f'{cutting}&orderBy="$key"&limitToFirst=1')
    assert answer.status == 400
    assert f"{cutting.partition('=')[0]} cannot be combined with orderBy" in answer.json["detail"]


# Rules that look at the query

PERMITTED = [
    ("/pages", 'orderBy="$key"&limitToFirst=100', 200),
    ("/pages", 'orderBy="$key"&limitToFirst=101', 401),
    ("/pages", 'orderBy="$key"&limitToLast=5', 401),
    ("/pages", 'orderBy="$key"', 401),
    ("/pages", 'orderBy="$priority"&limitToFirst=5', 401),
    ("/pages", "", 401),
    ("/pages", "shallow=true", 401),
    ("/pages/x", 'orderBy="$key"&limitToFirst=5', 200),
    ("/mine", 'orderBy="owner"&equalTo="mchen"', 200),
    ("/mine", 'orderBy="owner"&startAt="mchen"&endAt="mchen"', 200),
    ("/mine", 'orderBy="owner"&equalTo="hmadi"', 401),
    ("/mine", 'orderBy="owner"&startAt="mchen"', 401),
    ("/mine", 'orderBy="owner"&startAt="mchen"&endBefore="mchen"', 401),
    ("/mine", 'orderBy="other"&equalTo="mchen"', 401),
    ("/mine", 'orderBy="$value"&equalTo="mchen"', 401),
    ("/last", 'orderBy="at"&limitToLast=10', 200),
    ("/last", 'orderBy="at"&limitToLast=11', 401),
    ("/last", 'orderBy="at"&limitToFirst=1', 401),
    ("/from", 'orderBy="$value"&startAt=5&endAt=9', 200),
    ("/from", 'orderBy="$value"&startAfter=5.0&endBefore=9', 200),
    ("/from", 'orderBy="$value"&startAt=4&endAt=9', 401),
    ("/from", 'orderBy="$value"&startAt=5', 401),
]


@pytest.mark.parametrize("place, query, status", PERMITTED)
def test_rules_see_the_query(server: LiveServer, place: str, query: str, status: int) -> None:
    override = 'auth_variable_override={"uid":"mchen"}'
    answer = ask(server, place, f"{query}&{override}", **OWNER)
    assert answer.status == status


def test_a_denial_of_a_query_is_explained(server: LiveServer) -> None:
    answer = ask(server, "/pages", 'orderBy="$key"&limitToFirst=101&explain=1')
    assert "query.limitToFirst <= 100" in answer.json["explanation"]
    assert "101" in answer.json["explanation"]
