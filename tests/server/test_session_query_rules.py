"""What the rules mean to a realtime client's queries: `query` in a rule, and how they are ended."""

from collections.abc import AsyncIterator
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.server.opened_database import opened_database, write
from tests.server.session_client import SessionClient
from treedb.auth.identity import Auth
from treedb.database import Database
from treedb.store.kept_rules import Origin

OK = ("ok", "")
STANDS: tuple[str, Any] = ("ok", {})
DENIED = ("permission_denied", "Permission denied")
RULES = """{"rules": {
  "pages": {".read": "query.orderByKey && query.limitToFirst <= 100"},
  "last": {".read": "query.limitToLast <= 100"},
  "own": {".read": "query.orderByChild == 'owner' && query.equalTo == auth.uid",
          ".indexOn": "owner"}
}}"""


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, rules=RULES) as database:
        yield database


@pytest.fixture
def client(database: Database) -> SessionClient:
    return SessionClient(database, lambda uid: Auth(uid, {}, is_admin=False, expires_at_ms=None))


async def listen(client: SessionClient, query: Any, tag: int, path: str) -> Any:
    return await client.ask("q", p=path, q=query, t=tag, h="")


READS: list[tuple[str, Any, bool]] = [
    ("/pages", {"i": ".key", "l": 100, "vf": "l"}, True),
    ("/pages", {"i": ".key", "l": 101, "vf": "l"}, False),
    ("/pages", {"i": ".key", "l": 100, "vf": "r"}, False),
    ("/pages", {"l": 100, "vf": "l"}, False),
    ("/pages", {}, False),
    ("/last", {"l": 100, "vf": "r"}, True),
    ("/last", {"l": 100}, True),
    ("/last", {"l": 101, "vf": "r"}, False),
    ("/last", {"l": 1, "vf": "l"}, False),
    ("/last", {"sp": 1}, False),
    ("/own", {"i": "owner", "sp": "mchen", "sin": True, "ep": "mchen", "ein": True}, True),
    ("/own", {"i": "owner", "sp": "mchen", "ep": "mchen"}, True),
    ("/own", {"i": "owner", "sp": "hmadi", "ep": "hmadi"}, False),
    ("/own", {"i": "owner", "sp": "mchen"}, False),
    ("/own", {"i": "other", "sp": "mchen", "ep": "mchen"}, False),
]


@pytest.mark.parametrize("path, query, permitted", READS)
async def test_rules_see_what_a_get_or_a_listen_asks(
    client: SessionClient, path: str, query: Any, *, permitted: bool
) -> None:
    await client.ask("auth", cred="mchen")
    got = await client.ask("g", p=path, q=query)
    listened = await listen(client, query, 1, path)
    assert (got, listened) == ((("ok", None), STANDS) if permitted else (DENIED, DENIED))


async def test_a_listen_that_was_denied_is_not_kept(
    client: SessionClient, database: Database
) -> None:
    assert await listen(client, {"l": 101}, 1, "/last") == DENIED
    assert database.watched_places == 0
    await write(database, "/last/x", 1)
    assert client.pushes == []


SENT = {"vf": "r", "i": "owner", "ep": "mchen", "l": 5, "sp": "mchen", "sin": True}


async def test_who_signs_out_loses_the_query_and_is_told_it_as_it_was_sent(
    client: SessionClient, database: Database
) -> None:
    await client.ask("auth", cred="mchen")
    assert await listen(client, SENT, 1, "/own") == STANDS
    assert await listen(client, {"l": 5, "vf": "r"}, 2, "/last") == STANDS
    assert await client.ask("unauth") == OK
    assert client.pushes == [{"a": "c", "b": {"p": "own", "q": [SENT]}}]
    assert list(client.pushes[0]["b"]["q"][0]) == list(SENT)
    await write(database, "/", {"own": {"x": {"owner": "mchen"}}, "last": {"x": 1}})
    assert client.pushes[1:] == [{"a": "d", "b": {"p": "last", "d": {"x": 1}, "t": 2}}]


async def test_who_changes_keeps_what_the_query_permits_to_the_other_too(
    client: SessionClient,
) -> None:
    await client.ask("auth", cred="mchen")
    await listen(client, {"l": 5, "vf": "r"}, 1, "/last")
    await listen(client, SENT, 2, "/own")
    await client.ask("auth", cred="hmadi")
    assert [push["b"]["p"] for push in client.pushes] == ["own"]


async def test_other_rules_end_the_queries_they_deny(
    client: SessionClient, database: Database
) -> None:
    queries = [{"l": 10, "vf": "r"}, {"l": 50, "vf": "r"}]
    for tag, query in enumerate(queries):
        assert await listen(client, query, tag, "/last") == STANDS
    rules = '{"rules": {"last": {".read": "query.limitToLast <= 20"}}}'
    await database.put_rules(rules, Origin.ADMIN)
    assert client.pushes == [{"a": "c", "b": {"p": "last", "q": [queries[1]]}}]
    await write(database, "/last/x", 1)
    assert client.pushes[1:] == [{"a": "d", "b": {"p": "last/x", "d": 1, "t": 0}}]


async def test_a_cancelled_query_under_two_tags_is_cancelled_twice(
    client: SessionClient, database: Database
) -> None:
    sent = [{"l": 50}, {"l": 50, "vf": "r"}]
    for tag, query in enumerate(sent):
        await listen(client, query, tag, "/last")
    await database.put_rules('{"rules": {}}', Origin.ADMIN)
    assert [push["b"]["q"] for push in client.pushes] == [[query] for query in sent]


async def test_a_denied_query_is_explained_to_who_may_know(database: Database) -> None:
    curious = SessionClient(database, explains=True)
    assert await listen(curious, {"l": 101}, 1, "/last") == DENIED
    assert "query.limitToLast <= 100" in curious.pushes[0]["b"]["msg"]
