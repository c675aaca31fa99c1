"""Scenarios in which clients and servers are killed, each client a process with an SDK in it."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.end_to_end.test_scenarios import OF_PROCESSES, scenarios_of
from tests.server_process import ServerProcess, StartServer

APIS = ("modular", "compat")
StartNode = Callable[..., subprocess.Popen[str]]


class Cast:
    """The clients of one API, in a namespace of their own; each is started when first spoken of."""

    def __init__(self, server: ServerProcess, start_node: StartNode, api: str) -> None:
        self.server = server
        self.start_node = start_node
        self.api = api
        self.clients: dict[str, subprocess.Popen[str]] = {}

    def tell(self, step: dict[str, Any]) -> None:
        """Have a client begin a step."""
        name = step["by"]
        if name not in self.clients:
            arguments = ("scenarios/puppet.mjs", self.api, f"processes-{self.api}")
            self.clients[name] = self.start_node(self.server, *arguments)
        process = self.clients[name]
        assert process.stdin is not None
        process.stdin.write(json.dumps(step) + "\n")
        process.stdin.flush()

    def hold_to(self, step: dict[str, Any]) -> None:
        """Wait until the client has done the step, which may not go wrong."""
        process = self.clients[step["by"]]
        assert process.stdout is not None
        wrong = json.loads(process.stdout.readline())
        assert wrong is None, (self.api, step, wrong)


def perform(step: dict[str, Any], server: ServerProcess, casts: list[Cast]) -> None:
    match step["do"]:
        case "kill server":
            server.kill()
        case "stop server":
            server.stop()
        case "start server":
            server.start()
        case "kill client":
            for cast in casts:
                cast.clients[step["client"]].kill()
        case _:
            for cast in casts:
                cast.tell(step)
            for cast in casts:
                cast.hold_to(step)


@pytest.mark.parametrize("scenario", scenarios_of(OF_PROCESSES), ids=lambda each: each["name"])
def test_processes_that_end(
    start_server: StartServer, start_node: StartNode, scenario: dict[str, Any]
) -> None:
    server = start_server()
    casts = [Cast(server, start_node, api) for api in APIS]
    for step in scenario["steps"]:
        perform(step, server, casts)
