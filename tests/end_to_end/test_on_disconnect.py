"""What clients leave to be written at their end, when clients and servers die as they do."""

import json
import random
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.server_process import ServerProcess, StartServer, wait_until
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.store.store import Store

RunNode = Callable[..., str]
StartNode = Callable[..., subprocess.Popen[str]]

WAIT_SECONDS = 20.0
LIVES = 10
LIFE_SECONDS = (0.1, 0.5)


def test_the_sdk_finds_what_firebase_would_give(server: ServerProcess, run_node: RunNode) -> None:
    run_node(server, "--test", "on_disconnect.test.mjs")


def leave(server: ServerProcess, start_node: StartNode, path: str) -> subprocess.Popen[str]:
    """Start a client that leaves writes for its end; return it when it has."""
    process = start_node(server, "leaver.mjs", "ends", path)
    assert process.stdout is not None
    assert process.stdout.readline() == "left\n"
    return process


def get(server: ServerProcess, path: str) -> Any:
    with urllib.request.urlopen(f"{server.url}/{path}.json?ns=ends", timeout=30) as answer:
        return json.load(answer)


def check_left(value: Any) -> None:
    assert value.pop("last").keys() == {"at"}
    assert value == {"state": "offline", "times": 1}


def test_a_client_that_is_killed_has_left(server: ServerProcess, start_node: StartNode) -> None:
    watcher = start_node(server, "watcher.mjs", "ends", "killed")
    assert watcher.stdout is not None
    assert watcher.stdout.readline() == "null\n"
    process = leave(server, start_node, "killed")
    assert json.loads(watcher.stdout.readline()) == {"state": "online"}
    process.kill()
    check_left(json.loads(watcher.stdout.readline()))


def in_store(server: ServerProcess, path: str) -> Any:
    """Read what a server that has ended left on disk."""
    store = Store.open(server.data / "ends", DEFAULT_LIMITS)
    try:
        with store.snapshot() as snapshot:
            assert snapshot.sessions() == []
            return snapshot.tree.get(Path.parse(path))
    finally:
        store.close()


def test_the_clients_of_a_server_that_is_killed_have_left_once_it_is_back(
    start_server: StartServer, start_node: StartNode
) -> None:
    server = start_server()
    clients = [leave(server, start_node, f"client{number}") for number in range(3)]
    server.kill()
    for client in clients:
        client.kill()
    for _ in range(2):  # the second start finds nothing more to do
        server.start()
        server.stop()
        for number in range(3):
            check_left(in_store(server, f"client{number}"))
    assert server.log.count("sessions ended with the server that served them") == 1


def test_a_server_that_is_stopped_writes_what_its_clients_left(
    start_server: StartServer, start_node: StartNode
) -> None:
    server = start_server()
    leave(server, start_node, "stopped")
    server.stop()
    check_left(in_store(server, "stopped"))


class Socket:
    """A client that speaks the protocol itself, to come back while its old socket stays open."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.id = json.loads(connection.recv(WAIT_SECONDS))["d"]["d"]["s"]

    def ask(self, action: str, **body: Any) -> Any:
        message = {"t": "d", "d": {"r": 1, "a": action, "b": body}}
        self.connection.send(json.dumps(message))
        return json.loads(self.connection.recv(WAIT_SECONDS))["d"]["b"]["s"]

    def cut(self) -> None:
        """End without a word of goodbye."""
        self.connection.socket.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def open_socket(server: ServerProcess) -> Iterator[Callable[..., Socket]]:
    """Open sockets that stay open until the test has ended; they may name a previous session."""
    with ExitStack() as stack:

        def open_one(previous: str = "") -> Socket:
            address = f"ws://{server.address}/.ws?v=5&ns=ends&ls={previous}"
            return Socket(stack.enter_context(connect(address)))

        yield open_one


def test_who_comes_back_writes_after_its_old_connection_has_ended(
    server: ServerProcess, open_socket: Callable[..., Socket]
) -> None:
    count = {".sv": {"increment": 1}}
    old = open_socket()
    for number in range(10):
        assert old.ask("om", p="/back", d={"state": "offline", "ends": count}) == "ok"
        back = open_socket(old.id)
        assert back.ask("p", p="/back/state", d="online") == "ok"
        assert get(server, "back") == {"state": "online", "ends": number + 1}
        old = back
    assert old.ask("o", p="/back/state", d="gone") == "ok"
    old.cut()
    wait_until(lambda: get(server, "back/state") == "gone", WAIT_SECONDS, "the end")
    assert get(server, "back/ends") == 10


@pytest.mark.parametrize("end", [Socket.cut, lambda each: each.connection.close()])
def test_a_connection_that_is_closed_or_cut_has_ended(
    server: ServerProcess, open_socket: Callable[..., Socket], end: Callable[[Socket], None]
) -> None:
    client = open_socket()
    assert client.ask("p", p="/cut", d="online") == "ok"
    assert client.ask("o", p="/cut", d="offline") == "ok"
    end(client)
    wait_until(lambda: get(server, "cut") == "offline", WAIT_SECONDS, "the end")


class Leavers:
    """Clients one after the other, each of which counts its own end: `counts` to be in the end.

    An end that was left for sure is 1; of one without an answer nobody knows yet, and it is None.
    """

    def __init__(self, server: ServerProcess, name: str, seed: int) -> None:
        self.server = server
        self.name = name
        self.draw = random.Random(seed)
        self.counts: dict[str, int | None] = {}

    def run(self) -> None:
        """Come and go until the server is gone."""
        address = f"ws://{self.server.address}/.ws?v=5&ns=ends"
        try:
            while True:
                with connect(address) as connection:
                    self.leave(Socket(connection))
        except (OSError, WebSocketException, TimeoutError):
            return

    def leave(self, client: Socket) -> None:
        for _ in range(self.draw.randint(1, 3)):
            key = f"{self.name}-{len(self.counts)}"
            self.counts[key] = None
            place = f"/counts/{key}"
            assert client.ask("o", p=place, d={".sv": {"increment": 1}}) == "ok"
            self.counts[key] = 1
            if self.draw.random() < 0.2:
                self.counts[key] = None
                assert client.ask("oc", p=place, d=None) == "ok"
                self.counts[key] = 0

    def check(self, found: Mapping[str, int]) -> None:
        for key, count in self.counts.items():
            allowed = (0, 1) if count is None else (count,)
            assert found.get(key, 0) in allowed, (key, count, found.get(key))


def test_every_end_is_written_once_whenever_the_server_is_killed(
    start_server: StartServer, seed: int
) -> None:
    print("seed:", seed)
    draw = random.Random(seed)
    server = start_server()
    everybody = []
    for life in range(LIVES):
        leavers = [Leavers(server, f"{life}-{each}", draw.getrandbits(32)) for each in range(4)]
        everybody += leavers
        threads = [threading.Thread(target=each.run) for each in leavers]
        for thread in threads:
            thread.start()
        time.sleep(draw.uniform(*LIFE_SECONDS))
        server.kill()
        for thread in threads:
            thread.join()
        server.start()
    found = get(server, "counts")
    for each in everybody:
        each.check(found)
    ends = sum(len(each.counts) for each in everybody)
    print("ends:", ends, "left at a kill:", server.log.count("ended with the server"))
    assert ends > LIVES
    assert "ended with the server" in server.log
