import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.server.opened_database import opened_database
from tests.server.realtime_world import CALLERS
from tests.server.recording_door import RecordingDoor
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.errors import ProtocolError, Unavailable, UnsupportedRequest
from treedb.server.realtime import Realtime, receive

NOW_MS = 1_795_220_127_288


class Clock(SystemClock):
    """Tells one time."""

    def now_ms(self) -> int:
        return NOW_MS


class World:
    """A registry, and the one database it opens."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.asked: list[str] = []
        limits = replace(DEFAULT_LIMITS, connections=2)
        self.realtime = Realtime(self._open, limits, Clock(), CALLERS)

    async def _open(self, namespace: str) -> Database:
        self.asked.append(namespace)
        return self.database


@pytest.fixture
async def world(tmp_path: FilePath) -> AsyncIterator[World]:
    async with opened_database(tmp_path) as database:
        yield World(database)


async def test_a_client_is_greeted(world: World) -> None:
    door = RecordingDoor()
    opened = world.realtime.begin(world.database, door, "localhost:9000", {})
    content = {"ts": NOW_MS, "v": "5", "h": "localhost:9000", "s": opened.id}
    assert door.messages == [{"t": "c", "d": {"t": "h", "d": content}}]


def test_ids_are_letters_and_digits_and_differ(world: World) -> None:
    ids = {world.realtime.new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(each) == 32 and each.isalnum() and each.isascii() for each in ids)


def test_connections_are_counted_and_bounded(world: World) -> None:
    with world.realtime.connection(), world.realtime.connection():
        assert world.realtime.connections == 2
        with pytest.raises(Unavailable, match="All 2 connections"), world.realtime.connection():
            pass
    assert world.realtime.connections == 0


async def test_the_database_is_that_of_the_namespace(world: World) -> None:
    for parameters in ({"v": "5"}, {"v": "5", "ns": "a"}):
        assert await world.realtime.database_of(parameters) is world.database
    assert world.asked == ["", "a"]


@pytest.mark.parametrize("parameters, found", [({}, "none"), ({"v": "4" * 99}, "'4{16}'")])
async def test_other_protocols_are_refused(
    world: World, parameters: dict[str, str], found: str
) -> None:
    with pytest.raises(UnsupportedRequest, match=f"found {found}"):
        await world.realtime.database_of(parameters)


async def test_who_comes_back_ends_the_session_before(world: World) -> None:
    old, new = RecordingDoor(), RecordingDoor()
    opened = world.realtime.begin(world.database, old, "", {})
    world.realtime.begin(world.database, new, "", {"ls": opened.id})
    assert old.closed == (1001, "the client has come back")
    assert new.closed is None


async def test_a_session_that_has_ended_is_forgotten(world: World) -> None:
    door = RecordingDoor()
    opened = world.realtime.begin(world.database, door, "", {})
    world.realtime.end(opened)
    world.realtime.end(opened)
    world.realtime.begin(world.database, RecordingDoor(), "", {"ls": opened.id})
    assert door.closed is None


class BrokenReceiver:
    """Fails at every frame."""

    is_waiting = False

    def __init__(self) -> None:
        self.closed: tuple[int, str] | None = None

    async def receive(self, frame: str) -> None:
        raise ZeroDivisionError(frame)

    def fail(self, error: ProtocolError) -> None:
        raise AssertionError

    def close(self, code: int, reason: str) -> None:
        self.closed = code, reason


async def test_a_fault_of_ours_is_logged_and_closes(caplog: pytest.LogCaptureFixture) -> None:
    broken = BrokenReceiver()
    with caplog.at_level(logging.ERROR):
        await receive(broken, "{}")
    assert broken.closed == (1011, "Internal server error")
    assert "ZeroDivisionError" in caplog.text
