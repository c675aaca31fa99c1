"""What the rules mean to a client of the realtime protocol, from sign-in to revocation."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.auth.minting import unsigned
from tests.server.opened_database import opened_database, write
from tests.server.session_client import SessionClient
from tests.waiting import until
from treedb.auth.identity import Auth
from treedb.clock import SystemClock
from treedb.database import Database
from treedb.paths.path import Path
from treedb.rules.authority import SERVER
from treedb.store.kept_rules import Origin

RULES = """{"rules": {
  "open": {".read": true, ".write": true},
  "own": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid"}},
  "rooms": {"$room": {".read": "root.child('members').child($room).child(auth.uid).exists()"}},
  "stamped": {".write": "newData.val() === now"}
}}"""
CLOSED = '{"rules": {}}'
OK = ("ok", "")
DENIED = ("permission_denied", "Permission denied")


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, rules=RULES) as database:
        yield database


@pytest.fixture
def client(database: Database) -> SessionClient:
    return SessionClient(database)


def cancelled(client: SessionClient) -> list[str]:
    return [push["b"]["p"] for push in client.pushes if push["a"] == "c"]


def data_of(client: SessionClient) -> list[Any]:
    return [push["b"]["d"] for push in client.pushes if push["a"] == "d"]


async def test_everything_is_asked_about(client: SessionClient) -> None:
    for path, answer in (("/open/x", OK), ("/own/mchen", DENIED), ("/", DENIED)):
        assert await client.ask("p", p=path, d=1) == answer
        assert await client.ask("m", p=path, d={"a": 1}) == answer
        status = "ok" if answer is OK else "permission_denied"
        assert (await client.ask("q", p=path, h=""))[0] == status
        assert (await client.ask("g", p=path, q={}))[0] == status
    assert await client.ask("auth", cred=unsigned(sub="mchen"))
    assert await client.ask("p", p="/own/mchen", d=1) == OK
    assert await client.ask("p", p="/own/hmadi", d=1) == DENIED


async def test_now_is_the_timestamp_written(client: SessionClient) -> None:
    assert await client.ask("p", p="/stamped", d={".sv": "timestamp"}) == OK
    assert await client.ask("p", p="/stamped", d=5) == DENIED


async def test_an_update_is_denied_whole(client: SessionClient, database: Database) -> None:
    assert await client.ask("m", p="/", d={"open/a": 1, "own/mchen": 1}) == DENIED
    assert await database.get(Path(()), SERVER) is None


async def test_a_stale_transaction_is_told_before_it_is_denied(client: SessionClient) -> None:
    status, _ = await client.ask("p", p="/own/mchen", d=1, h="stale")
    assert status == "datastale"


async def test_why_is_told_before_the_refusal_and_only_to_who_may_know(database: Database) -> None:
    curious = SessionClient(database, explains=True)
    for action, body in (
        ("p", {"p": "/own/x", "d": 1}),
        ("p", {"p": "/own/x", "d": 1, "h": ""}),
        ("m", {"p": "/own/x", "d": {"a": 1}}),
        ("q", {"p": "/own/x", "h": ""}),
        ("g", {"p": "/own/x", "q": {}}),
    ):
        assert await curious.ask(action, **body) == DENIED
        told, answer = curious.heard[-2:]
        assert told["a"] == "sd"
        assert "auth.uid === $uid" in told["b"]["msg"]
        assert answer["b"]["s"] == "permission_denied"
    plain = SessionClient(database)
    assert await plain.ask("p", p="/own/x", d=1) == DENIED
    assert plain.pushes == []


async def test_a_debug_claim_is_told_why(database: Database) -> None:
    def debugger(_: str) -> Auth:
        return Auth("mchen", {"debug": True}, is_admin=False, expires_at_ms=None)

    client = SessionClient(database, debugger)
    await client.ask("auth", cred="any")
    assert await client.ask("p", p="/own/hmadi", d=1) == DENIED
    assert [push["a"] for push in client.pushes] == ["sd"]


async def test_who_signs_out_or_changes_keeps_only_what_all_may_read(
    client: SessionClient, database: Database
) -> None:
    await client.ask("auth", cred=unsigned(sub="mchen"))
    for path in ("/own/mchen", "/open"):
        assert (await client.ask("q", p=path, h=""))[0] == "ok"
    assert await client.ask("unauth") == OK
    assert cancelled(client) == ["own/mchen"]
    await write(database, "/own/mchen", "secret")
    await write(database, "/open", "public")
    assert data_of(client) == ["public"]
    assert (await client.ask("q", p="/own/mchen", h=""))[0] == "permission_denied"


async def test_another_user_is_asked_about_anew(client: SessionClient) -> None:
    await client.ask("auth", cred=unsigned(sub="mchen"))
    await client.ask("q", p="/own/mchen", h="")
    await client.ask("auth", cred=unsigned(sub="hmadi"))
    assert cancelled(client) == ["own/mchen"]


async def test_a_rules_change_cancels_before_the_next_event(
    client: SessionClient, database: Database
) -> None:
    await client.ask("q", p="/open", h="")
    await database.put_rules(CLOSED, Origin.ADMIN)
    assert cancelled(client) == ["open"]
    await write(database, "/open", "secret")
    assert data_of(client) == []


async def test_what_was_denied_is_not_revived_by_other_rules(
    client: SessionClient, database: Database
) -> None:
    assert (await client.ask("q", p="/own/mchen", h=""))[0] == "permission_denied"
    await database.put_rules('{"rules": {".read": true}}', Origin.ADMIN)
    await write(database, "/own/mchen", 1)
    assert client.pushes == []
    assert (await client.ask("q", p="/own/mchen", h=""))[0] == "ok"
    assert data_of(client) == [1]


async def test_a_rules_change_ends_exactly_what_the_new_rules_deny(database: Database) -> None:
    clients = {uid: SessionClient(database) for uid in ("mchen", "hmadi", "zoe")}
    for uid, client in clients.items():
        await client.ask("auth", cred=unsigned(sub=uid))
        for path in (f"/own/{uid}", "/open"):
            assert (await client.ask("q", p=path, h=""))[0] == "ok"
    rules = """{"rules": {"own": {"$uid": {".read": "auth.uid === $uid && $uid !== 'zoe'"}},
                          "open": {".read": "auth.uid === 'zoe'"}}}"""
    await database.put_rules(rules, Origin.ADMIN)
    await write(database, "/", {"own": dict.fromkeys(clients, 1), "open": 2})
    ended = {uid: (cancelled(client), data_of(client)) for uid, client in clients.items()}
    assert ended == {
        "mchen": (["open"], [1]),
        "hmadi": (["open"], [1]),
        "zoe": (["own/zoe"], [2]),
    }


async def test_who_may_still_read_notices_nothing_of_a_rules_change(
    client: SessionClient, database: Database
) -> None:
    await client.ask("q", p="/open", h="")
    await database.put_rules('{"rules": {".read": true}}', Origin.ADMIN)
    await write(database, "/open", 1)
    assert (cancelled(client), data_of(client)) == ([], [1])


async def test_a_member_who_is_removed_hears_no_more_of_the_room(database: Database) -> None:
    await write(database, "/members/alpha", {"mchen": True, "hmadi": True})
    clients = {}
    for uid in ("mchen", "hmadi"):
        clients[uid] = SessionClient(database)
        await clients[uid].ask("auth", cred=unsigned(sub=uid))
        assert (await clients[uid].ask("q", p="/rooms/alpha", h=""))[0] == "ok"
    await write(database, "/members/alpha/mchen", None)
    await until(lambda: cancelled(clients["mchen"]) == ["rooms/alpha"])
    await write(database, "/rooms/alpha", "secret")
    assert data_of(clients["mchen"]) == []
    assert data_of(clients["hmadi"]) == ["secret"]
    assert cancelled(clients["hmadi"]) == []


async def test_an_expired_token_is_taken_back(database: Database) -> None:
    def brief(_: str) -> Auth:
        return Auth("mchen", {}, is_admin=False, expires_at_ms=SystemClock().now_ms() + 50)

    client = SessionClient(database, brief)
    await client.ask("auth", cred="any")
    assert (await client.ask("q", p="/own/mchen", h=""))[0] == "ok"
    await until(lambda: any(push["a"] == "ac" for push in client.pushes))
    revoked = next(push["b"] for push in client.pushes if push["a"] == "ac")
    assert revoked == {"s": "expired_token", "d": "Auth token is expired"}
    assert cancelled(client) == ["own/mchen"]
    assert await client.ask("p", p="/own/mchen", d=1) == DENIED


async def test_a_new_token_moves_the_expiry(database: Database) -> None:
    lifetimes = iter((30, 60_000))

    def renewed(_: str) -> Auth:
        return Auth("mchen", {}, False, SystemClock().now_ms() + next(lifetimes))

    client = SessionClient(database, renewed)
    await client.ask("auth", cred="first")
    await client.ask("auth", cred="second")
    await asyncio.sleep(0.06)
    assert client.pushes == []
    assert await client.ask("p", p="/own/mchen", d=1) == OK
    client.session.end()
