import json
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.server.live_server import LiveServer, errors_logged, live_server
from treedb.database import Database
from treedb.errors import Unavailable
from treedb.writes.request import Write

NO_ENDING = {"error": "append .json to your request URI to use the REST API."}


@pytest.mark.parametrize("target", ["/", "/x", "/x/", "/.x", "/.health/", "/.settings", "/.lp/"])
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_what_is_no_place_is_404(shared: LiveServer, method: str, target: str) -> None:
    answer = shared.ask(method, target, "1")
    assert (answer.status, answer.json) == (404, NO_ENDING)


def test_websockets_and_rest_share_a_port_and_a_tree(shared: LiveServer) -> None:
    with connect(f"ws://127.0.0.1:{shared.port}/.ws?v=5&ns=n") as socket:
        assert json.loads(socket.recv())["t"] == "c"
        socket.send('{"t":"d","d":{"r":1,"a":"p","b":{"p":"/v","d":7}}}')
        assert json.loads(socket.recv())["d"]["b"]["s"] == "ok"
    assert shared.get("/v.json?ns=n") == 7


def test_a_plain_request_to_the_websocket_is_told_to_upgrade(shared: LiveServer) -> None:
    assert shared.ask("GET", "/.ws").status == 426


def test_other_websockets_are_refused(shared: LiveServer) -> None:
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(f"ws://127.0.0.1:{shared.port}/v.json"),
    ):
        pass


def test_the_client_is_served_to_any_origin(shared: LiveServer) -> None:
    answer = shared.ask("GET", "/.client/index.js")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert shared.ask("GET", "/.client/../../pyproject.toml").status == 404


async def test_the_databases_are_closed_when_the_server_stops(tmp_path: Path) -> None:
    with live_server(tmp_path) as server:
        server.put("/v.json", 1)
        databases = server.databases
    with pytest.raises(Unavailable):
        await databases.get("default")


class Faulty(Database):
    """A database with a fault in its program."""

    def submit(self, write: Write) -> None:  # type: ignore[override]
        """Fail as only a fault can."""
        raise ZeroDivisionError


def test_a_fault_is_logged_and_told_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with live_server(tmp_path) as server:
        server.put("/v.json", 1)
        make_faulty(server)
        answer = server.ask("PUT", "/v.json?auth=owner", "2")
        assert (answer.status, answer.json) == (500, {"error": "Internal server error"})
        assert server.get("/v.json") == 1
    assert "PUT b'/v.json' failed" in errors_logged(caplog)
    assert any(each.exc_info for each in caplog.records)
    assert "owner" not in caplog.text


def make_faulty(server: LiveServer) -> None:
    server.databases._databases["default"].__class__ = Faulty
