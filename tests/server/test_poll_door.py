import asyncio
import json

import pytest

from tests.server.poller import Script, parse_script
from treedb.server.poll_door import CONGESTED_BYTES, PACKET_BYTES, PollDoor, Turn
from treedb.wire.ready_frame import ready_frames

HOLD_SECONDS = 10.0


class World:
    """A door, and the calls that wait at it."""

    def __init__(self) -> None:
        self.closings = 0
        self.door = PollDoor(self._closing)

    def _closing(self) -> None:
        self.closings += 1

    def say(self, *messages: object) -> None:
        for message in messages:
            self.door.write(ready_frames(json.dumps({"m": message}).encode()))

    async def call(self, turn: Turn | None = None) -> "asyncio.Task[Script]":
        """Make a call that has arrived."""
        call = asyncio.create_task(self._answer(turn or Turn()))
        await asyncio.sleep(0)
        return call

    async def _answer(self, turn: Turn) -> Script:
        return parse_script((await self.door.answer(turn, HOLD_SECONDS)).decode())


def packet(number: int, *messages: object) -> Script:
    return Script(number, [{"m": each} for each in messages], closes=False)


@pytest.fixture
def world() -> World:
    return World()


async def test_a_call_takes_along_what_waits(world: World) -> None:
    world.say(1, 2)
    assert await (await world.call()) == packet(0, 1, 2)
    assert world.door.buffered() == 0


async def test_a_call_waits_for_something_to_take_along(world: World) -> None:
    call = await world.call()
    await asyncio.sleep(0)
    assert not call.done()
    world.say(1)
    world.say(2)
    assert await call == packet(0, 1, 2)


async def test_a_call_that_waited_long_takes_nothing(world: World) -> None:
    script = await world.door.answer(Turn(), 0.001)
    assert parse_script(script.decode()) == packet(0)


async def test_the_older_call_gives_way(world: World) -> None:
    older, newer = await world.call(), await world.call()
    assert await older == packet(0)
    assert not newer.done()
    world.say(1)
    assert await newer == packet(1, 1)


async def test_the_older_call_takes_along_what_comes_just_then(world: World) -> None:
    older = await world.call()
    newer = asyncio.create_task(world.door.answer(Turn(), HOLD_SECONDS))
    world.say(1)
    assert await older == packet(0, 1)
    world.say(2)
    assert parse_script((await newer).decode()) == packet(1, 2)


async def test_a_flood_holds_the_older_call_back(world: World) -> None:
    world.door.hold_back(is_flooded=True)
    older, newer = await world.call(), await world.call()
    await asyncio.sleep(0)
    assert not older.done()
    world.door.hold_back(is_flooded=False)
    assert await older == packet(0)
    assert not newer.done()
    newer.cancel()


async def test_a_flood_holds_nothing_back_that_there_is_to_say(world: World) -> None:
    world.door.hold_back(is_flooded=True)
    older, newer = await world.call(), await world.call()
    world.say(1)
    assert await older == packet(0, 1)
    world.say(2)
    assert await newer == packet(1, 2)


async def test_a_third_call_is_one_too_many_also_in_a_flood(world: World) -> None:
    world.door.hold_back(is_flooded=True)
    calls = [await world.call() for _ in range(4)]
    assert await calls[0] == packet(0)
    assert await calls[1] == packet(1)
    assert not calls[2].done()
    for each in calls[2:]:
        each.cancel()


async def test_a_call_whose_peer_has_gone_takes_nothing_along(world: World) -> None:
    turn = Turn()
    gone = asyncio.create_task(world.door.answer(turn, HOLD_SECONDS))
    newer = await world.call()
    turn.leave()
    world.say(1)
    assert await gone == b""
    assert await newer == packet(0, 1)


async def test_it_is_congested_while_more_waits_than_a_transport_takes(world: World) -> None:
    while world.door.buffered() <= CONGESTED_BYTES:
        assert not world.door.congested
        world.say("x" * 1000)
    assert world.door.congested
    draining = asyncio.create_task(world.door.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    await (await world.call())
    await draining
    assert not world.door.congested


async def test_what_is_too_much_for_one_packet_waits_for_the_next(world: World) -> None:
    half = "x" * (PACKET_BYTES // 2)
    world.say(half, half, "last")
    first, second = await world.call(), await world.call()
    assert await first == packet(0, half, half)
    assert await second == packet(1, "last")


async def test_one_message_is_never_too_much(world: World) -> None:
    large = "x" * (2 * PACKET_BYTES)
    world.say(large, "last")
    first, second = await world.call(), await world.call()
    assert await second == packet(1, "last")
    assert await first == packet(0, large)


async def test_a_close_comes_with_the_last_packet(world: World) -> None:
    world.say(1)
    world.door.close(1008, "Protocol error")
    world.say("too late")
    assert world.closings == 1
    assert await (await world.call()) == Script(0, [{"m": 1}], closes=True, closes_after=0)
    assert world.door.closed.is_set()
    assert await (await world.call()) == Script(None, [], closes=True, closes_after=0)


async def test_a_close_answers_every_call(world: World) -> None:
    world.door.hold_back(is_flooded=True)
    older, newer = await world.call(), await world.call()
    world.door.close(1001, "gone")
    world.door.close(1001, "gone again")
    assert await older == Script(0, [], closes=True, closes_after=0)
    assert await newer == Script(None, [], closes=True, closes_after=0)
    assert world.closings == 1


async def test_a_close_waits_for_all_that_was_said(world: World) -> None:
    world.say("x" * PACKET_BYTES, "last")
    world.door.close(1001, "gone")
    assert not (await (await world.call())).closes
    assert await (await world.call()) == Script(1, [{"m": "last"}], closes=True, closes_after=1)


async def test_a_close_lets_who_drains_go_on(world: World) -> None:
    world.say("x" * CONGESTED_BYTES)
    draining = asyncio.create_task(world.door.drain())
    await asyncio.sleep(0)
    world.door.close(1001, "gone")
    await draining
    assert not world.door.congested
