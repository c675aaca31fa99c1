"""The end of a session in a database: once, in order, after a crash, at a close, with a full disk."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path as FilePath

import pytest

from tests.failing_commits import DISK_BROKEN, DISK_FULL, failing
from tests.listeners import Recorder
from treedb import database as database_module
from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import NOBODY
from treedb.store.kept_sessions import KeptSession, encode_session
from treedb.store.store import Store
from treedb.sync.delivery import Delivery, Watch
from treedb.tree.values import Value
from treedb.writes.request import KeepOnDisconnect, set_write

OPEN = Access('{"rules": {".read": true, ".write": true}}')
PLACE = Path(("status",))
COUNT: Value = {".sv": {"increment": 1}}


@asynccontextmanager
async def opened(folder: FilePath) -> AsyncIterator[Database]:
    limits, clock = DEFAULT_LIMITS, SystemClock()
    database = Database.open(folder, "test", limits, clock, OPEN, fsync=False)
    await database.start()
    yield database
    await database.close()


def keep(session_id: str, path: Path, value: Value) -> KeepOnDisconnect:
    return KeepOnDisconnect(session_id, set_write(path, value, DEFAULT_LIMITS))


def leave_behind(folder: FilePath, sessions: dict[str, KeptSession]) -> None:
    """Leave what a process that died would."""
    store = Store.open(folder, DEFAULT_LIMITS)
    with store.transaction() as transaction:
        for session_id, session in sessions.items():
            transaction.keep_session(session_id, encode_session(session))
        transaction.commit()
    store.close()


def left(database: Database) -> list[str]:
    with database._store.snapshot() as snapshot:
        return snapshot.sessions()


async def test_listeners_are_told_once_of_all_that_waited(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        listener = Recorder()
        await database.listen(Watch(ROOT), listener, NOBODY)
        for key in ("a", "b", "c"):
            await database.submit(keep("s", PLACE.child(key), 1))
        assert listener.deliveries == []
        await database.end_session("s")
        assert len(listener.deliveries) == 1
        assert await database.get(PLACE, NOBODY) == {"a": 1, "b": 1, "c": 1}


async def test_a_session_ends_before_the_writes_after_it(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        await database.submit(keep("old", PLACE, "offline"))
        database.end_session("old")
        await database.write(set_write(PLACE, "online", DEFAULT_LIMITS))
        assert await database.get(PLACE, NOBODY) == "online"
        assert database.revision == 2


async def test_a_start_ends_the_sessions_of_a_process_that_died(
    tmp_path: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    entries = {PLACE: COUNT}
    leave_behind(tmp_path, {"one": KeptSession(None, entries), "two": KeptSession(None, entries)})
    async with opened(tmp_path) as database:
        assert await database.get(PLACE, NOBODY) == 2
        assert left(database) == []
    assert "2 sessions ended with the server that served them" in caplog.text
    async with opened(tmp_path) as database:
        assert await database.get(PLACE, NOBODY) == 2


async def test_closing_ends_the_sessions_that_are_open(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        await database.submit(keep("s", PLACE, COUNT))
    store = Store.open(tmp_path, DEFAULT_LIMITS)
    with store.snapshot() as snapshot:
        assert snapshot.sessions() == []
        assert snapshot.tree.get(PLACE) == 1
    store.close()


async def test_after_closing_a_session_is_left_to_the_next_start(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        closing = asyncio.create_task(database.close())
        await asyncio.sleep(0)
        await asyncio.wait([database.end_session("s")])
        await closing


async def test_a_full_disk_only_puts_the_end_off(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "SESSION_END_SECONDS", 0.01)
    ended = asyncio.Event()

    class Ended(Recorder):
        def deliver(self, delivery: Delivery, tag: int | None) -> None:
            ended.set()

    async with opened(tmp_path) as database:
        await database.submit(keep("s", PLACE, COUNT))
        await database.listen(Watch(PLACE), Ended(), NOBODY)
        failing(DISK_FULL, 3, monkeypatch)
        await asyncio.wait([database.end_session("s")])
        async with asyncio.timeout(10):
            await ended.wait()
        assert await database.get(PLACE, NOBODY) == 1


async def test_a_broken_store_leaves_the_end_to_the_next_start(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as database:
        await database.submit(keep("s", PLACE, COUNT))
        with monkeypatch.context() as breaking:
            failing(DISK_BROKEN, inf, breaking)
            await asyncio.wait([database.end_session("s")])
        assert left(database) == ["s"]
    assert "what a session left to be written waits: the store failed" in caplog.text
    async with opened(tmp_path) as database:
        assert await database.get(PLACE, NOBODY) == 1
