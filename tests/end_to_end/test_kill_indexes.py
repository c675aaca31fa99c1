"""kill -9 while an index is built and while indexed records are written: indexes equal the rows."""

import http.client
import json
import random
import subprocess
import sys
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.server_process import HOST, ServerProcess, StartServer, wait_until

RECORDS = 60_000
BUILD_KILLS = 4
BUILD_LIFE_SECONDS = (0.1, 0.5)
BUILD_SECONDS = 60.0
WRITE_KILLS = 4
WRITE_LIFE_SECONDS = (0.2, 0.5)
WRITERS = 3
KEYS_OF_A_WRITER = 40
LEAVES = (None, False, True, -1, 0, 1, 2.5, 10, "", "1", "a", "😀", "\uffff")

Record = dict[str, Any]
Records = dict[str, Record]
Query = dict[str, Any]

QUERIES: tuple[Query, ...] = (
    {"orderBy": "n", "limitToLast": 20},
    {"orderBy": "n", "limitToFirst": 30},
    {"orderBy": "n", "startAt": 1, "endAt": "1"},
    {"orderBy": "n", "endAt": -1, "limitToLast": 5},
    {"orderBy": "d/m", "startAt": False, "limitToFirst": 10},
    {"orderBy": "d/m", "startAt": "", "limitToLast": 10},
)


@dataclass
class Client:
    """One connection over which one asks until the server dies."""

    port: int
    connection: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection(HOST, self.port, timeout=60)

    def ask(self, method: str, target: str, body: object = None) -> Any:
        text = None if body is None else json.dumps(body)
        self.connection.request(method, target, text, {"Authorization": "Bearer owner"})
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status in (http.client.OK, http.client.NO_CONTENT), content[:500]
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return json.loads(content) if is_json else content.decode()

    def close(self) -> None:
        self.connection.close()


def ask(server: ServerProcess, method: str, target: str, body: object = None) -> Any:
    client = Client(server.port)
    try:
        return client.ask(method, target, body)
    finally:
        client.close()


@dataclass
class Writer:
    """One client that changes records of its own, several in one update, and knows what is there.

    `records` is what was acknowledged. When the server dies, `unsure` is the update whose outcome
    is not known.
    """

    name: str
    seed: int
    keys: int
    records: Records = field(default_factory=dict)
    unsure: dict[str, Any] | None = None
    acknowledged: int = 0

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)

    def run(self, port: int) -> None:
        client = Client(port)
        try:
            while True:
                self.unsure = self.update()
                client.ask("PATCH", "/list.json?print=silent", self.unsure)
                change(self.records, self.unsure)
                self.acknowledged += 1
        except (OSError, http.client.HTTPException):
            return  # the server was killed
        finally:
            client.close()

    def update(self) -> dict[str, Any]:
        """Draw an update: whole records, a value inside one, or none any more."""
        update: dict[str, Any] = {}
        for number in self.draw.sample(range(self.keys), 3):
            key = f"{self.name}-{number:06}"
            kind = self.draw.randrange(4)
            if kind == 0:
                update[key] = None
            elif kind == 1 and key in self.records:
                update[f"{key}/n"] = self.draw.choice(LEAVES)
            else:
                update[key] = self.record()
        return update

    def record(self) -> Record:
        record = {"at": self.draw.randrange(9), "n": self.draw.choice(LEAVES)}
        inner = {"m": self.draw.choice(LEAVES), "x": 1}
        return {name: value for name, value in record.items() if value is not None} | {
            "d": {name: value for name, value in inner.items() if value is not None}
        }

    def check(self, found: Records) -> None:
        """Compare what a fresh server holds with what was acknowledged, and go on from there."""
        mine = {key: record for key, record in found.items() if key.startswith(self.name)}
        if mine != self.records:
            assert self.unsure is not None
            change(self.records, self.unsure)
        assert mine == self.records, self.name


def change(records: Records, update: Mapping[str, Any]) -> None:
    for path, value in update.items():
        key, _, name = path.partition("/")
        record = {**records[key], name: value} if name else value
        records.pop(key, None)
        if record is not None:
            records[key] = {each: leaf for each, leaf in record.items() if leaf is not None}


def naive_answer(records: Records, query: Query) -> Records:
    """Sort everything, cut the range and then the limit."""

    def position(value: object) -> tuple[int, Any]:
        if value is None or isinstance(value, bool):
            return (0, 0) if value is None else (1, value)
        if isinstance(value, int | float):
            return (2, value)
        assert isinstance(value, str)
        return (3, value.encode("utf-16-be"))

    def sort_value(record: Any) -> tuple[int, Any]:
        for name in query["orderBy"].split("/"):
            record = record.get(name) if isinstance(record, dict) else None
        return position(record)

    chosen = sorted(records, key=lambda key: (sort_value(records[key]), key))
    if "startAt" in query:
        chosen = [key for key in chosen if sort_value(records[key]) >= position(query["startAt"])]
    if "endAt" in query:
        chosen = [key for key in chosen if sort_value(records[key]) <= position(query["endAt"])]
    if "limitToFirst" in query:
        chosen = chosen[: query["limitToFirst"]]
    if "limitToLast" in query:
        chosen = chosen[-query["limitToLast"] :]
    return {key: records[key] for key in chosen}


def check_queries(server: ServerProcess, records: Records, orders: tuple[str, ...]) -> None:
    for query in QUERIES:
        if query["orderBy"] in orders:
            given = {name: json.dumps(value) for name, value in query.items()}
            answer = ask(server, "GET", f"/list.json?{urllib.parse.urlencode(given)}")
            assert answer == naive_answer(records, query), query


def check_indexes(server: ServerProcess) -> None:
    """Hold every entry of the indexes against the rows, as an operator would."""
    command = [sys.executable, "-m", "treedb", "indexes", "check", "--data", str(server.data)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def put_rules(server: ServerProcess, *names: str) -> None:
    rules = {"rules": {"list": {".indexOn": list(names)}}}
    ask(server, "PUT", "/.settings/rules.json", rules)


def is_complete(server: ServerProcess, name: str) -> bool:
    """Ask the metrics whether an index is there to be used."""
    ask(server, "GET", "/opened.json")  # a namespace is opened when it is first asked for
    return f'treedb_index_complete{{index="{name} on /list",namespace="default"}} 1.0' in ask(
        server, "GET", "/.metrics"
    )


def test_an_index_that_is_built_while_the_server_is_killed_equals_the_rows(
    start_server: StartServer, seed: int
) -> None:
    """The list is large enough for several lives to pass before its index is built."""
    print("seed:", seed)
    draw = random.Random(seed)
    server = start_server()
    writer = Writer("r", seed, RECORDS)
    writer.records = {f"r-{number:06}": writer.record() for number in range(RECORDS)}
    ask(server, "PUT", "/list.json?print=silent", writer.records)
    put_rules(server, "n")
    killed_while_building = 0
    for _ in range(BUILD_KILLS):
        seconds = draw.uniform(*BUILD_LIFE_SECONDS)
        server.kill_amid([partial(writer.run, server.port)], seconds)
        check_indexes(server)
        server.start()
        killed_while_building += not is_complete(server, "n")
        writer.check(ask(server, "GET", "/list.json"))
    wait_until(lambda: is_complete(server, "n"), BUILD_SECONDS, "an index that is complete")
    check_queries(server, writer.records, ("n",))
    check_indexes(server)
    print("killed while building:", killed_while_building, "acknowledged:", writer.acknowledged)
    assert killed_while_building >= 2, "too quick a build"


def test_indexes_equal_the_rows_when_records_are_written_while_the_server_is_killed(
    start_server: StartServer, seed: int
) -> None:
    print("seed:", seed)
    draw = random.Random(seed)
    server = start_server()
    put_rules(server, "n", "d/m", ".value")
    writers = [Writer(f"w{number}", seed + number, KEYS_OF_A_WRITER) for number in range(WRITERS)]
    for _ in range(WRITE_KILLS):
        seconds = draw.uniform(*WRITE_LIFE_SECONDS)
        server.kill_amid([partial(writer.run, server.port) for writer in writers], seconds)
        check_indexes(server)
        server.start()
        found = ask(server, "GET", "/list.json")
        for writer in writers:
            writer.check(found)
        check_queries(server, found, ("n", "d/m"))
    print("acknowledged:", [writer.acknowledged for writer in writers])
    assert all(writer.acknowledged for writer in writers)
