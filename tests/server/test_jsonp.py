"""JSON as a call of JavaScript."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.server.live_server import LiveServer, live_server
from treedb.config import Settings
from treedb.server.jsonp import as_script

LINE_ENDS = "a\u2028b\u2029c\u2027d"


def test_a_script_calls_the_function_with_the_value() -> None:
    assert as_script("app.f", [b'{"a":', b"1}"]) == b'/**/app.f({"a":1});'


def test_line_ends_of_old_javascript_are_escaped() -> None:
    script = as_script("f", [f'"{LINE_ENDS}"'.encode()])
    assert script == b'/**/f("a\\u2028b\\u2029c\xe2\x80\xa7d");'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("jsonp")
    settings = Settings(data=folder / "data", dev=True, jsonp=True)
    with live_server(folder, settings=settings) as server:
        server.put("/v.json", {"a": [1, "</script>"], "b": LINE_ENDS})
        yield server


def test_a_read_that_names_a_function_is_answered_with_javascript(server: LiveServer) -> None:
    answer = server.ask("GET", "/v/a.json?callback=f")
    assert (answer.status, answer.text) == (200, '/**/f([1,"</script>"]);')
    assert answer.headers["content-type"] == "application/javascript; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("query", ["", "&shallow=true", "&print=pretty", "&orderBy=%22$key%22"])
def test_a_script_runs(server: LiveServer, query: str) -> None:
    script = server.ask("GET", f"/v.json?callback=app.told{query}").text
    expected = server.ask("GET", f"/v.json?{query}").text
    told = f"const app = {{told: value => console.log(JSON.stringify(value))}};\n{script}"
    done = subprocess.run(
        ["node", "--eval", told], capture_output=True, text=True, check=True, timeout=30
    )
    same = ["node", "--eval", f"console.log(JSON.stringify({expected}))"]
    again = subprocess.run(same, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == again.stdout


def test_a_tagged_read_may_be_a_script_too(server: LiveServer) -> None:
    answer = server.ask("GET", "/v/a/0.json?callback=f", headers={"X-Firebase-ETag": "true"})
    assert answer.text == "/**/f(1);"


def test_an_error_stays_json(server: LiveServer) -> None:
    answer = server.ask("GET", "/v.json?callback=f&print=nope")
    assert (answer.status, answer.json["error"]) == (400, "Invalid query parameter")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST", "DELETE"])
def test_only_a_read_may_name_a_function(server: LiveServer, method: str) -> None:
    answer = server.ask(method, "/v.json?callback=f", '{"a":1}')
    assert (answer.status, answer.json["detail"]) == (400, "callback is for GET: leave it out.")


def test_a_stream_is_no_script(server: LiveServer) -> None:
    headers = {"Accept": "text/event-stream"}
    answer = server.ask("GET", "/v.json?callback=f", headers=headers)
    assert (answer.status, answer.json["detail"]) == (
        400,
        "callback is not for streams: leave it out.",
    )


def test_without_the_setting_there_are_no_scripts(tmp_path_factory: pytest.TempPathFactory) -> None:
    with live_server(tmp_path_factory.mktemp("off")) as server:
        answer = server.ask("GET", "/v.json?callback=f")
        assert (answer.status, answer.json["error"]) == (400, "This request is not supported.")
        assert "which the setting jsonp allows" in answer.json["detail"]
