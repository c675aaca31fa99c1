"""Measure the rules: checks a second alone, and what they add to a write over a websocket."""

import random
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path as FilePath

from benchmarks.measure import Row, in_turns, rates
from benchmarks.server import Pipeline, RestClient, RunningServer
from benchmarks.store import RECORDS, SEED, record_body
from treedb.access import Access
from treedb.auth.identity import Auth
from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.database import Database
from treedb.paths.path import Path
from treedb.rules.authority import SERVER, Authority, Caller, Operation
from treedb.rules.loader import parse_rules
from treedb.store.store import Store
from treedb.tree.json_text import parse_json
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader, ValueReader
from treedb.tree.values import Value
from treedb.writes.request import set_write

Write = Callable[[str, Value, int], float]

CHECKS = 20_000
WRITES = 8_000
NOW_MS = 1_700_000_000_000

MARY = Caller(Auth("mchen", {}, is_admin=False, expires_at_ms=None))
SIGNED_IN = '{"rules": {".write": "auth != null"}}'
OPEN = '{"rules": {".read": true, ".write": true}}'
MESSAGES = """{"rules": {"messages": {"$room": {"$message": {
  ".write": "!data.exists() && newData.exists()",
  ".validate": "auth != null && newData.hasChildren(['uid', 'text', 'at'])",
  "uid": {".validate": "newData.val() === auth.uid"},
  "text": {".validate": "newData.isString() && newData.val().length > 0 && newData.val().length <= 2000"},
  "at": {".validate": "newData.isNumber()"},
  "$other": {".validate": false}
}}}}}"""
LOOKUPS = """{"rules": {"posts": {"$post": {".write":
  "root.child('records').child(newData.child('from').val()).child('field1').val() > 0 && root.child('records').child(newData.child('to').val()).exists()"
}}}}"""


async def checks(directory: FilePath, limits: Limits) -> list[Row]:
    """Ask for one small write again and again; the floor is the same with rules `true`."""
    await _load(directory / "records", limits)
    store = Store.open(directory / "records", limits)
    message: Value = {"uid": "mchen", "text": "hello", "at": NOW_MS}
    source = random.Random(SEED)
    to, sender = (f"record{source.randrange(RECORDS):07d}" for _ in range(2))
    empty = ValueReader(None)
    rows = []
    with store.snapshot() as snapshot:
        cases: list[tuple[str, str, Reader, tuple[str, ...], Value]] = [
            ("auth != null", SIGNED_IN, empty, ("a",), 1),
            ("a chat message", MESSAGES, empty, ("messages", "r", "m"), message),
            (
                "two root.child lookups in 1,000,000 leaves",
                LOOKUPS,
                snapshot.tree,
                ("posts", "p"),
                {"from": sender, "to": to},
            ),
        ]
        for name, rules, reader, path, value in cases:
            patch = Patch(((Path(path), value),))
            asked = partial(_check, Authority.of(parse_rules(rules), counting=False), patch, reader)
            floor = partial(_check, Authority.of(parse_rules(OPEN), counting=False), patch, reader)
            times = await in_turns(_as_async(asked), floor)
            rows.append(rates(f"check: {name}", CHECKS, "checks", times, "floor: rules `true`"))
    store.close()
    return rows


def writes(directory: FilePath) -> list[Row]:
    """Write to two servers in turns, one with the rules and one with rules `true`."""
    rows = []
    cases: list[tuple[str, str, str, Value]] = [
        ("auth != null", SIGNED_IN, "list/%s%%d", 1),
        (
            "a chat message",
            MESSAGES,
            "messages/r/%s%%d",
            {"uid": "mchen", "text": "hello", "at": 1},
        ),
    ]
    for name, rules, path, value in cases:
        folder = directory / f"server {name}"
        with (
            RunningServer(folder / "rules", rules) as bound,
            RunningServer(folder / "open", OPEN) as free,
        ):
            both = (bound, free)
            rest: list[Write] = [RestClient(server).write_in_turn for server in both]
            alone: list[Write] = [Pipeline(server).write_in_turn for server in both]
            pipelined: list[Write] = [Pipeline(server).write for server in both]
            for how, writers, letter, count, remark in (
                ("REST, one by one", rest, "r", WRITES // 8, "wall clock"),
                ("websocket, one by one", alone, "a", WRITES // 8, "wall clock"),
                ("websocket, pipelined", pipelined, "p", WRITES, "server CPU"),
            ):
                times = _medians(writers, path % letter, value, count)
                row = f"write by {how}: {name}"
                rows.append(rates(row, count, "writes", times, f"{remark}; floor: rules `true`"))
    return rows


def _medians(writers: list[Write], path: str, value: Value, count: int) -> tuple[float, float]:
    for write in writers:
        write(path, value, count // 4)
    seconds = [[write(path, value, count) for write in writers] for _ in range(5)]
    ours, floor = (sorted(column)[2] for column in zip(*seconds, strict=True))
    return ours, floor


def _check(authority: Authority, patch: Patch, reader: Reader) -> None:
    operation = Operation("set", patch.changes[0][0])
    for _ in range(CHECKS):
        authority.permit_write(patch, reader, MARY, NOW_MS, operation=operation)


def _as_async(action: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        action()

    return run


async def _load(directory: FilePath, limits: Limits) -> None:
    database = Database.open(directory, "bench", limits, SystemClock(), Access(OPEN))
    await database.start()
    value = parse_json(record_body(RECORDS, 10))
    await database.write(set_write(Path(("records",)), value, limits, caller=SERVER))
    await database.close()
