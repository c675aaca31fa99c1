import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.server.opened_database import opened_database
from tests.server.poller import Script, parse_script
from tests.server.realtime_world import CALLERS
from tests.wire.poll_calls import cut
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database
from treedb.server.poll_client import FLOODED_CHARS, PollClient, begin_polls
from treedb.server.poll_door import Turn
from treedb.server.realtime import Realtime
from treedb.wire.poll import Segment

PATIENT = replace(DEFAULT_LIMITS, poll_hold_ms=60_000)


class World:
    """A client that polls without a socket; its calls are made one after the other or beside."""

    def __init__(self, database: Database, limits: Limits) -> None:
        realtime = Realtime(self._open, limits, SystemClock(), CALLERS)
        self.database = database
        self.client = PollClient(realtime, limits, begin_polls(realtime, database, "", {}))
        self.running = asyncio.create_task(self.client.run())
        self.calls: list[asyncio.Task[Script]] = []

    async def _open(self, namespace: str) -> Database:
        return self.database

    async def call(self, *segments: Segment) -> "asyncio.Task[Script]":
        """Make a call that has arrived."""
        call = asyncio.create_task(self._call(segments))
        self.calls.append(call)
        await asyncio.sleep(0)
        return call

    async def _call(self, segments: tuple[Segment, ...]) -> Script:
        return parse_script((await self.client.call(segments, Turn())).decode())

    async def end(self) -> None:
        self.client.leave()
        await self.running
        await asyncio.gather(*self.calls)


@pytest.fixture
def limits() -> Limits:
    return PATIENT


@pytest.fixture
async def world(tmp_path: FilePath, limits: Limits) -> AsyncIterator[World]:
    async with opened_database(tmp_path, limits) as database:
        world = World(database, limits)
        await world.client.first_packet()
        yield world
        await world.end()


def put(number: int, value: object) -> str:
    body = {"p": "/v", "d": value}
    return json.dumps({"t": "d", "d": {"r": number, "a": "p", "b": body}})


async def test_a_message_is_answered(world: World) -> None:
    call = await world.call(*cut([put(1, "x")], 1840))
    (answer,) = (await call).messages
    assert answer == {"t": "d", "d": {"r": 1, "b": {"s": "ok", "d": ""}}}


async def test_while_much_waits_to_be_received_the_older_call_stays(world: World) -> None:
    large = put(1, "x" * FLOODED_CHARS)
    older = await world.call()
    newer = await world.call(*cut([large, large, large], 100_000))
    for _ in range(3):  # turns of the loop; one message needs more
        await asyncio.sleep(0)
    assert not older.done()
    await older
    await newer


FLOOD = replace(PATIENT, bytes_in_flight=100)


@pytest.mark.parametrize("limits", [FLOOD])
async def test_what_is_said_far_faster_than_it_is_taken_closes(world: World) -> None:
    call = await world.call(*cut([put(1, "x" * 90), put(2, "x" * 90)], 1840))
    script = await call
    assert script.messages[0]["d"]["d"] == "More was said than can wait to be received."
    assert script.closes


HASTY = replace(PATIENT, poll_timeout_ms=20)


@pytest.mark.parametrize("limits", [HASTY])
async def test_a_call_that_waits_is_a_sign_of_life(world: World) -> None:
    call = await world.call()
    silent = World(world.database, HASTY)
    await silent.client.first_packet()
    await silent.running
    assert not world.running.done()
    world.client.leave()
    assert (await call).closes
    await world.running


@pytest.mark.parametrize("limits", [HASTY])
async def test_a_client_without_a_call_has_gone(world: World) -> None:
    await world.running


async def test_what_was_said_before_the_end_takes_effect(world: World) -> None:
    await world.call(*cut([put(1, 1), put(2, 2)], 1840))
    world.client.leave()
    await world.running
    async with asyncio.timeout(10):
        while world.database.revision != 2:
            await asyncio.sleep(0.001)
