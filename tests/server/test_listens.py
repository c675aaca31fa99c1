"""A client that reads too slowly misses steps and never the outcome."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.server.opened_database import opened_database
from tests.server.session_client import SessionClient
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.paths.path import Path
from treedb.rules.authority import SERVER
from treedb.store.kept_rules import Origin
from treedb.tree.hashing import node_hash
from treedb.writes.request import set_write

LIMITS = replace(DEFAULT_LIMITS, outbox_bytes=1000, stall_timeout_ms=100)
OPEN: dict[str, Any] = {"rules": {".read": True, ".write": True}}
CLOSED: dict[str, Any] = {"rules": {"b": {".read": True}}}
LAST_TWO = {"l": 2, "vf": "r", "i": ".key"}


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, LIMITS, json.dumps(OPEN)) as database:
        yield database


@pytest.fixture
def client(database: Database) -> SessionClient:
    return SessionClient(database)


async def write(database: Database, path: str, value: Any) -> None:
    """Write as the server itself, whom no rule binds."""
    await database.write(set_write(Path.parse(path), value, database.limits, caller=SERVER))


def told(client: SessionClient) -> list[Any]:
    return [(push["a"], push["b"]["p"], push["b"].get("d")) for push in client.pushes]


async def falls_behind(client: SessionClient, database: Database, place: str) -> None:
    """Let a client stop to read, and miss what is written at a place."""
    client.door.congested, client.door.unsent = True, 1001
    for number in range(3):
        await write(database, place, number)


async def caught_up(client: SessionClient) -> None:
    """Let the client read on, and ask something that is answered when it has caught up."""
    client.door.unsent = 0
    client.door.relax()
    for _ in range(20):
        await asyncio.sleep(0)
    await client.ask("s", c={})


async def test_a_client_that_fell_behind_starts_anew_from_a_fresh_value(
    database: Database, client: SessionClient
) -> None:
    for place in ("/a", "/b", "/c"):
        await client.ask("q", p=place, h="")
    await falls_behind(client, database, "/a/x")
    await write(database, "/b/x", 7)
    assert told(client) == [("d", "a/x", 0)]
    await caught_up(client)
    assert told(client)[1:] == [("d", "a", {"x": 2}), ("d", "b", {"x": 7})]
    await write(database, "/a/x", 9)
    assert told(client)[3:] == [("d", "a/x", 9)]


async def test_what_was_removed_meanwhile_is_told_as_nothing(
    database: Database, client: SessionClient
) -> None:
    await write(database, "/a", {"x": 1})
    await client.ask("q", p="/a", h="")
    await falls_behind(client, database, "/a/x")
    await write(database, "/a", None)
    await caught_up(client)
    assert told(client)[-1] == ("d", "a", None)


async def test_a_window_starts_anew_under_its_tag(
    database: Database, client: SessionClient
) -> None:
    await client.ask("q", p="/a", q=LAST_TWO, t=5, h="")
    await falls_behind(client, database, "/a/x")
    await write(database, "/a/y", 1)
    await write(database, "/a/z", 1)
    await caught_up(client)
    assert client.pushes[-1]["b"] == {"p": "a", "d": {"y": 1, "z": 1}, "t": 5}


async def test_a_listen_that_ended_meanwhile_stays_ended(
    database: Database, client: SessionClient
) -> None:
    await client.ask("q", p="/a", h="")
    await client.ask("q", p="/b", h="")
    await falls_behind(client, database, "/a/x")
    heard = len(told(client))
    unlistening = asyncio.create_task(client.ask("n", p="/a"))
    await caught_up(client)
    await unlistening
    await write(database, "/a/x", 9)
    await write(database, "/b/x", 9)
    assert told(client)[heard:][-1] == ("d", "b/x", 9)
    assert database.watched_places == 1


async def test_who_may_not_listen_any_more_is_told_that_and_no_value(
    database: Database, client: SessionClient
) -> None:
    await client.ask("q", p="/a", h="")
    await client.ask("q", p="/b", h="")
    await falls_behind(client, database, "/a/x")
    await database.put_rules(json.dumps(CLOSED), Origin.ADMIN)
    await caught_up(client)
    assert told(client)[1:] == [("c", "a", None)]
    assert database.watched_places == 1


async def test_a_client_that_reads_nothing_at_all_is_closed(
    database: Database, client: SessionClient
) -> None:
    await client.ask("q", p="/a", h="")
    await falls_behind(client, database, "/a/x")
    await client.door.until(lambda: client.door.closed is not None)
    assert client.door.closed == (1013, "not reading")


async def test_a_copy_that_is_right_by_its_hash_is_not_sent_again(
    database: Database, client: SessionClient
) -> None:
    value: dict[str, Any] = {"x": 1, "y": {".value": 2, ".priority": 3}}
    await write(database, "/a", value)
    assert await client.ask("q", p="/a", h=node_hash(value)) == ("ok", {})
    assert client.pushes == []
    await write(database, "/a/x", 5)
    assert told(client) == [("d", "a/x", 5)]
    assert await client.ask("q", p="/a", h=node_hash(value)) == ("ok", {})
    assert told(client)[1:] == [("d", "a", {**value, "x": 5})]


async def test_a_large_copy_is_compared_too_up_to_a_bound(
    database: Database, client: SessionClient
) -> None:
    for letters, is_compared in ((100_000, True), (2_000_000, False)):
        value: dict[str, Any] = {"x": "x" * letters}
        await write(database, "/a", value)
        before = len(client.pushes)
        await client.ask("q", p="/a", h=node_hash(value))
        await client.ask("n", p="/a")
        assert (len(client.pushes) == before) is is_compared
