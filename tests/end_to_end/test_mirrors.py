"""Mirrors through clients nobody changed: both sides hear of one commit, whoever wrote which."""

import http.client
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.server.event_client import EventStream
from tests.server.raw_websocket import RawWebSocket
from tests.server_process import HOST, ServerProcess

RULES = {
    "rules": {
        ".read": True,
        ".write": True,
        "users": {"$uid": {"groups": {"$gid": {".mirror": "/groups/$gid/members/$uid"}}}},
        "groups": {"$gid": {"members": {".count": "/groups/$gid/memberCount"}}},
    }
}
MANY_GROUPS = 10_000
SMALL_BYTES = 200

Change = list[Any]


def ask(server: ServerProcess, method: str, path: str, namespace: str, body: object = None) -> Any:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
    text = None if body is None else json.dumps(body)
    try:
        target = f"{path}?ns={namespace}&print=silent" if body else f"{path}?ns={namespace}"
        connection.request(method, target, text, {"Authorization": "Bearer owner"})
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status in (http.client.OK, http.client.NO_CONTENT), content[:500]
        return json.loads(content) if content else None
    finally:
        connection.close()


class Clients:
    """SDK clients in one Node process, and what their listeners were shown."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._waiting: list[list[Any]] = []

    def do(self, name: str, *action: object) -> None:
        """Let a client do something, and wait until it has."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, *action]) + "\n")
        self._process.stdin.flush()
        self._next([name, "done"])

    def shown(self, name: str, path: str) -> Any:
        """Return what a listener is shown next."""
        return self._next([name, "shown", path])[3]

    def _next(self, beginning: list[str]) -> list[Any]:
        """Return the next line with a beginning; others wait for whom they concern."""
        for number, line in enumerate(self._waiting):
            if line[: len(beginning)] == beginning:
                return self._waiting.pop(number)
        assert self._process.stdout is not None
        while (line := json.loads(self._process.stdout.readline()))[: len(beginning)] != beginning:
            self._waiting.append(line)
        return line


@pytest.fixture(scope="module")
def clients(server: ServerProcess, node: str, scripts: FilePath) -> Iterator[Clients]:
    process = subprocess.Popen(
        [node, "clients_by_lines.mjs"],
        cwd=scripts,
        env={**os.environ, "TREEDB_URL": server.url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    yield Clients(process)
    process.kill()
    process.communicate()


class World:
    """Two places that are mirrored and a count, listened to by SDKs and by streams."""

    PLACES = ("groups/alpha/members", "users/mchen/groups", "groups/alpha/memberCount")

    def __init__(self, server: ServerProcess, clients: Clients, namespace: str) -> None:
        self._clients = clients
        self._namespace = namespace
        ask(server, "PUT", "/.settings/rules.json", namespace, RULES)
        self._streams = [
            EventStream(server.port, f"/{place}.json?ns={namespace}") for place in self.PLACES
        ]
        for place in self.PLACES:
            clients.do(f"{namespace} at-{place}", "listen", place)
        assert self.shown() == (None, None, None)
        self.revisions()

    def change(self, change: Change) -> None:
        self._clients.do(f"{self._namespace} writer", *change)

    def shown(self) -> tuple[Any, ...]:
        """Return what the SDKs' listeners are shown next."""
        name = f"{self._namespace} at-"
        return tuple(self._clients.shown(name + place, place) for place in self.PLACES)

    def revisions(self) -> list[int]:
        """Return of which commits the streams tell next."""
        events = [stream.next() for stream in self._streams]
        return [int(event.last_id.partition("-")[0]) for event in events if event is not None]

    def close(self) -> None:
        for stream in self._streams:
            stream.close()


@pytest.fixture
def world(
    server: ServerProcess, clients: Clients, request: pytest.FixtureRequest
) -> Iterator[World]:
    namespace = "".join(filter(str.isalnum, request.node.name))[-40:].lower()
    with closing(World(server, clients, namespace)) as world:
        yield world


IN_ALPHA: Change = ["update", "/", {"users/mchen/groups/alpha": True, "users/hmadi/groups/alpha": True}]  # fmt: skip
BOTH = ({"hmadi": True, "mchen": True}, {"alpha": True}, 2)
OTHERS = ({"hmadi": True}, None, 1)

CHANGES: list[tuple[str, Change, tuple[Any, ...]]] = [
    ("leaving at the group", ["remove", "groups/alpha/members/mchen"], OTHERS),
    ("leaving at the user", ["remove", "users/mchen/groups/alpha"], OTHERS),
    ("deleting the user", ["remove", "users/mchen"], OTHERS),
    ("deleting the group", ["remove", "groups/alpha"], (None, None, None)),
    ("deleting everything", ["remove", "/"], (None, None, None)),
    ("joining by both sides in one update", ["update", "/", {"users/cat/groups/alpha": 1, "groups/beta/members/mchen": 2}], ({"cat": 1, "hmadi": True, "mchen": True}, {"alpha": True, "beta": 2}, 3)),
    ("one for two others in one update", ["update", "/", {"groups/alpha/members/mchen": None, "users/hmadi": None, "users/cat/groups/alpha": 1, "users/mchen/groups/beta": True}], ({"cat": 1}, {"beta": True}, 1)),
    ("a transaction on all members", ["transaction", "groups/alpha/members", {"hmadi": 5}], ({"hmadi": 5}, None, 1)),
    ("replacing the user's groups", ["set", "users/mchen/groups", {"beta": True}], ({"hmadi": True}, {"beta": True}, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("change", "shown"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])  # fmt: skip
def test_all_sides_hear_of_one_commit(world: World, change: Change, shown: tuple[Any, ...]) -> None:
    world.change(IN_ALPHA)
    assert world.shown() == BOTH
    (joined,) = set(world.revisions())
    world.change(change)
    assert world.shown() == shown
    assert world.revisions() == [joined + 1] * 3


def test_both_directions_and_a_field_below(world: World) -> None:
    steps: list[tuple[Change, tuple[Any, ...]]] = [
        (["set", "users/mchen/groups/alpha", {"since": 1}], ({"mchen": {"since": 1}}, {"alpha": {"since": 1}}, 1)),
        (["remove", "groups/alpha/members/mchen/since"], (None, None, None)),
        (["set", "groups/alpha/members/mchen", True], ({"mchen": True}, {"alpha": True}, 1)),
    ]  # fmt: skip
    revisions: list[int] = []
    for change, shown in steps:
        world.change(change)
        assert world.shown() == shown
        revisions += set(world.revisions())
    first = revisions[0]
    assert revisions == [first, first + 1, first + 2]


def test_a_session_that_ends_leaves_both_sides(world: World) -> None:
    world.change(IN_ALPHA)
    assert world.shown() == BOTH
    (joined,) = set(world.revisions())
    world.change(["leaveAtEnd", "users/mchen/groups/alpha"])
    world.change(["end", "/"])
    assert world.shown() == OTHERS
    assert world.revisions() == [joined + 1] * 3


def test_deleting_a_user_of_ten_thousand_groups_is_one_commit_and_one_small_message(
    server: ServerProcess,
) -> None:
    """How long it takes is measured in benchmarks/mirrors.py."""
    namespace = "crowd"
    ask(server, "PUT", "/.settings/rules.json", namespace, RULES)
    groups = {f"g{number}": {"name": "a group"} for number in range(MANY_GROUPS)}
    ask(server, "PUT", "/groups.json", namespace, groups)
    everywhere = dict.fromkeys(groups, True)
    ask(server, "PUT", "/users/mchen/groups.json", namespace, everywhere)
    with (
        EventStream(server.port, f"/groups/g7.json?ns={namespace}") as stream,
        RawWebSocket(server.port, namespace) as subscriber,
    ):
        first = stream.next()
        assert first is not None
        assert first.json["data"] == {"name": "a group", "members": {"mchen": True}, "memberCount": 1}  # fmt: skip
        subscriber.ask(1, "q", {"p": "/groups/g7", "h": ""})
        while subscriber.read()["d"].get("r") != 1:
            pass
        ask(server, "DELETE", "/users/mchen.json", namespace)
        told = stream.next()
        assert told is not None
        assert told.name == "patch"
        assert told.json["data"] == {"members/mchen": None, "memberCount": None}
        before, after = (int(event.last_id.partition("-")[0]) for event in (first, told))
        assert after == before + 1
        pushed = subscriber.read()
        assert pushed["d"]["b"] == {"p": "groups/g7", "d": told.json["data"]}
        assert len(json.dumps(pushed)) < SMALL_BYTES
        ask(server, "PUT", "/groups/g7/name.json", namespace, "nothing came between")
        assert stream.told() == ("put", {"path": "/name", "data": "nothing came between"})
        assert subscriber.read()["d"]["b"]["d"] == "nothing came between"
    groups["g7"] = {"name": "nothing came between"}
    assert ask(server, "GET", "/.json", namespace) == {"groups": groups}
