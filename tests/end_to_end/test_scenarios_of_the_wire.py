"""Scenarios of the realtime protocol as it is spoken on a websocket, message by message."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.end_to_end.test_scenarios import OF_THE_WIRE, scenarios_of
from tests.server_process import ServerProcess

LONGEST_SECONDS = 20.0
OPEN = {".read": True, ".write": True}


class Conversation:
    """One scenario's namespace and connections; each is opened when it is first spoken of."""

    def __init__(self, server: ServerProcess, contexts: ExitStack) -> None:
        self.server = server
        self.contexts = contexts
        self.connections: dict[str, ClientConnection] = {}

    def begin(self, rules: Any) -> None:
        self.administer("PUT", "/.settings/rules.json", {"rules": OPEN})
        self.administer("DELETE", "/.json", None)
        self.administer("PUT", "/.settings/rules.json", {"rules": rules})

    def administer(self, method: str, path: str, content: Any) -> None:
        url, headers = f"{self.server.url}{path}?ns=wire", {"Authorization": "Bearer owner"}
        answer = httpx.request(method, url, json=content, headers=headers)
        assert answer.is_success, answer.text

    def connection(self, name: str) -> ClientConnection:
        if name not in self.connections:
            url = f"ws://{self.server.address}/.ws?v=5&ns=wire"
            opened = self.contexts.enter_context(connect(url, compression=None))
            self.connections[name] = opened
        return self.connections[name]

    def perform(self, step: list[Any]) -> None:
        words: str = step[0]
        content: Any = step[1] if len(step) > 1 else None
        if words == "rules":
            self.administer("PUT", "/.settings/rules.json", {"rules": content})
            return
        name, sign = words.split(" ")
        connection = self.connection(name)
        match sign:
            case ">":
                connection.send(json.dumps({"t": "d", "d": content}))
            case ">>":
                connection.send(json.dumps(content))
            case ">|":
                connection.send(str(content))
            case "|":
                connection.close()
            case "<":
                self.hear(connection, {"t": "d", "d": content})
            case "<<":
                self.hear(connection, content)

    def hear(self, connection: ClientConnection, expected: Any) -> None:
        heard = json.loads(connection.recv(timeout=LONGEST_SECONDS))
        assert fits(heard, self.with_address(expected)), (heard, expected)

    def with_address(self, expected: Any) -> Any:
        return json.loads(json.dumps(expected).replace("{address}", self.server.address))


def fits(heard: Any, expected: Any) -> bool:
    if expected == "*":
        return True
    if isinstance(expected, dict) and isinstance(heard, dict):
        return heard.keys() == expected.keys() and all(
            fits(heard[key], expected[key]) for key in expected
        )
    return type(heard) is type(expected) and bool(heard == expected)


@pytest.fixture
def conversation(server: ServerProcess) -> Iterator[Conversation]:
    with ExitStack() as contexts:
        yield Conversation(server, contexts)


@pytest.mark.parametrize("scenario", scenarios_of(OF_THE_WIRE), ids=lambda each: each["name"])
def test_what_is_said(conversation: Conversation, scenario: dict[str, Any]) -> None:
    conversation.begin(scenario.get("rules", OPEN))
    for step in scenario["steps"]:
        conversation.perform(step)
