"""A random history: which step comes next, chosen by a seed.

Each step is one that a real server could take next: a callback of the event loop, a batch of the
writer, a message that a client reads or sends, other rules, time that passes, a crash.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.simulation.history import FIRST_STAMP, History, Keys, hash_of, value_at
from tests.simulation.peer import Connection, Request
from tests.simulation.validators import VALIDATORS
from tests.simulation.world import CLIENTS, LIMITS, RULES, SteppedWriter, World, expiry_in
from treedb import database as database_module
from treedb import doubts as doubts_module
from treedb import first_value as first_value_module
from treedb import follower as follower_module
from treedb import reads as reads_module
from treedb.server import outbox as outbox_module
from treedb.server import session as session_module
from treedb.store.kept_rules import Origin

STEPS = 1500
UIDS = ("mchen", "hmadi")
CRASHES = 0.0015  # for each step
ROOMS = ("a", "b")
CHILDREN = ("k1", "k2", "k3", "k4", "k5", "k6")
PLACES: tuple[Keys, ...] = (
    ("rooms",), ("rooms", "a"), ("rooms", "b"), ("rooms", "a", "x"), ("lists", "a"), ("lists", "b"),
)  # fmt: skip
QUERIES: tuple[dict[str, Any], ...] = (
    {"i": "n", "l": 2, "vf": "l"},
    {"i": "n", "l": 3, "vf": "r"},
    {"i": "n", "sp": 3, "ep": 7},
    {"i": "n", "sp": 2, "l": 2, "vf": "l"},
    {"i": ".key", "l": 2, "vf": "r"},
    {"i": ".key", "sp": "k2", "ep": "k4"},
    {"i": "s", "l": 2, "vf": "r"},
)


@dataclass
class Simulation:
    """One history and what moves it."""

    world: World
    random: random.Random
    stamp: int = FIRST_STAMP

    @property
    def history(self) -> History:
        return self.world.history

    def run(self, steps: int) -> History:
        self.world.open()
        for _ in range(steps):
            self.step()
        self.world.settle()
        self.world.crash()
        assert self.world.faults == [], self.world.faults
        return self.history

    def step(self) -> None:
        weighted: tuple[tuple[Callable[[], None], int], ...] = (
            (self.run_loop, 40), (self.write_batch, 10), (self.take_handed, 10), (self.read, 16),
            (self.finish_thread, 8), (self.write, 14), (self.listen, 14), (self.unlisten, 2),
            (self.sign_in, 2), (self.sign_out, 1), (self.connect, 8), (self.disconnect, 1),
            (self.pass_time, 3), (self.change_rules, 1), (self.build, 2), (self.change_member, 3),
        )  # fmt: skip
        moves, weights = zip(*weighted, strict=True)
        self.random.choices(moves, weights)[0]()
        if len(self.world.database._follower._slow_reads):
            self.history.note("a slow read was under way")
        if self.random.random() < CRASHES:
            self.history.note("crash")
            self.world.crash()
            self.world.open()

    # What the server does next.

    def run_loop(self) -> None:
        for _ in range(self.random.choice((1, 1, 3, 10, 40))):
            self.world.loop.run_one()

    def write_batch(self) -> None:
        self.world.writer.take(self.random.choice((1, 1, 2, 4, 8)))

    def take_handed(self) -> None:
        self.world.loop.take_handed()

    def finish_thread(self) -> None:
        threads = self.world.loop.threads
        if threads:
            self.world.loop.finish_thread(self.random.randrange(len(threads)))

    def build(self) -> None:
        self.world.writer.build()

    def pass_time(self) -> None:
        self.world.loop.pass_time(self.random.choice((0.01, 0.1, 0.3, 1.0, 31.0)))

    def change_rules(self) -> None:
        text = self.random.choice(list(RULES))
        self.world.loop.create_task(self.world.database.put_rules(text, Origin.ADMIN))
        self.history.note("rules")

    # What a client does next.

    def some_connection(self) -> Connection | None:
        self.drop_closed()
        connections = list(self.world.connections.values())
        return self.random.choice(connections) if connections else None

    def drop_closed(self) -> None:
        for client, connection in list(self.world.connections.items()):
            if connection.is_over:
                self.history.note("closed by the server")
                del self.world.connections[client]

    def connect(self) -> None:
        self.drop_closed()
        client = self.random.choice(CLIENTS)
        if client not in self.world.connections:
            connection = self.world.connect(client)
            self.sign_in_on(connection)
            for place, query in list(self.world.copies[client])[:2]:
                self.listen_on(
                    connection, place, next((q for q in QUERIES if str(q) == query), None)
                )

    def disconnect(self) -> None:
        connection = self.some_connection()
        if connection is not None:
            connection.cut()
            del self.world.connections[connection.client]

    def read(self) -> None:
        # One of the clients hardly reads.
        connection = self.some_connection()
        if connection is None or (connection.client == "one" and self.random.random() < 0.8):
            return
        for _ in range(self.random.choice((1, 3, 10))):
            connection.door.read()

    def sign_in(self) -> None:
        connection = self.some_connection()
        if connection is not None:
            self.sign_in_on(connection)

    def sign_in_on(self, connection: Connection) -> None:
        uid = self.random.choice((*UIDS, UIDS[0], "7"))
        if self.random.random() < 0.3:
            expiry = expiry_in(self.world.clock, self.random.choice((0.05, 0.5, 5)))
            request = Request("auth", uid=uid, expires_at_ms=expiry)
            connection.send("auth", {"cred": f"{uid}@{expiry}"}, request)
        else:
            connection.send("auth", {"cred": uid}, Request("auth", uid=uid))

    def sign_out(self) -> None:
        connection = self.some_connection()
        if connection is not None:
            connection.send("unauth", {}, Request("unauth"))

    def listen(self) -> None:
        connection = self.some_connection()
        if connection is None:
            return
        if self.random.random() < 0.5:
            place = ("lists", self.random.choice(ROOMS))
            self.listen_on(connection, place, self.random.choice(QUERIES))
        else:
            self.listen_on(connection, self.random.choice(PLACES), None)

    def listen_on(self, connection: Connection, place: Keys, query: dict[str, Any] | None) -> None:
        """Listen, unless the wire could not tell this listen from another of the connection."""
        if (place, str(query)) in connection.listens:
            return
        plain = [each for each, asked in connection.listens if asked == "None"]
        if query is None and any(_overlap(place, each) for each in plain):
            return
        connection.listen(place, query)

    def unlisten(self) -> None:
        connection = self.some_connection()
        if connection is None:
            return
        asked = {each.key for each in connection.requests.values() if each.action == "n"}
        keys = [
            key
            for key, listen in connection.listens.items()
            if listen.is_answered and key not in asked
        ]
        if keys:
            connection.unlisten(self.random.choice(keys))

    # Writes, each with a stamp of its own unless it only removes.

    def next_stamp(self) -> int:
        self.stamp += 1
        return self.stamp

    def number(self) -> float:
        """Return a number for the order of a list, with a fraction that is no other's."""
        return self.random.randrange(10) + self.next_stamp() / 1_000_000

    def child(self) -> dict[str, float]:
        return {"n": self.number(), "s": self.next_stamp()}

    def write(self) -> None:
        connection = self.some_connection()
        if connection is None:
            return
        builds = [self.put_room, self.merge_rooms, self.put_child, self.put_child]
        builds += [self.merge_list, self.put_list, self.remove, self.transact]
        build = self.random.choice(builds)
        build(connection, self.random.choice(ROOMS))

    def put(self, connection: Connection, place: str, value: Any) -> None:
        connection.send("p", {"p": place, "d": value}, Request("p", stamp=self.stamp))

    def merge(self, connection: Connection, place: str, changes: dict[str, Any]) -> None:
        connection.send("m", {"p": place, "d": changes}, Request("m", stamp=self.stamp))

    def put_room(self, connection: Connection, room: str) -> None:
        if self.random.random() < 0.5:
            self.put(connection, f"/rooms/{room}/x/y", self.next_stamp())
        else:
            value = {"x": {"y": self.next_stamp()}, "z": self.next_stamp()}
            self.put(connection, f"/rooms/{room}", value)

    def merge_rooms(self, connection: Connection, room: str) -> None:
        stamp = self.next_stamp()
        self.merge(connection, "/rooms", {"a/x/y": stamp, "b/z": stamp, f"{room}/x/w": None})

    def put_child(self, connection: Connection, room: str) -> None:
        place = f"/lists/{room}/{self.random.choice(CHILDREN)}"
        self.put(connection, place, self.child())

    def merge_list(self, connection: Connection, room: str) -> None:
        gone, moved, new = self.random.sample(CHILDREN, 3)
        place, key = self.random.choice(((f"/lists/{room}", ""), ("/lists", f"{room}/")))
        changes = {
            f"{key}{gone}": None,
            f"{key}{moved}/n": self.number(),
            f"{key}{new}": self.child(),
        }
        self.merge(connection, place, changes)

    def put_list(self, connection: Connection, room: str) -> None:
        chosen = self.random.sample(CHILDREN, self.random.randint(1, len(CHILDREN)))
        self.put(connection, f"/lists/{room}", {key: self.child() for key in sorted(chosen)})

    def remove(self, connection: Connection, room: str) -> None:
        child = self.random.choice(CHILDREN)
        places = (f"/lists/{room}/{child}", f"/rooms/{room}/x", f"/rooms/{room}", f"/lists/{room}")
        place = self.random.choice(places)
        connection.send("p", {"p": place, "d": None}, Request("p"))

    def transact(self, connection: Connection, room: str) -> None:
        trees = self.history.trees
        seen = value_at(trees[-1], ("rooms", room, "x"))
        stamp = self.next_stamp()
        body = {"p": f"/rooms/{room}/x", "d": {"y": stamp}, "h": hash_of(seen)}
        connection.send("p", body, Request("p", stamp=stamp))

    def change_member(self) -> None:
        connection = self.some_connection()
        if connection is not None:
            room, uid = self.random.choice(ROOMS), self.random.choice(UIDS)
            is_in = self.random.random() < 0.75
            place = f"/members/{room}/{uid}"
            connection.send("p", {"p": place, "d": True if is_in else None}, Request("p"))


def _overlap(one: Keys, other: Keys) -> bool:
    size = min(len(one), len(other))
    return one[:size] == other[:size]


def simulate(folder: FilePath, seed: int, patch: pytest.MonkeyPatch, steps: int = STEPS) -> History:
    """Run the history of a seed; what is large in a real server is small here."""
    choice = random.Random(seed)
    patch.setattr(database_module, "Writer", SteppedWriter)
    patch.setattr(reads_module, "INLINE_CHILDREN", choice.choice((1, 500)))
    patch.setattr(first_value_module, "INLINE_BYTES", choice.choice((10, 16384)))
    patch.setattr(session_module, "INLINE_BYTES", choice.choice((60, 1 << 18)))
    patch.setattr(outbox_module, "INLINE_BYTES", choice.choice((20, 1 << 20)))
    patch.setattr(doubts_module, "RECHECK_SLICE", choice.choice((1, 2, 50)))
    patch.setattr(doubts_module, "FEW_CHANGES", choice.choice((0, 1, 8)))
    patch.setattr(follower_module, "PATIENCE", choice.choice((0, 1, 20)))
    limits = replace(
        LIMITS,
        slice_rows=choice.choice((1, 2, 500)),
        row_bytes=choice.choice((60, 1900)),
        outbox_bytes=choice.choice((50, 300, 700)),
    )
    world = World(folder, choice, limits)
    world.clock.step = choice.choice((0.0, 0.0, 0.004, 0.01))
    return Simulation(world, choice).run(steps)


def findings(history: History) -> list[str]:
    """Return what the validators find, each with the name of its guarantee."""
    return [
        f"{validate.__name__}: {finding}"
        for validate in VALIDATORS
        for finding in validate(history)
    ]
