"""Conditions of requests, and what becomes of them over HTTP."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.datastructures import Headers

from tests.server.live_server import LiveServer
from treedb.errors import InvalidQuery
from treedb.server.etags import NULL, Conditions, conditions_of, tag_of
from treedb.tree.hashing import node_hash

TAG = node_hash({"a": 1})

UNDERSTOOD = [
    ("GET", {}, Conditions()),
    ("GET", {"X-Firebase-ETag": "true"}, Conditions(wants_tag=True)),
    ("GET", {"X-Firebase-ETag": "false"}, Conditions()),
    ("GET", {"If-None-Match": TAG}, Conditions(none_match=TAG)),
    ("GET", {"If-None-Match": f'"{TAG}"'}, Conditions(none_match=TAG)),
    ("PUT", {"if-match": NULL}, Conditions(match=NULL)),
    ("DELETE", {"if-match": TAG, "X-Firebase-ETag": "true"}, Conditions(True, TAG)),
    ("PUT", {"If-None-Match": "what ever"}, Conditions()),
]  # fmt: skip
REFUSED = [
    ("PATCH", {"X-Firebase-ETag": "true"}, "X-Firebase-ETag is not for PATCH"),
    ("PATCH", {"if-match": TAG}, "if-match is for PUT and DELETE, not for PATCH"),
    ("GET", {"if-match": TAG}, "not for GET"),
    ("POST", {"if-match": TAG}, "not for POST"),
    ("PUT", {"if-match": "*"}, "if-match is '*'; it is one tag"),
    ("PUT", {"if-match": 'W/"x"'}, "if-match is"),
    ("PUT", {"if-match": ""}, "if-match is"),
    ("PUT", {"if-match": "x" * 10_000}, "if-match is"),
]


@pytest.mark.parametrize("method, headers, conditions", UNDERSTOOD)
def test_conditions_are_read(method: str, headers: dict[str, str], conditions: Conditions) -> None:
    assert conditions_of(Headers(headers), method) == conditions


@pytest.mark.parametrize("method, headers, told", REFUSED)
def test_a_condition_that_makes_no_sense_is_refused(
    method: str, headers: dict[str, str], told: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        conditions_of(Headers(headers), method)
    assert told in caught.value.detail


def test_the_tag_of_nothing_is_a_word() -> None:
    assert (tag_of(None), tag_of({"a": 1})) == (NULL, TAG)
    assert [Conditions(match=match).expected_hash for match in (None, NULL, TAG)] == [None, "", TAG]


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    """Return a server with one value at /v."""
    shared.put("/.json", {"v": {"a": 1}})
    return shared


WANTS = {"X-Firebase-ETag": "true"}


def test_a_read_tells_the_tag_when_it_is_asked_for(server: LiveServer) -> None:
    answer = server.ask("GET", "/v.json", headers=WANTS)
    assert (answer.status, answer.json, answer.headers["etag"]) == (200, {"a": 1}, TAG)
    assert "etag" not in server.ask("GET", "/v.json").headers
    assert server.ask("GET", "/nothing.json", headers=WANTS).headers["etag"] == NULL


def test_a_read_of_what_one_has_is_304(server: LiveServer) -> None:
    answer = server.ask("GET", "/v.json", headers={"If-None-Match": TAG})
    assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", TAG)
    answer = server.ask("GET", "/v.json", headers={"If-None-Match": "other"})
    assert (answer.status, answer.json, answer.headers["etag"]) == (200, {"a": 1}, TAG)


def test_a_write_over_what_one_has_seen_is_done_and_another_is_412(server: LiveServer) -> None:
    answer = server.ask("PUT", "/v.json", "2", headers={"if-match": TAG, **WANTS})
    assert (answer.status, answer.json, answer.headers["etag"]) == (200, 2, tag_of(2))
    answer = server.ask("PUT", "/v.json", "3", headers={"if-match": TAG})
    assert (answer.status, answer.json, answer.headers["etag"]) == (412, 2, tag_of(2))
    answer = server.ask("DELETE", "/v.json", headers={"if-match": NULL})
    assert (answer.status, answer.json) == (412, 2)
    answer = server.ask("DELETE", "/v.json", headers={"if-match": tag_of(2), **WANTS})
    assert (answer.status, answer.headers["etag"]) == (200, NULL)
    assert server.ask("PUT", "/v.json", "1", headers={"if-match": NULL}).status == 200
    assert server.ask("PUT", "/v.json", "1", headers={"if-match": NULL}).status == 412


def test_a_push_tells_the_tag_of_what_it_put(server: LiveServer) -> None:
    answer = server.ask("POST", "/list.json", '{"a":1}', headers=WANTS)
    assert (answer.status, answer.headers["etag"]) == (200, TAG)


def test_of_writes_that_race_with_one_tag_one_is_done(server: LiveServer) -> None:
    def write(number: int) -> int:
        headers = {"if-match": TAG}
        return server.ask("PUT", "/v.json", str(number), headers=headers).status

    with ThreadPoolExecutor(10) as pool:
        assert sorted(pool.map(write, range(50))) == [200] + [412] * 49


@pytest.mark.parametrize("query", ["shallow=true", "depth=2"])
def test_what_is_cut_off_has_no_tag(server: LiveServer, query: str) -> None:
    assert server.ask("GET", f"/v.json?{query}", headers=WANTS).status == 400


def test_a_condition_does_not_go_with_a_query(server: LiveServer) -> None:
    answer = server.ask("DELETE", "/v.json?orderBy=%22$key%22", headers={"if-match": TAG})
    assert answer.status == 400
