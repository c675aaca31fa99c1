"""Permissions that end at awkward moments: while a value is read, while it is sent, in flight."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.server.opened_database import opened_database, write
from tests.server.session_client import SessionClient
from treedb.auth.identity import Auth
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.doubts import RECHECK_SLICE
from treedb.paths.path import Path
from treedb.rules.authority import SERVER, Caller
from treedb.server.session import INLINE_BYTES
from treedb.store.kept_rules import KeptRules, Origin
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.writes.writer import Batch

LIMITS = replace(DEFAULT_LIMITS, slice_rows=2, row_bytes=64)
RULES = """{"rules": {
  "own": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid"}},
  "all": {".read": true, ".write": true},
  "while": {".read": "root.child('open').val() === true"}
}}"""
CLOSED = '{"rules": {}}'
DENIED = ("permission_denied", "Permission denied")
WIDE = {f"k{number:04}": "x" * 60 for number in range(300)}


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, LIMITS, RULES) as database:
        yield database


def user(uid: str) -> Auth:
    """Take any text for the name of a user, in place of a credential."""
    return Auth(uid, {}, is_admin=False, expires_at_ms=None)


@pytest.fixture
def client(database: Database) -> SessionClient:
    return SessionClient(database, user)


def change_at_once(database: Database, path: str, value: Any, rules: str | None = None) -> None:
    """Commit and publish within one turn of the event loop, as no writer can."""
    changed = Patch(()) if rules else Patch(((Path.parse(path), value),))
    with database._store.transaction() as transaction:
        commit = Commit(transaction.revision + 1, 0, changed, None, None, rules)
        kept = KeptRules(commit.revision, rules, Origin.ADMIN) if rules else None
        transaction.apply(commit, kept)
        transaction.commit()
    database._follower.arrived(Batch((commit,), ()))


def kinds(client: SessionClient) -> list[str]:
    return [message.get("a", "answer") for message in client.heard]


async def test_rules_that_change_while_a_value_is_read_deny_it(
    client: SessionClient, database: Database
) -> None:
    await write(database, "/all", WIDE)
    listening = asyncio.create_task(client.ask("q", p="/all", h=""))
    while database.watched_places == 0:
        await asyncio.sleep(0)
    change_at_once(database, "/", None, CLOSED)
    assert not listening.done()
    assert await listening == DENIED
    await write(database, "/all", "secret")
    assert kinds(client) == ["answer"]
    assert database.watched_places == 0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Give an event that all work on threads waits for; needs the test's own loop."""
    opened = threading.Event()
    yield opened
    opened.set()


async def test_rules_that_change_while_a_value_is_framed_deny_it(
    client: SessionClient, database: Database, gate: threading.Event
) -> None:
    await write(database, "/all", {f"k{number}": "x" * 1_000_000 for number in range(3)})
    await client.ask("q", p="/own", h="")
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    blocked = loop.run_in_executor(None, gate.wait)
    listening = asyncio.create_task(client.ask("q", p="/all", h=""))
    while client.session._outbox._held is None:
        await asyncio.sleep(0)
    change_at_once(database, "/all/k0", "heard of while the value was framed")
    await asyncio.sleep(0)
    change_at_once(database, "/", None, CLOSED)
    gate.set()
    assert await listening == DENIED
    assert kinds(client) == ["answer", "answer"]
    await blocked


async def test_a_read_is_answered_by_the_rules_it_began_with(
    client: SessionClient, database: Database
) -> None:
    await write(database, "/all", WIDE)
    reading = asyncio.create_task(client.ask("g", p="/all", q={}))
    await asyncio.sleep(0)
    change_at_once(database, "/", None, CLOSED)
    assert not reading.done()
    assert await reading == ("ok", WIDE)
    assert await client.ask("g", p="/all", q={}) == DENIED


async def test_a_listen_said_again_and_denied_is_no_listen(
    client: SessionClient, database: Database
) -> None:
    await write(database, "/open", True)
    assert (await client.ask("q", p="/while", h=""))[0] == "ok"
    database._follower._access = replace(database._follower._access, rechecks_data=False)
    change_at_once(database, "/open", False)
    assert await client.ask("q", p="/while", h="") == DENIED
    assert database.watched_places == 0
    await write(database, "/while", "secret")
    assert "d" not in kinds(client)


async def test_a_write_on_its_way_when_its_token_expires_is_refused(database: Database) -> None:
    ends_ms = SystemClock().now_ms() + 60_000

    def brief(uid: str) -> Auth:
        return Auth(uid, {}, is_admin=False, expires_at_ms=ends_ms)

    client = SessionClient(database, brief)
    await client.ask("auth", cred="mchen")
    numbers = [await client.send("p", {"p": "/own/mchen", "d": 1})]
    database._writer._last_ms = ends_ms  # the writer's time never goes back
    for action, data in (("p", 2), ("m", {"a": 3})):
        numbers.append(await client.send(action, {"p": "/own/mchen", "d": data}))
    answers = [await client.answer(number) for number in numbers]
    assert answers[1:] == [("expired_token", "Auth token is expired")] * 2
    assert await database.get(Path(("own", "mchen")), SERVER) in {None, 1}
    client.session.end()


async def test_rules_put_while_a_token_is_late_end_its_listens(database: Database) -> None:
    """The timer of a token may fire late; nobody hears anything on it all the same."""
    clients = {}
    for uid, ends_ms in (("late", 1), ("mchen", None)):
        auth = Auth(uid, {}, is_admin=False, expires_at_ms=None)
        clients[uid] = SessionClient(database, lambda _, auth=auth: auth)  # type: ignore[misc]
        await clients[uid].ask("auth", cred="any")
        assert (await clients[uid].ask("q", p=f"/own/{uid}", h=""))[0] == "ok"
        late = replace(auth, expires_at_ms=ends_ms)
        for grant in database._follower._doubts._grants.of(clients[uid].session._outbox):
            database._follower._doubts._grants.add(replace(grant, caller=Caller(late)))
    await database.put_rules(RULES + " ", Origin.ADMIN)
    for uid, kind in (("late", "c"), ("mchen", "d")):
        await write(database, f"/own/{uid}", 1)
        assert [push["a"] for push in clients[uid].pushes] == [kind]


async def test_who_signs_out_of_many_listens_hears_of_none(database: Database) -> None:
    limits = replace(LIMITS, listens_per_connection=1000)
    client = SessionClient(database, user)
    client.session._limits = limits
    count = RECHECK_SLICE * 3 + 1
    await client.ask("auth", cred="mchen")
    for number in range(count):
        assert (await client.ask("q", p=f"/own/mchen/{number}", h=""))[0] == "ok"
        assert (await client.ask("q", p=f"/all/{number}", h=""))[0] == "ok"
    signing_out = await client.send("unauth", {})
    await write(database, "/", {"own": {"mchen": {"0": 1, str(count - 1): 1}}, "all": {"0": 1}})
    assert await client.answer(signing_out) == ("ok", "")
    cancelled = [push["b"]["p"] for push in client.pushes if push["a"] == "c"]
    assert sorted(cancelled) == sorted(f"own/mchen/{number}" for number in range(count))
    heard = {push["b"]["p"]: push["b"]["d"] for push in client.pushes if push["a"] == "d"}
    assert heard == {f"all/{number}": 1 if number == 0 else None for number in range(count)}


@pytest.mark.parametrize("size", [1, INLINE_BYTES])
async def test_a_credential_that_is_none_drops_the_identity_however_long_it_is(
    client: SessionClient, size: int
) -> None:
    await client.ask("auth", cred="mchen")
    assert (await client.ask("q", p="/own/mchen", h=""))[0] == "ok"
    await client.send("p", {"p": "/own/mchen", "d": 1})
    answer = await client.ask("auth", cred=["x" * size])
    assert answer == ("invalid_token", "Could not parse auth token.")
    assert kinds(client)[2:] == ["d", "answer", "c", "answer"]
    assert await client.ask("p", p="/own/mchen", d=2) == DENIED


async def test_a_listen_that_was_cancelled_may_be_asked_for_again(
    client: SessionClient, database: Database
) -> None:
    await client.ask("auth", cred="mchen")
    await client.ask("q", p="/own/mchen", h="")
    await client.ask("unauth")
    assert await client.ask("q", p="/own/mchen", h="") == DENIED
    await client.ask("auth", cred="mchen")
    await write(database, "/own/mchen", 1)
    assert [push["a"] for push in client.pushes] == ["c"]
    assert (await client.ask("q", p="/own/mchen", h=""))[0] == "ok"
    assert await client.ask("n", p="/own/mchen") == ("ok", "")
    assert database.watched_places == 0
