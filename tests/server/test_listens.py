"""A client that reads too slowly misses steps and never the outcome."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.server.opened_database import opened_database, write
from tests.server.session_client import SessionClient
from tests.tree.caching_client import merged, said_of
from tests.tree.strategies import normal
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.errors import InvalidData
from treedb.store.kept_rules import Origin
from treedb.tree.hashing import node_hash

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


async def test_a_client_that_falls_behind_again_is_caught_up_once(
    database: Database, client: SessionClient
) -> None:
    await client.ask("q", p="/a", h="")
    await falls_behind(client, database, "/a/x")
    first = client.session._catching_up
    client.session._fell_behind()
    assert client.session._catching_up is first
    await caught_up(client)
    assert told(client)[-1] == ("d", "a", {"x": 2})
    await falls_behind(client, database, "/a/x")
    assert client.session._catching_up is not first


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


# A client that keeps copies tells the hashes of their ranges too.


def a_list(count: int) -> dict[str, Any]:
    return {f"k{number:04}": {"at": number, "text": f"text {number}"} for number in range(count)}


async def test_a_copy_that_can_be_merged_into_is_sent_what_differs(
    database: Database, client: SessionClient
) -> None:
    old = a_list(500)
    new = {**old, "k0250": {"at": 5}}
    await write(database, "/a", new)
    assert await client.ask("q", p="/a", **said_of(old)) == ("ok", {})
    (push,) = client.pushes
    assert push["a"] == "rm"
    assert push["b"]["p"] == "a"
    assert len(json.dumps(push)) < len(json.dumps(new)) / 5
    assert merged(old, push["b"]["d"]) == new
    await write(database, "/a/k0001", None)
    assert told(client)[1:] == [("d", "a/k0001", None)]


async def test_so_is_the_copy_of_a_window_under_its_tag(
    database: Database, client: SessionClient
) -> None:
    every = a_list(500)
    await write(database, "/a", every)
    old = normal({**{key: every[key] for key in list(every)[-200:]}, "k0400": 7})
    query = {"l": 200, "vf": "r", "i": ".key"}
    assert await client.ask("q", p="/a", q=query, t=9, **said_of(old)) == ("ok", {})
    (push,) = client.pushes
    assert (push["a"], push["b"]["t"]) == ("rm", 9)
    assert merged(old, push["b"]["d"]) == {key: every[key] for key in list(every)[-200:]}


COPIES: list[tuple[str, tuple[Any, Any], list[str]]] = [
    ("is right", (a_list(100), a_list(100)), []),
    ("is right, of a list", ({"0": "x" * 2000}, {"0": "x" * 2000}), []),
    ("differs everywhere", (a_list(100), {"z": "x"}), ["d"]),
    ("is of what has gone", (a_list(100), None), ["d"]),
    ("is a leaf", ("x" * 2000, a_list(100)), ["d"]),
    ("is of what became a leaf", (a_list(100), 5), ["d"]),
    (
        "lacks a priority that hashes do not tell",
        ({"0": "x" * 2000, "1": "y"}, {"0": "x" * 2000, "1": "y", ".priority": 2}),
        ["rm"],
    ),
]


@pytest.mark.parametrize("what, values, pushes", COPIES, ids=[case[0] for case in COPIES])
async def test_a_copy_becomes_right_by_what_is_shortest(
    what: str,
    values: tuple[Any, Any],
    pushes: list[str],
    database: Database,
    client: SessionClient,
) -> None:
    old, new = values
    await write(database, "/a", new)
    assert await client.ask("q", p="/a", **said_of(old)) == ("ok", {})
    assert [push["a"] for push in client.pushes] == pushes
    for push in client.pushes:
        became = merged(old, push["b"]["d"]) if push["a"] == "rm" else push["b"]["d"]
        assert became == normal(new)


async def test_who_sends_no_hashes_of_ranges_is_sent_the_value(
    database: Database, client: SessionClient
) -> None:
    old = a_list(100)
    new = {**old, "k0050": 1}
    await write(database, "/a", new)
    await client.ask("q", p="/a", h=node_hash(old))
    assert told(client) == [("d", "a", new)]


async def test_who_starts_anew_because_it_was_slow_is_sent_the_value(
    database: Database, client: SessionClient
) -> None:
    old = a_list(100)
    new = {**old, "k0050": 1}
    await write(database, "/a", new)
    await client.ask("q", p="/a", **said_of(old))
    await falls_behind(client, database, "/a/k0050")
    await caught_up(client)
    assert [push["a"] for push in client.pushes] == ["rm", "d", "d"]
    assert told(client)[-1] == ("d", "a", {**old, "k0050": 2})


async def test_hashes_of_ranges_that_do_not_fit_are_refused_and_the_connection_goes_on(
    database: Database, client: SessionClient
) -> None:
    status, text = await client.ask("q", p="/a", h="x", ch={"hs": ["x"], "ps": ["a"]})
    assert status == InvalidData.status
    assert "one hash" in text
    assert await client.ask("q", p="/a", h="") == ("ok", {})


async def test_who_goes_while_it_waits_for_its_turn_to_read_is_forgotten(
    tmp_path: FilePath,
) -> None:
    limits = replace(DEFAULT_LIMITS, reads_at_once=1, slice_rows=1)
    async with opened_database(tmp_path, limits, json.dumps(OPEN)) as database:
        await write(database, "/a", {f"k{number}": "x" * 1500 for number in range(50)})
        reader, waiting = SessionClient(database), SessionClient(database)
        reading = asyncio.create_task(reader.ask("q", p="/a", h=""))
        await asyncio.sleep(0)
        listening = asyncio.create_task(waiting.send("q", {"p": "/b", "h": ""}))
        await asyncio.sleep(0)
        assert database.watched_places == 1
        waiting.session.close(1001, "the client has come back")
        assert await reading == ("ok", {})
        await listening
        assert database.watched_places == 1
        reader.session.end()
        assert database.watched_places == 0
