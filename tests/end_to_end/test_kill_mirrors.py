"""kill -9 while members come and go: pairs stay alike, counts right, and what was answered there."""

import http.client
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from typer.testing import CliRunner

from tests.server_process import HOST, ServerProcess, StartServer
from treedb.cli.main import app

ROUNDS = 50
WRITERS = 4
LIFE_SECONDS = (0.05, 0.3)
# A round in which the server died before its first answer tells nothing; few may be such.
EMPTY_ROUNDS = 5
USERS_OF_A_WRITER = 3
GROUPS = tuple(f"g{number}" for number in range(6))
RULES = {
    "rules": {
        ".read": True,
        ".write": True,
        "users": {
            "$uid": {
                "groups": {
                    ".count": "/users/$uid/groupCount",
                    "$gid": {".mirror": "/groups/$gid/members/$uid"},
                },
            }
        },
        "groups": {"$gid": {"members": {".count": "/groups/$gid/memberCount"}}},
    }
}

# The values at pairs, by user and group.
Pairs = dict[tuple[str, str], Any]
# A request and what it makes of the pairs of a writer's users.
Change = tuple[str, str, object, Callable[[Pairs], Pairs]]


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: object) -> Any:
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Authorization": "Bearer owner"})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == http.client.OK, content[:500]
    return json.loads(content)


def ask_once(server: ServerProcess, method: str, path: str, body: object = None) -> Any:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    try:
        return ask(connection, method, path, body)
    finally:
        connection.close()


@dataclass
class Writer:
    """One client that lets users of its own join and leave groups that are everybody's.

    `members` is what was acknowledged. When the server dies, `unsure` is what the last request
    would have made of it.
    """

    name: str
    seed: int
    members: Pairs = field(default_factory=dict)
    unsure: Pairs = field(default_factory=dict)
    acknowledged: int = 0

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.users = [f"{self.name}-{number}" for number in range(USERS_OF_A_WRITER)]

    def run(self, port: int) -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=30)
        try:
            while True:
                method, path, body, change = self.change()
                self.unsure = change(self.members)
                ask(connection, method, path, body)
                self.members = self.unsure
                self.acknowledged += 1
        except (OSError, http.client.HTTPException):
            return  # the server was killed
        finally:
            connection.close()

    def change(self) -> Change:
        user, group, other = self.draw.choice(self.users), *self.draw.sample(GROUPS, 2)
        value = self.draw.choice([True, self.acknowledged, {"since": self.acknowledged}])
        pair = user, group
        here, there = f"/users/{user}/groups/{group}.json", f"/groups/{group}/members/{user}.json"
        side = self.draw.choice([here, there])
        changes: list[Change] = [
            ("PUT", side, value, lambda old: {**old, pair: value}),
            ("DELETE", side, None, lambda old: without(old, pair)),
            ("DELETE", f"/users/{user}.json", None, lambda old: without_user(old, user)),
            (
                "PATCH",
                "/.json",
                {f"users/{user}/groups/{group}": value, f"groups/{other}/members/{user}": None},
                lambda old: {**without(old, (user, other)), pair: value},
            ),
            (
                "PUT",
                f"/users/{user}/groups.json",
                {group: value, other: True},
                lambda old: {**without_user(old, user), pair: value, (user, other): True},
            ),
        ]
        return self.draw.choices(changes, weights=[5, 3, 1, 3, 1])[0]

    def check(self, found: Pairs) -> None:
        """Compare what a fresh server holds with what was acknowledged, and go on from there."""
        mine = {pair: value for pair, value in found.items() if pair[0] in self.users}
        assert mine in (self.members, self.unsure), self.name
        self.members = mine


def without(pairs: Pairs, gone: tuple[str, str]) -> Pairs:
    return {pair: value for pair, value in pairs.items() if pair != gone}


def without_user(pairs: Pairs, user: str) -> Pairs:
    return {pair: value for pair, value in pairs.items() if pair[0] != user}


def pairs_of(tree: dict[str, Any]) -> Pairs:
    """Return the pairs of a tree, and hold both sides and all counts against one another."""
    users, groups = tree.get("users", {}), tree.get("groups", {})
    here = {
        (user, group): value
        for user, each in users.items()
        for group, value in each.get("groups", {}).items()
    }
    there = {
        (user, group): value
        for group, each in groups.items()
        for user, value in each.get("members", {}).items()
    }
    assert here == there
    for each, collection, count in (
        *((user, "groups", "groupCount") for user in users.values()),
        *((group, "members", "memberCount") for group in groups.values()),
    ):
        assert each.get(count, 0) == len(each.get(collection, {}))
    return here


def check_as_an_operator(server: ServerProcess) -> None:
    """Hold every pair and count in the killed server's data against one another."""
    ended = CliRunner().invoke(app, ["mirrors", "check", "--data", str(server.data)])
    assert ended.exit_code == 0, ended.output
    assert "0 faults" in ended.output


def one_life(server: ServerProcess, writers: list[Writer], seconds: float) -> int:
    """Let the writers write until the server is killed; return how many writes it acknowledged."""
    before = sum(writer.acknowledged for writer in writers)
    server.kill_amid([partial(writer.run, server.port) for writer in writers], seconds)
    return sum(writer.acknowledged for writer in writers) - before


def test_pairs_are_alike_and_nothing_acknowledged_is_lost_by_kill_9(
    start_server: StartServer, seed: int
) -> None:
    print("seed:", seed)
    draw = random.Random(seed)
    server = start_server()
    ask_once(server, "PUT", "/.settings/rules.json", RULES)
    writers = [Writer(f"w{number}", seed + number) for number in range(WRITERS)]
    counts = []
    for _ in range(ROUNDS):
        counts.append(one_life(server, writers, draw.uniform(*LIFE_SECONDS)))
        check_as_an_operator(server)
        server.start()
        found = pairs_of(ask_once(server, "GET", "/.json") or {})
        for writer in writers:
            writer.check(found)
    print("acknowledged in each round:", counts)
    assert sum(count == 0 for count in counts) <= EMPTY_ROUNDS
