"""Queries of a realtime client: what it is sent first, what it hears then, and how they end."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.server.opened_database import opened_database, write
from tests.server.session_client import SessionClient
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.paths.path import Path
from treedb.store.kept_rules import Origin
from treedb.tree.hashing import node_hash
from treedb.tree.query_order import by_child
from treedb.tree.values import with_value_at

OK = ("ok", "")
STANDS: tuple[str, Any] = ("ok", {})
NO_INDEX = ("ok", {"w": ["no_index"]})
LIMITS = replace(DEFAULT_LIMITS, listens_per_connection=4, query_results=6)
RULES: dict[str, Any] = {
    "rules": {".read": True, ".write": True, "list": {".indexOn": ["n", ".value"]}}
}
LIST = {"a": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}, "d": {"n": 4}}
LAST_TWO = {"l": 2, "vf": "r", "i": "n"}
FIRST_TWO = {"l": 2, "vf": "l", "i": "n"}


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, LIMITS, json.dumps(RULES)) as database:
        await write(database, "/list", LIST)
        yield database


@pytest.fixture
def client(database: Database) -> SessionClient:
    return SessionClient(database)


async def listen(
    client: SessionClient, query: Any, tag: int, path: str = "/list", h: str = ""
) -> Any:
    return await client.ask("q", p=path, q=query, t=tag, h=h)


def heard(client: SessionClient) -> list[tuple[str, str, Any, int | None]]:
    return [
        (push["a"], push["b"]["p"], push["b"].get("d"), push["b"].get("t"))
        for push in client.pushes
    ]


def members(*keys: str) -> dict[str, Any]:
    return {key: LIST[key] for key in keys}


# The first window


async def test_a_window_comes_before_its_ok_and_has_the_tag(client: SessionClient) -> None:
    assert await listen(client, LAST_TWO, 7) == STANDS
    assert client.heard == [
        {"a": "d", "b": {"p": "list", "d": members("c", "d"), "t": 7}},
        {"r": 1, "b": {"s": "ok", "d": {}}},
    ]


@pytest.mark.parametrize(
    "query, value",
    [
        (FIRST_TWO, members("a", "b")),
        ({"i": "n", "sp": 2, "sin": False, "ep": 4, "ein": False}, members("c")),
        ({"i": "n", "sp": 3, "ep": 3}, members("c")),
        ({"i": ".key", "sp": "c"}, members("c", "d")),
        ({"i": ".value", "l": 1, "vf": "l"}, members("a")),
        ({"l": 1}, members("d")),
        ({"ep": None}, members(*LIST)),
    ],
)
async def test_a_get_and_a_listen_choose_alike(
    client: SessionClient, query: Any, value: Any
) -> None:
    assert await client.ask("g", p="/list", q=query) == ("ok", value)
    await listen(client, query, 1)
    assert heard(client) == [("d", "list", value, 1)]


async def test_a_window_has_no_priority_and_its_children_have_theirs(
    client: SessionClient, database: Database
) -> None:
    await write(database, "/list", {".priority": 5, "a": {".value": 1, ".priority": "p"}, "b": 2})
    chosen = {"a": {".value": 1, ".priority": "p"}}
    assert await client.ask("g", p="/list", q={"l": 1, "vf": "r"}) == ("ok", chosen)
    assert (await client.ask("g", p="/list", q={"i": "n"}))[1][".priority"] == 5


@pytest.mark.parametrize("claimed", ["", "another hash"])
async def test_an_empty_window_is_sent_only_to_who_believes_something(
    client: SessionClient, claimed: str
) -> None:
    assert await listen(client, {"i": "n", "sp": 99}, 1, h=claimed) == STANDS
    assert heard(client) == ([("d", "list", None, 1)] if claimed else [])


async def test_a_client_that_has_the_window_is_sent_nothing_and_hears_on(
    client: SessionClient, database: Database
) -> None:
    assert await listen(client, LAST_TWO, 1, h=node_hash(members("c", "d"))) == STANDS
    assert client.pushes == []
    await write(database, "/list/c/n", 3.5)
    assert len(client.pushes) == 1


async def test_a_client_that_has_another_window_is_sent_the_right_one(
    client: SessionClient,
) -> None:
    await listen(client, LAST_TWO, 1, h=node_hash(members("b", "d")))
    assert heard(client) == [("d", "list", members("c", "d"), 1)]


async def test_an_order_alone_is_a_listen_to_the_whole_place(client: SessionClient) -> None:
    assert await client.ask("q", p="/list", q={"i": "nope"}, h="") == STANDS
    assert heard(client) == [("d", "list", LIST, None)]
    await client.ask("p", p="/list/e", d=1)
    assert heard(client)[1:] == [("d", "list/e", 1, None)]


async def test_a_filtered_listen_without_a_tag_is_refused(
    client: SessionClient, database: Database
) -> None:
    answer = await client.ask("q", p="/list", q=LAST_TWO, h="")
    assert answer == (
        "failure",
        'A listen that chooses among children has a tag "t", an integer; found none.',
    )
    assert database.watched_places == 0


async def test_more_children_than_an_answer_may_hold_are_refused(
    client: SessionClient, database: Database
) -> None:
    await write(database, "/list", {f"k{number}": number for number in range(7)})
    for action, more in (("g", {}), ("q", {"t": 1, "h": ""})):
        status, reason = await client.ask(action, p="/list", q={"i": "n", "ep": None}, **more)
        assert status == "too_big"
        assert "one answer holds at most 6" in reason
    assert database.watched_places == 0


async def test_commits_while_a_large_window_is_sent_come_after_it(
    client: SessionClient, database: Database
) -> None:
    large = {key: {"n": number, "text": "x" * 400_000} for number, key in enumerate("abcde")}
    await write(database, "/list", large)
    listening = asyncio.create_task(listen(client, {"i": "n", "l": 4, "vf": "r"}, 3))
    for number in range(100):
        await write(database, "/list/e/n", 100 + number)
    assert await listening == STANDS
    (_, path, first, _), *later = heard(client)
    window: Any = first
    assert (path, list(window)) == ("list", ["b", "c", "d", "e"])
    times = [window["e"]["n"]]
    for _, path, value, _ in later:
        window = with_value_at(window, Path.parse(path).keys[1:], value)
        times.append(window["e"]["n"])
    assert window == {key: large[key] for key in "bcd"} | {"e": {**large["e"], "n": 199}}
    assert times == sorted(set(times))
    assert {tag for *_, tag in heard(client)} == {3}


# What is heard


async def test_a_child_that_enters_and_the_one_that_leaves_come_together(
    client: SessionClient,
) -> None:
    await listen(client, LAST_TWO, 1)
    await client.ask("p", p="/list/e", d={"n": 5})
    assert heard(client)[1:] == [("m", "list", {"e": {"n": 5}, "c": None}, 1)]
    assert client.heard[-1]["b"]["s"] == "ok"


async def test_a_child_that_moves_in_or_out_is_told_whole(client: SessionClient) -> None:
    await listen(client, LAST_TWO, 1)
    await client.ask("p", p="/list/a/n", d=9)
    await client.ask("p", p="/list/a", d=None)
    assert heard(client)[1:] == [
        ("m", "list", {"a": {"n": 9}, "c": None}, 1),
        ("m", "list", {"a": None, "c": {"n": 3}}, 1),
    ]


async def test_a_change_inside_is_told_as_it_is_and_one_outside_not_at_all(
    client: SessionClient,
) -> None:
    await listen(client, LAST_TWO, 1)
    await client.ask("p", p="/list/d/name", d="x")
    await client.ask("p", p="/list/a/name", d="x")
    await client.ask("m", p="/list", d={"b/n": 0, "a/n": 0.5})
    assert heard(client)[1:] == [("d", "list/d/name", "x", 1)]


async def test_a_place_that_is_removed_or_becomes_a_leaf_is_an_empty_window(
    client: SessionClient, database: Database
) -> None:
    await listen(client, LAST_TWO, 1)
    for value in (None, LIST, 5):
        await write(database, "/list", value)
    assert [data for _, _, data, _ in heard(client)[1:]] == [None, members("c", "d"), None]


async def test_queries_of_one_place_stand_side_by_side(client: SessionClient) -> None:
    await listen(client, LAST_TWO, 1)
    await listen(client, FIRST_TWO, 2)
    await client.ask("q", p="/list", h="")
    await client.ask("p", p="/list/d/n", d=0)
    by_tag = {tag: (action, path, data) for action, path, data, tag in heard(client)[3:]}
    assert by_tag == {
        1: ("m", "list", {"d": None, "b": {"n": 2}}),
        2: ("m", "list", {"d": {"n": 0}, "b": None}),
        None: ("d", "list/d/n", 0),
    }
    assert len(client.pushes) == 6


async def test_one_query_under_two_tags_is_heard_under_both(
    client: SessionClient, database: Database
) -> None:
    await listen(client, LAST_TWO, 1)
    await listen(client, {"i": "/n", "l": 2}, 2)
    assert database.watched_places == 1
    await client.ask("p", p="/list/d/n", d=5)
    assert heard(client)[2:] == [("d", "list/d/n", 5, 1), ("d", "list/d/n", 5, 2)]
    assert await client.ask("n", p="/list", q=LAST_TWO, t=1) == OK
    await client.ask("p", p="/list/d/n", d=6)
    assert heard(client)[4:] == [("d", "list/d/n", 6, 2)]


async def test_one_tag_at_two_places_is_two_listens(client: SessionClient) -> None:
    await listen(client, LAST_TWO, 1)
    await listen(client, {"i": ".key", "sp": "x"}, 1, "/list/a")
    await client.ask("p", p="/list/a/y", d=1)
    assert heard(client)[1:] == [("d", "list/a/y", 1, 1)]


UNLISTENS = [
    ({"q": FIRST_TWO, "t": 2}, [1, None]),
    ({"q": {"vf": "l", "i": "n/", "l": 2}, "t": 2}, [1, None]),
    ({}, [1, 2]),
    ({"q": FIRST_TWO, "t": 3}, [1, 2, None]),
    ({"q": {**FIRST_TWO, "l": 3}, "t": 2}, [1, 2, None]),
    ({"q": FIRST_TWO}, [1, 2, None]),
    ({"t": 2}, [1, 2, None]),
]


@pytest.mark.parametrize("body, tags", UNLISTENS)
async def test_an_unlisten_ends_the_listen_it_names(
    client: SessionClient, body: Any, tags: list[int | None]
) -> None:
    await listen(client, LAST_TWO, 1)
    await listen(client, FIRST_TWO, 2)
    await client.ask("q", p="/list", h="")
    before = len(client.pushes)
    assert await client.ask("n", p="/list", **body) == OK
    await client.ask("p", p="/list", d={"a": {"n": 1}})
    assert {tag for *_, tag in heard(client)[before:]} == set(tags)


async def test_a_query_said_twice_is_one_listen(client: SessionClient) -> None:
    for _ in range(2):
        assert await listen(client, LAST_TWO, 1) == STANDS
    await client.ask("p", p="/list/d/n", d=5)
    assert heard(client) == [("d", "list", members("c", "d"), 1)] * 2 + [("d", "list/d/n", 5, 1)]


async def test_every_query_counts_as_a_listen(client: SessionClient) -> None:
    for tag in range(4):
        assert await listen(client, {"i": "n", "l": tag + 1}, tag) == STANDS
    answer = await listen(client, LAST_TWO, 9)
    assert answer == ("too_big", "This connection has 4 listens, the limit is 4.")
    assert await listen(client, {"i": "n", "l": 1}, 0) == STANDS
    await client.ask("n", p="/list", q={"i": "n", "l": 1}, t=0)
    assert await listen(client, LAST_TWO, 9) == STANDS


async def test_after_the_end_no_window_is_kept(client: SessionClient, database: Database) -> None:
    await listen(client, LAST_TWO, 1)
    await listen(client, FIRST_TWO, 2)
    client.session.end()
    assert database.watched_places == 0
    await write(database, "/list/e", {"n": 5})
    assert len(client.pushes) == 2


# Indexes


async def test_an_order_without_an_index_is_answered_right_and_warned_of(
    client: SessionClient, caplog: pytest.LogCaptureFixture
) -> None:
    query = {"i": "name", "l": 1, "vf": "r"}
    assert await listen(client, query, 1) == NO_INDEX
    assert heard(client) == [("d", "list", members("d"), 1)]
    await client.ask("p", p="/list/a/name", d="x")
    assert heard(client)[1:] == [("m", "list", {"a": {"n": 1, "name": "x"}, "d": None}, 1)]
    assert await client.ask("g", p="/list", q=query) == ("ok", {"a": {"n": 1, "name": "x"}})
    advice = [each for each in caplog.records if each.name == "treedb.indexes"]
    assert [each.levelno for each in advice] == [logging.WARNING]
    assert 'a query of /list in namespace default looks at every child; add ".indexOn": "name"' in (
        advice[0].getMessage()
    )


@pytest.mark.parametrize(
    "query", [{"l": 2}, {"i": ".key", "l": 2}, {"i": ".value", "l": 2}, LAST_TWO]
)
async def test_orders_that_need_no_index_or_have_one_are_not_warned_of(
    client: SessionClient, caplog: pytest.LogCaptureFixture, query: Any
) -> None:
    assert await listen(client, query, 1) == STANDS
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_rules_that_gain_an_index_end_the_warning(
    client: SessionClient, database: Database
) -> None:
    assert await listen(client, {"i": "m", "l": 2}, 1) == NO_INDEX
    rules = {"rules": {**RULES["rules"], "list": {".indexOn": "m"}}}
    await database.put_rules(json.dumps(rules), Origin.ADMIN)
    assert database.is_indexed(Path(("list",)), by_child("m"))
    assert await listen(client, {"i": "m", "l": 2}, 1) == STANDS
