"""REST as a client sees it; odd and wrong inputs are in test_answers_table.py."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.server.live_server import LiveServer, errors_logged, live_server
from treedb.config import DEFAULT_LIMITS, MIB

ALICE = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."
TREE: dict[str, Any] = {
    "users": {"mchen": {"name": "Mary Chen", "age": 33}, "bob": True},
    "list": ["a", "b", {"c": [1]}],
}


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    """Return a server whose tree is TREE."""
    shared.put("/.json", TREE)
    return shared


# The verbs


def test_put_answers_with_what_is_there_now(server: LiveServer) -> None:
    answer = server.ask("PUT", "/users/mchen.json", '{"name":"M","x":null,"y":{}}')
    assert (answer.status, answer.text) == (200, '{"name":"M"}')
    assert server.get("/users/mchen.json") == {"name": "M"}


def test_put_null_removes(server: LiveServer) -> None:
    assert server.ask("PUT", "/users.json", "null").text == "null"
    assert "users" not in server.get("/.json")


def test_a_server_value_is_answered_filled_in(server: LiveServer) -> None:
    before = time.time() * 1000
    stamp = server.ask("PUT", "/stamp.json", '{"at":{".sv":"timestamp"}}').json["at"]
    assert before - 1 < stamp < time.time() * 1000 + 1
    assert server.get("/stamp/at.json") == stamp
    answer = server.ask("PATCH", "/users/mchen.json", '{"age":{".sv":{"increment":2}}}')
    assert answer.text == '{"age":35}'


def test_patch_answers_with_its_body_in_its_own_order_and_spelling(server: LiveServer) -> None:
    body = '{"users//zoe":{"age":1.0},"list/0":null,"/users/bob":[1,null,2]}'
    answer = server.ask("PATCH", "/.json", body)
    assert answer.text == '{"users//zoe":{"age":1},"list/0":null,"/users/bob":[1,null,2]}'
    assert server.get("/users.json") == {**TREE["users"], "bob": [1, None, 2], "zoe": {"age": 1}}
    assert server.get("/list.json") == [None, "b", {"c": [1]}]


def test_patch_changes_a_priority(server: LiveServer) -> None:
    answer = server.ask("PATCH", "/users.json", '{"mchen/.priority":7}')
    assert answer.text == '{"mchen/.priority":7}'
    assert server.get("/users/mchen.json?format=export")[".priority"] == 7


def test_an_empty_patch_makes_no_commit(server: LiveServer) -> None:
    before = server.databases._databases["default"].revision
    assert server.ask("PATCH", "/users.json", "{}").text == "{}"
    assert server.databases._databases["default"].revision == before


def test_post_answers_with_the_name_of_a_new_child(server: LiveServer) -> None:
    names = [server.ask("POST", "/log.json", str(number)).json["name"] for number in range(3)]
    assert names == sorted(names)
    assert all(len(name) == 20 for name in names)
    assert server.get("/log.json") == dict(zip(names, range(3), strict=True))


def test_post_below_the_last_level_is_too_deep(server: LiveServer) -> None:
    answer = server.ask("POST", "/d" * 32 + ".json", "1")
    assert (answer.status, answer.json["error"]) == (400, "Data exceeds maximum depth")
    assert "33 levels" in answer.json["detail"]
    assert server.get("/d.json") is None


def test_delete_answers_null(server: LiveServer) -> None:
    assert server.ask("DELETE", "/users/mchen.json").text == "null"
    assert server.get("/users.json") == {"bob": True}
    assert server.ask("DELETE", "/users/mchen.json").text == "null"


def test_head_is_get_without_a_body(server: LiveServer) -> None:
    answer = server.ask("HEAD", "/users.json")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == str(len(server.ask("GET", "/users.json").body))


def test_a_preflight_is_granted(server: LiveServer) -> None:
    headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "PATCH"}
    answer = server.ask("OPTIONS", "/users.json", headers=headers)
    assert (answer.status, answer.body) == (200, b"")
    assert "PATCH" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-origin"] == "*"


def test_other_methods_are_refused(server: LiveServer) -> None:
    answer = server.ask("PROPFIND", "/users.json")
    assert (answer.status, answer.json) == (405, {"error": "Method Not Allowed"})
    assert "PATCH" in answer.headers["allow"]


@pytest.mark.parametrize("target", ["/users.json", "/users.json?x-http-method-override=delete"])
def test_a_post_may_name_another_method(server: LiveServer, target: str) -> None:
    headers = {} if "?" in target else {"X-HTTP-Method-Override": "DELETE"}
    assert server.ask("POST", target, "1", headers).text == "null"
    assert server.get("/users.json") is None


def test_only_a_post_may_name_another_method(server: LiveServer) -> None:
    headers = {"X-HTTP-Method-Override": "DELETE"}
    assert server.ask("GET", "/users/bob.json", headers=headers).text == "true"
    assert server.get("/users/bob.json") is True


@pytest.mark.parametrize("method, status", [("TRACE", 405), ("OPTIONS", 405), ("", 405)])
def test_a_post_may_not_name_every_method(server: LiveServer, method: str, status: int) -> None:
    headers = {"X-HTTP-Method-Override": method}
    assert server.ask("POST", "/users.json", "1", headers).status == status


def test_two_named_methods_are_refused(server: LiveServer) -> None:
    target = "/users.json?x-http-method-override=PUT"
    answer = server.ask("POST", target, "1", {"X-HTTP-Method-Override": "PUT"})
    assert answer.status == 400
    assert "x-http-method-override" in answer.json["detail"]


# Parameters

READS = [
    ("/users.json?print=pretty", json.dumps(TREE["users"], indent=2)),
    ("/list.json?shallow=true", '["a","b",true]'),
    ("/list.json?shallow=true&format=export", '{"0":"a","1":"b","2":true}'),
    ("/.json?shallow=true", '{"list":true,"users":true}'),
    ("/.json?depth=1", '{"list":true,"users":true}'),
    ("/.json?depth=2", '{"list":["a","b",true],"users":{"bob":true,"mchen":true}}'),
    ("/users.json?depth=32", '{"bob":true,"mchen":{"age":33,"name":"Mary Chen"}}'),
    ("/users/mchen/age.json?shallow=true", "33"),
    ("/nothing.json?shallow=true", "null"),
    ("/nothing.json?depth=3", "null"),
    ("/list.json?format=export", '{"0":"a","1":"b","2":{"c":{"0":1}}}'),
    ("/users/bob.json?foo=1&download=x%22y&ac=t", "true"),
]


@pytest.mark.parametrize("target, text", READS)
def test_a_read_is_answered_as_its_parameters_say(
    server: LiveServer, target: str, text: str
) -> None:
    answer = server.ask("GET", target)
    assert answer.status == 200
    assert json.loads(answer.text) == json.loads(text)
    if "pretty" not in target:
        assert answer.text == text


def test_pretty_is_indented(server: LiveServer) -> None:
    assert server.ask("GET", "/list/2.json?print=pretty").text == '{\n  "c": [\n    1\n  ]\n}'
    assert server.ask("PUT", "/x.json?print=pretty", '{"a":1}').text == '{\n  "a": 1\n}'


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "POST", "DELETE"])
def test_silent_is_204_and_still_done(server: LiveServer, method: str) -> None:
    answer = server.ask(method, "/users/bob.json?print=silent", '{"x":1}')
    assert (answer.status, answer.body) == (204, b"")
    assert "content-length" not in answer.headers
    if method in ("PUT", "PATCH"):
        assert server.get("/users/bob.json") == {"x": 1}


def test_priorities_are_shown_by_export_alone(server: LiveServer) -> None:
    value = {".priority": 2, "x": {".value": 1, ".priority": "p"}}
    assert server.ask("PUT", "/v.json", json.dumps(value)).json == {"x": 1}
    assert server.ask("PUT", "/v.json?format=export", json.dumps(value)).json == value
    assert server.get("/v.json") == {"x": 1}
    assert server.get("/v.json?format=export") == value
    assert server.get("/v.json?shallow=true") == {"x": 1}


def test_a_priority_is_a_place(server: LiveServer) -> None:
    assert server.ask("PUT", "/users/bob/.priority.json", "5").text == "5"
    assert server.get("/users/bob/.priority.json") == 5
    assert server.get("/users/bob/.priority.json?shallow=true") == 5
    assert server.get("/users/bob.json?format=export") == {".value": True, ".priority": 5}
    assert server.ask("DELETE", "/users/bob/.priority.json").text == "null"
    assert server.get("/users/bob.json?format=export") is True


def test_nothing_has_no_priority(server: LiveServer) -> None:
    answer = server.ask("PUT", "/nothing/.priority.json", "5")
    assert (answer.status, answer.json["error"]) == (
        400,
        "A priority can only be set where there is a value.",
    )


@pytest.mark.parametrize("method", ["PATCH", "POST"])
def test_a_priority_has_no_children(server: LiveServer, method: str) -> None:
    assert server.ask(method, "/users/bob/.priority.json", '{"a":1}').status == 400


REFUSED_PARAMETERS = [
    ("print=nope", "print"),
    ("shallow=maybe", "shallow"),
    ("depth=33", "depth"),
    ("format=nope", "format"),
    ("shallow=true&orderBy=%22$key%22", "shallow"),
    ("orderBy=key&limitToFirst=1", "orderBy"),
    ("limitToFirst=1", "limitToFirst"),
    ("callback=alert(1)//", "callback"),
    ("foo=%zz", "foo"),
    ("ns=a&ns=b", "ns"),
]


@pytest.mark.parametrize("query, name", REFUSED_PARAMETERS)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_wrong_parameter_is_named(server: LiveServer, method: str, query: str, name: str) -> None:
    answer = server.ask(method, f"/users.json?{query}", "1")
    assert answer.status == 400
    assert name in answer.json["detail"]
    assert server.get("/users.json") == TREE["users"]


# Credentials


@pytest.mark.parametrize("target", ["/users.json?auth=nonsense", "/users.json?access_token="])
def test_a_bad_credential_is_401(server: LiveServer, target: str) -> None:
    answer = server.ask("GET", target)
    assert (answer.status, answer.json) == (401, {"error": "Could not parse auth token."})


@pytest.mark.parametrize("credential", ["owner", ALICE])
def test_a_good_credential_is_taken(server: LiveServer, credential: str) -> None:
    assert server.ask("GET", f"/users.json?auth={credential}").status == 200
    headers = {"Authorization": f"Bearer {credential}"}
    assert server.ask("GET", "/users.json", headers=headers).status == 200


def test_two_credentials_are_400(server: LiveServer) -> None:
    assert server.ask("GET", "/users.json?auth=owner&access_token=owner").status == 400


# Large and many


def test_a_large_value_goes_in_and_out(server: LiveServer) -> None:
    value = {f"k{number:05}": {"n": number, "name": "x" * 50} for number in range(20_000)}
    body = json.dumps(value, separators=(",", ":"))
    assert len(body) > MIB
    assert server.ask("PUT", "/large.json", body).text == body
    answer = server.ask("GET", "/large.json")
    assert answer.text == body
    assert answer.headers["content-length"] == str(len(body))
    assert server.ask("GET", "/large.json?print=pretty").json == value


def test_a_large_patch_is_answered_in_its_order(server: LiveServer) -> None:
    value = {f"m/{number}": "x" * 100 for number in reversed(range(4_000))}
    body = json.dumps(value, separators=(",", ":"))
    assert server.ask("PATCH", "/large.json", body).text == body


def test_connections_are_kept_and_requests_answered_in_order(server: LiveServer) -> None:
    request = b"GET /users/mchen/%s.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.connect() as client:
        client.send(b"".join(request % name for name in (b"age", b"name", b"age")))
        assert [client.answer().json for _ in range(3)] == [33, "Mary Chen", 33]


def test_increments_of_many_clients_all_count(server: LiveServer) -> None:
    def increment(_: int) -> int:
        body = '{".sv":{"increment":1}}'
        return server.ask("PUT", "/count.json", body).status

    with ThreadPoolExecutor(8) as clients:
        assert set(clients.map(increment, range(100))) == {200}
    assert server.get("/count.json") == 100


def test_an_answer_beyond_the_limit_is_refused(tmp_path: Any) -> None:
    limits = replace(DEFAULT_LIMITS, answer_bytes=1000)
    with live_server(tmp_path, limits=limits) as server:
        for number in range(30):
            server.ask("PUT", f"/v/{number}.json?print=silent", '"' + "x" * 100 + '"')
        answer = server.ask("GET", "/v.json")
        assert answer.status == 400
        assert answer.json["error"].startswith("The data requested exceeds the maximum size")
        assert server.ask("GET", "/v.json?shallow=true").json == {
            **answer.json,
            "detail": "The answer has 3091 bytes, one answer holds at most 1000; read fewer levels "
            "or a deeper place.",
        }
        assert server.get("/.json?shallow=true") == {"v": True}


# Bodies on the wire


def test_a_client_that_waits_for_permission_is_given_it(server: LiveServer) -> None:
    head = b"PUT /a.json HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
    with server.connect() as client:
        client.send(head)
        assert client.socket.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b"7")
        assert client.answer().json == 7


def test_a_client_that_waits_with_too_much_is_refused_at_once(server: LiveServer) -> None:
    size = DEFAULT_LIMITS.rest_write_bytes + 1
    head = "PUT /a.json HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n"
    with server.connect() as client:
        client.send(head.format(size).encode())
        answer = client.answer()
        assert (answer.status, answer.json["error"]) == (413, "Payload is too large")
        assert f"{size} bytes, at most {size - 1}" in answer.json["detail"]
        assert client.is_closed_by_peer()


def test_a_hang_up_within_a_body_writes_nothing(
    server: LiveServer, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        with server.connect() as client:
            client.send(b"PUT /users.json HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
    assert server.get("/users.json") == TREE["users"]
    assert errors_logged(caplog) == []
