"""The npm package `firebase`, unmodified, in Node, as client of a treedb server."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.server_process import ServerProcess, StartServer

RunNode = Callable[..., str]
StartNode = Callable[..., subprocess.Popen[str]]


@pytest.mark.parametrize("scenarios", ["values", "events", "admin", "rules", "rules_unit_testing"])
def test_the_sdk_finds_what_firebase_would_give(
    server: ServerProcess, run_node: RunNode, scenarios: str
) -> None:
    run_node(server, "--test", f"{scenarios}.test.mjs")


class Watcher:
    """A Node process that prints what its listener is shown."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def next(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


class Writer:
    """A Node process that sets what it is told, and says when it was acknowledged."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def set(self, value: object) -> None:
        self.send(value)
        self.acknowledged()

    def send(self, value: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def acknowledged(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "acknowledged\n"


def test_what_one_process_writes_another_is_shown(
    server: ServerProcess, start_node: StartNode
) -> None:
    watcher = Watcher(start_node(server, "watcher.mjs", "pair", "room/topic"))
    writer = Writer(start_node(server, "writer.mjs", "pair", "room/topic"))
    assert watcher.next() is None
    for value in ("hello", {"a": [1, 2]}, 7, None):
        writer.set(value)
        assert watcher.next() == value


def test_clients_come_back_after_a_kill_and_a_restart(
    start_server: StartServer, start_node: StartNode
) -> None:
    server = start_server()
    watcher = Watcher(start_node(server, "watcher.mjs", "again", "state"))
    writer = Writer(start_node(server, "writer.mjs", "again", "state"))
    assert watcher.next() is None
    writer.set("before")
    assert watcher.next() == "before"
    server.kill()
    writer.send("while it was away")
    server.start()
    writer.acknowledged()
    assert watcher.next() == "while it was away"
    writer.set("after")
    assert watcher.next() == "after"


def test_namespaces_do_not_see_each_other(server: ServerProcess, start_node: StartNode) -> None:
    left = Watcher(start_node(server, "watcher.mjs", "left", "same"))
    right = Watcher(start_node(server, "watcher.mjs", "right", "same"))
    assert left.next() is None
    assert right.next() is None
    Writer(start_node(server, "writer.mjs", "right", "same")).set("for the right")
    Writer(start_node(server, "writer.mjs", "left", "same")).set("for the left")
    assert left.next() == "for the left"
    assert right.next() == "for the right"
