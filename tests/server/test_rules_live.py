"""The scenarios of the rules, over REST and over a websocket: both decide as the table says."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any
from urllib.parse import quote

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.server.live_server import HOST, LiveServer, live_server
from treedb.config import DEFAULT_LIMITS

SPEC = FilePath(__file__).parents[1] / "spec"
RULES = json.loads((SPEC / "rules.json").read_text())
SCENARIOS, LOADING = RULES["scenarios"], RULES["loading"]
LIMITS = replace(DEFAULT_LIMITS, namespaces=400, map_bytes=1 << 28)
OWNER = {"Authorization": "Bearer owner"}

# What a transport cannot say yet: a read with a query. The evaluator alone decides those rows.
BY_QUERY = [row for row in SCENARIOS if "query" in row]
LIVE = [row for row in SCENARIOS if "query" not in row]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("rules"), limits=LIMITS) as running:
        yield running


class Client:
    """A realtime client that is an admin acting as somebody."""

    def __init__(self, socket: ClientConnection, variable: Any) -> None:
        self._socket = socket
        self._number = 0
        acting = {"noauth": True} if variable is None else {"authvar": variable}
        assert self.ask("gauth", {"cred": "owner", **acting}) == "ok"

    def ask(self, action: str, body: Any) -> str:
        self._number += 1
        message = {"t": "d", "d": {"r": self._number, "a": action, "b": body}}
        self._socket.send(json.dumps(message))
        while True:
            heard = json.loads(self._socket.recv(timeout=10))["d"]
            if heard.get("r") == self._number:
                status: str = heard["b"]["s"]
                return status


def prepare(server: LiveServer, namespace: str, row: dict[str, Any]) -> None:
    rules = json.dumps({"rules": row["rules"]})
    put = server.ask("PUT", f"/.settings/rules.json?ns={namespace}", rules, headers=OWNER)
    assert put.status == 200, put.text
    data = server.ask("PUT", f"/.json?ns={namespace}", json.dumps(row["data"]), headers=OWNER)
    assert data.status == 200, data.text


def by_rest(server: LiveServer, row: dict[str, Any]) -> bool:
    namespace = f"rest{row['number']}"
    prepare(server, namespace, row)
    variable = quote(json.dumps(row["auth"]))
    method = {"read": "GET", "set": "PUT", "update": "PATCH"}[row["operation"]]
    body = None if method == "GET" else json.dumps(row["value"])
    path = row["path"].rstrip("/") + "/.json"
    target = f"{path}?ns={namespace}&auth_variable_override={variable}"
    answer = server.ask(method, target, body, headers=OWNER)
    assert answer.status in {200, 401}, answer.text
    return answer.status == 200


def by_websocket(server: LiveServer, row: dict[str, Any]) -> bool:
    namespace = f"ws{row['number']}"
    prepare(server, namespace, row)
    action = {"read": "q", "set": "p", "update": "m"}[row["operation"]]
    body = {"p": row["path"], **({"h": ""} if action == "q" else {"d": row["value"]})}
    url = f"ws://{HOST}:{server.port}/.ws?v=5&ns={namespace}"
    with connect(url, compression=None) as socket:
        client = Client(socket, row["auth"])
        status = client.ask(action, body)
        if action == "q":
            assert client.ask("g", {"p": row["path"], "q": {}}) == status
    assert status in {"ok", "permission_denied"}
    return status == "ok"


@pytest.mark.parametrize("row", LIVE, ids=lambda row: f"{row['number']} {row['why']}")
def test_both_transports_decide_as_the_table_says(server: LiveServer, row: dict[str, Any]) -> None:
    assert by_rest(server, row) is row["allowed"]
    assert by_websocket(server, row) is row["allowed"]


def test_only_rows_with_queries_are_left_to_the_evaluator() -> None:
    assert all(row["operation"] == "read" for row in BY_QUERY)
    assert len(LIVE) + len(BY_QUERY) == len(SCENARIOS)


@pytest.mark.parametrize("case", LOADING, ids=lambda case: case["text"])
def test_a_text_loads_over_rest_or_is_refused_with_the_message(
    server: LiveServer, case: dict[str, Any]
) -> None:
    text = case["text"]
    if case["kind"] != "file":
        text = json.dumps({"rules": {"w": {"$k": {case["kind"]: text}}}})
    target = "/.settings/rules.json?ns=loading&dryRun=true"
    answer = server.ask("PUT", target, text.encode("utf-8", "surrogatepass"), headers=OWNER)
    if case["message"] is None:
        assert (answer.status, answer.json) == (200, {"status": "ok"})
        return
    assert answer.status == 400
    expected = case["message"].removesuffix("...")
    assert any(each["message"].startswith(expected) for each in answer.json["findings"])
