"""onDisconnect as a client asks for it, and every way in which its session ends."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.auth.minting import unsigned
from tests.server.opened_database import opened_database
from tests.server.session_client import SessionClient
from treedb.auth.dev_tokens import parse_dev_credential
from treedb.auth.identity import Auth
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database
from treedb.errors import InsufficientStorage
from treedb.paths.path import Path
from treedb.rules.authority import SERVER
from treedb.store.kept_rules import Origin
from treedb.store.store import WriteTransaction
from treedb.writes.request import set_write

RULES = """{"rules": {
  "open": {".read": true, ".write": true},
  "own": {"$uid": {".write": "auth.uid === $uid"}}
}}"""
CLOSED = '{"rules": {"open": {".read": true, "a": {".write": true}}}}'
OK = ("ok", "")
DENIED = ("permission_denied", "Permission denied")
HOUR_MS = 3_600_000


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, rules=RULES) as database:
        yield database


@pytest.fixture
def client(database: Database) -> SessionClient:
    return SessionClient(database)


async def value(database: Database, path: str = "/") -> Any:
    """Return a value after everything submitted so far."""
    place = Path.parse("/fence")
    await database.write(set_write(place, None, database.limits, caller=SERVER))
    return await database.get(Path.parse(path), SERVER)


async def test_what_is_asked_is_written_at_the_end(
    client: SessionClient, database: Database
) -> None:
    assert await client.ask("o", p="/open/foo", d={"bar": 1, "baz": 2}) == OK
    assert await client.ask("om", p="/open/foo", d={"bam": 3}) == OK
    assert await client.ask("o", p="/open/foo/baz", d=None) == OK
    assert await client.ask("o", p="/open/gone", d=1) == OK
    assert await client.ask("oc", p="/open/gone", d=None) == OK
    assert await value(database) is None
    client.session.end()
    assert await value(database) == {"open": {"foo": {"bam": 3, "bar": 1}}}


async def test_others_hear_of_the_end_once(client: SessionClient, database: Database) -> None:
    other = SessionClient(database)
    await other.ask("q", p="/open", h="")
    await client.ask("om", p="/open", d={"a": 1, "b/c": 2, "d": {".sv": "timestamp"}})
    await client.ask("p", p="/open/d", d=0)
    client.session.end()
    at = await value(database, "/open/d")
    pushes = [push for push in other.pushes if push["b"]["d"] not in (None, 0)]
    merge = {"a": 1, "b/c": 2, "d": at}
    assert [(push["a"], push["b"]) for push in pushes] == [("m", {"p": "open", "d": merge})]


@pytest.mark.parametrize(
    "end",
    [
        lambda session: session.end(),
        lambda session: session.close(1001, "the client has come back"),
        lambda session: (session.close(1001, ""), session.end(), session.end()),
    ],
)
async def test_a_session_ends_once(client: SessionClient, database: Database, end: Any) -> None:
    await client.ask("o", p="/open/n", d={".sv": {"increment": 1}})
    end(client.session)
    assert await value(database) == {"open": {"n": 1}}


async def test_a_broken_protocol_ends_it_too(client: SessionClient, database: Database) -> None:
    await client.ask("o", p="/open/n", d=1)
    await client.session.receive("no message")
    assert await value(database) == {"open": {"n": 1}}


async def test_what_is_on_its_way_at_the_end_is_written_and_nothing_comes_after(
    client: SessionClient, database: Database
) -> None:
    await client.send("p", {"p": "/open/state", "d": "online"})
    await client.send("o", {"p": "/open/state", "d": "offline"})
    client.session.end()
    await client.send("p", {"p": "/open/state", "d": "late"})
    assert await value(database) == {"open": {"state": "offline"}}


@pytest.mark.parametrize("action", ["p", "o"])
async def test_a_large_request_that_is_still_read_at_the_end_is_dropped(
    client: SessionClient, database: Database, action: str
) -> None:
    await client.ask("o", p="/open/state", d="offline")
    # It is read on a thread, during which the session ends.
    sending = asyncio.create_task(client.send(action, {"p": "/open/big", "d": "x" * 400_000}))
    await asyncio.sleep(0)
    client.session.end()
    await sending
    assert await value(database) == {"open": {"state": "offline"}}
    with database._store.snapshot() as snapshot:
        assert snapshot.sessions() == []


async def test_the_next_session_writes_after_the_end_of_the_one_before(
    client: SessionClient, database: Database
) -> None:
    await client.ask("o", p="/open/state", d="offline")
    client.session.close(1001, "the client has come back")
    again = SessionClient(database)
    assert await again.ask("p", p="/open/state", d="online") == OK
    assert await again.ask("o", p="/open/state", d="offline") == OK
    assert await value(database) == {"open": {"state": "online"}}


@pytest.mark.parametrize(
    "action, body, answer",
    [
        ("o", {"p": "/own/ann", "d": 1}, DENIED),
        ("om", {"p": "/", "d": {"open/a": 1, "own/ann": 1}}, DENIED),
        ("o", {"p": "/.info/connected", "d": 1}, DENIED),
        ("oc", {"p": "/.info/connected", "d": None}, DENIED),
        ("om", {"p": "/open", "d": 5}, "failure"),
        ("om", {"p": "/open", "d": {"a": 1, "a/b": 2}}, "failure"),
        ("o", {"p": "/open"}, "failure"),
        ("o", {"p": "/open/a.b", "d": 1}, "failure"),
        ("o", {"p": "/open", "d": {"a.b": 1}}, "failure"),
        ("o", {"p": "/open", "d": {".sv": "nothing"}}, "failure"),
        ("o", {"p": "/open/.priority", "d": 1}, "failure"),
    ],
)
async def test_what_may_not_or_cannot_be_is_refused_and_nothing_waits(
    client: SessionClient, database: Database, action: str, body: Any, answer: Any
) -> None:
    status, reason = await client.answer(await client.send(action, body))
    assert (status, reason) == answer if answer is DENIED else status == answer
    client.session.end()
    assert await value(database) is None


@pytest.mark.parametrize(
    "limits",
    [
        replace(DEFAULT_LIMITS, on_disconnects_per_connection=2),
        replace(DEFAULT_LIMITS, on_disconnect_bytes=60),
    ],
)
async def test_what_may_wait_is_bounded(tmp_path: FilePath, limits: Limits) -> None:
    async with opened_database(tmp_path, limits) as database:
        client = SessionClient(database)
        assert await client.ask("om", p="/", d={"a": 1, "b": 2}) == OK
        status, _ = await client.ask("o", p="/c", d="x" * 60)
        assert status == "too_big"
        assert await client.ask("oc", p="/a", d=None) == OK
        assert await client.ask("o", p="/c", d=3) == OK
        client.session.end()
        assert await value(database) == {"b": 2, "c": 3}


async def test_rules_are_asked_again_at_the_end(client: SessionClient, database: Database) -> None:
    await client.ask("om", p="/open", d={"a": 1, "b": 2})
    await database.put_rules(CLOSED, Origin.ADMIN)
    client.session.end()
    assert await value(database) == {"open": {"a": 1}}


@pytest.mark.parametrize(
    "action, body, written",
    [
        ("unauth", {}, None),
        ("auth", {"cred": unsigned(sub="ann")}, {"ann": 1}),
        ("auth", {"cred": unsigned(sub="bob")}, None),
        ("auth", {"cred": "not a token"}, None),
        ("auth", {"cred": 5}, None),
        ("gauth", {"cred": "owner"}, {"ann": 1}),
        ("gauth", {"cred": "owner", "noauth": True}, None),
        ("gauth", {"cred": "owner", "authvar": {"uid": "ann"}}, {"ann": 1}),
    ],
)
async def test_who_the_client_is_at_the_end_counts(
    client: SessionClient, database: Database, action: str, body: Any, written: Any
) -> None:
    await client.ask("auth", cred=unsigned(sub="ann"))
    assert await client.ask("o", p="/own/ann", d=1) == OK
    await client.answer(await client.send(action, body))
    client.session.end()
    assert await value(database, "/own") == written


async def test_who_the_client_is_is_durable_before_the_answer(tmp_path: FilePath) -> None:
    async with opened_database(tmp_path, rules=RULES) as database:
        client = SessionClient(database)
        await client.ask("o", p="/open/a", d=1)
        await client.ask("auth", cred=unsigned(sub="ann"))
        with database._store.transaction() as transaction, database._store.snapshot() as snapshot:
            [session_id] = snapshot.sessions()
            kept = transaction.session(session_id)
        assert kept is not None
        assert kept.auth is not None
        assert kept.auth.uid == "ann"


async def test_a_credential_that_expires_no_longer_counts(database: Database) -> None:
    expires_at_ms = [database._clock.now_ms() + HOUR_MS]

    def authenticate(credential: str) -> Auth:
        return replace(parse_dev_credential(credential), expires_at_ms=expires_at_ms[0])

    client = SessionClient(database, authenticate)
    await client.ask("auth", cred=unsigned(sub="ann"))
    assert await client.ask("o", p="/own/ann", d=1) == OK
    expires_at_ms[0] = database._clock.now_ms() + 200
    await client.ask("auth", cred=unsigned(sub="ann"))
    await client.door.until(lambda: any(push["a"] == "ac" for push in client.pushes))
    client.session.end()
    assert await value(database) is None


async def test_a_sign_in_that_cannot_be_kept_is_refused(
    client: SessionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.ask("o", p="/open/a", d=1)

    def fail(transaction: WriteTransaction) -> None:
        raise InsufficientStorage

    with monkeypatch.context() as full:
        full.setattr(WriteTransaction, "commit", fail)
        assert (await client.ask("auth", cred=unsigned(sub="ann")))[0] == "unavailable"
    assert (await client.ask("auth", cred=unsigned(sub="ann")))[0] == "ok"


async def test_requests_are_answered_in_order_with_the_writes_around_them(
    client: SessionClient,
) -> None:
    actions = ("p", "o", "p", "om", "oc", "p", "o", "m")
    for number, action in enumerate(actions):
        await client.send(action, {"p": "/open", "d": {"n": number}})
    await client.answer(len(actions))
    assert [each["r"] for each in client.heard if "r" in each] == list(range(1, len(actions) + 1))


async def test_a_closing_database_ends_the_sessions_it_serves(tmp_path: FilePath) -> None:
    async with opened_database(tmp_path, rules=RULES) as database:
        client = SessionClient(database)
        await client.ask("o", p="/open/n", d={".sv": {"increment": 1}})
    client.session.end()
    async with opened_database(tmp_path, rules=RULES) as database:
        assert await value(database) == {"open": {"n": 1}}
