import asyncio
from collections.abc import AsyncIterator
from pathlib import Path as FilePath
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection

from tests.server.opened_database import opened_database
from tests.server.poller import END, Poller
from tests.server.realtime_world import RealtimeWorld, close_of, receive, send
from tests.server.serving import exchange, handshake
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.server.upgrade import WAITING_CHARS

PING = {"t": "c", "d": {"t": "p", "d": {}}}
PONG = {"t": "c", "d": {"t": "o", "d": None}}
SWITCH = {"t": "c", "d": {"t": "a", "d": {}}}
OK = {"s": "ok", "d": ""}


@pytest.fixture
async def world(tmp_path: FilePath) -> AsyncIterator[RealtimeWorld]:
    async with (
        opened_database(tmp_path) as database,
        RealtimeWorld(database, DEFAULT_LIMITS, SystemClock()).serving() as world,
    ):
        yield world


@pytest.fixture
async def poller(world: RealtimeWorld) -> AsyncIterator[Poller]:
    async with httpx.AsyncClient(timeout=30) as http:
        poller = Poller(world.address, http)
        await poller.start()
        yield poller
        await poller.end()


def query_of(poller: Poller) -> str:
    session_id = poller.controls[0]["d"]["s"]
    return f"v=5&s={session_id}&ns=default"


async def tried(websocket: ClientConnection) -> None:
    """Try a websocket as the JavaScript SDK does: it has two answers before it is trusted."""
    assert await receive(websocket) == SWITCH
    for _ in range(2):
        await send(websocket, PING)
        assert await receive(websocket) == PONG
    await send(websocket, SWITCH)


async def gone_over(poller: Poller) -> None:
    """Leave the polls, and poll until they are closed."""
    await poller.send(END)
    await poller.until(lambda: poller.is_closed)
    assert poller.messages[-1] == END


async def answer_of(websocket: ClientConnection, message: dict[str, Any]) -> list[Any]:
    """Return the bodies of all that comes until a request is answered."""
    bodies = []
    while True:
        heard = (await receive(websocket))["d"]
        bodies.append(heard["b"])
        if heard.get("r") == message["d"]["r"]:
            return bodies


async def status_of(world: RealtimeWorld, query: str) -> int:
    head, _, _ = (await exchange(world.address, handshake(f"/.ws?{query}"))).partition(b"\r\n")
    return int(head.split(b" ")[1])


async def test_a_session_goes_over_with_all_it_has(world: RealtimeWorld, poller: Poller) -> None:
    await poller.ask("q", p="/n", h="")
    await poller.ask("o", p="/online", d=False)
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        await gone_over(poller)
        await world.until_connected(1)
        request = poller.request("p", {"p": "/n", "d": 1})
        await send(websocket, request)
        assert await answer_of(websocket, request) == [{"p": "n", "d": 1}, OK]
        await poller.call("disconn=t")
        assert world.database.watched_places == 1
    await world.until_connected(0)
    assert world.database.watched_places == 0
    await world.until_value("/online", False)


async def test_polls_go_on_while_the_websocket_is_tried(
    world: RealtimeWorld, poller: Poller
) -> None:
    async with world.connect(query_of(poller)) as websocket:
        assert await receive(websocket) == SWITCH
        assert await poller.ask("p", p="/n", d=1) == OK
        await send(websocket, PING)
        assert await receive(websocket) == PONG
        assert await poller.ask("p", p="/n", d=2) == OK
        await send(websocket, SWITCH)
        assert await poller.ask("p", p="/n", d=3) == OK


async def test_what_comes_by_websocket_waits_for_the_end_of_the_polls(
    world: RealtimeWorld, poller: Poller
) -> None:
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        last = poller.cut(poller.request("p", {"p": "/n", "d": "by poll"}))
        end = poller.cut(END)
        by_websocket = [
            poller.request("p", {"p": "/n", "d": each}) for each in ("x" * 40_000, "by websocket")
        ]
        for each in by_websocket:
            await send(websocket, each)
        await send(websocket, PING)
        await world.put("/n", "by another")
        for parameters in (*end, *last):  # the end overtakes what is before it
            poller.begin(parameters)
        await poller.until(lambda: poller.is_closed)
        answers = [(await receive(websocket))["d"] for _ in range(4)]
    said_by_poll = [each for each in poller.heard if "r" in each]
    answered = [each["r"] for each in (*said_by_poll, *answers) if "r" in each]
    assert answered == [1, 2, 3]
    assert {"t": "o", "d": None} in answers
    assert await world.value_at("/n") == "by websocket"


async def test_a_flood_by_websocket_waits_unread_for_the_end_of_the_polls(
    world: RealtimeWorld, poller: Poller
) -> None:
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        large = "x" * 1_000_000
        requests = [poller.request("p", {"p": "/n", "d": f"{n}{large}"}) for n in range(6)]
        assert len(large) * len(requests) > 4 * WAITING_CHARS
        sending = asyncio.create_task(_send_all(websocket, requests))
        await gone_over(poller)
        for request in requests:
            assert await answer_of(websocket, request) == [OK]
        await sending
    assert (await world.value_at("/n"))[:2] == "5x"


async def _send_all(websocket: ClientConnection, requests: list[dict[str, Any]]) -> None:
    for each in requests:
        await send(websocket, each)


async def test_pushes_are_neither_lost_nor_doubled_on_the_way_over(
    world: RealtimeWorld, poller: Poller
) -> None:
    await poller.ask("q", p="/n", h="")
    stop = asyncio.Event()
    writing = asyncio.create_task(_count_up(world, stop))
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        await poller.until(lambda: len(poller.pushes) > 5)
        await gone_over(poller)
        by_websocket = [(await receive(websocket))["d"]["b"]["d"] for _ in range(5)]
        stop.set()
        last = await writing
        while by_websocket[-1] != last:
            by_websocket.append((await receive(websocket))["d"]["b"]["d"])
    by_polls = [each["d"] for each in poller.pushes]
    assert by_polls + by_websocket == [*range(1, last + 1)]
    assert sorted(poller.numbers) == [*range(len(poller.numbers))]


async def _count_up(world: RealtimeWorld, stop: asyncio.Event) -> int:
    number = 0
    while not stop.is_set():
        number += 1
        await world.put("/n", number)
    return number


async def test_a_websocket_that_is_lost_leaves_the_polls_alone(
    world: RealtimeWorld, poller: Poller
) -> None:
    await poller.ask("q", p="/n", h="")
    for is_trusted in (False, True):
        async with world.connect(query_of(poller)) as websocket:
            await receive(websocket)
            if is_trusted:
                await send(websocket, SWITCH)
        await world.until_connected(1)
        assert await poller.ask("p", p="/n", d=is_trusted) == OK
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        await gone_over(poller)


async def test_a_client_that_leaves_its_polls_for_nowhere_has_gone(
    world: RealtimeWorld, poller: Poller
) -> None:
    await poller.ask("q", p="/n", h="")
    await poller.send(END)
    await poller.until(lambda: poller.is_closed)
    await world.until_connected(0)
    assert world.database.watched_places == 0


@pytest.mark.parametrize("said", ["nonsense", "5", '{"t":"d","d":{"r":1,"a":"s","b":{}}}'])
async def test_a_websocket_that_is_tried_carries_pings_only(
    world: RealtimeWorld, poller: Poller, said: str
) -> None:
    async with world.connect(query_of(poller)) as websocket:
        await receive(websocket)
        await websocket.send(said)
        assert await close_of(websocket) == (1008, "Protocol error")
    assert await poller.ask("p", p="/n", d=1) == OK


async def test_nonsense_after_all_closes_the_session(world: RealtimeWorld, poller: Poller) -> None:
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        await gone_over(poller)
        await websocket.send(b"binary")
        assert (await receive(websocket))["d"]["t"] == "e"
        assert await close_of(websocket) == (1003, "Protocol error")
    await world.until_connected(0)


async def test_the_end_of_a_session_closes_the_websocket_it_is_trying(
    world: RealtimeWorld, poller: Poller
) -> None:
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        await poller.call("disconn=t")
        assert await close_of(websocket) == (1001, "the session has ended")
    await world.until_connected(0)


async def test_a_session_that_went_over_ends_when_its_client_comes_back(
    world: RealtimeWorld, poller: Poller
) -> None:
    async with world.connect(query_of(poller)) as websocket:
        await tried(websocket)
        await gone_over(poller)
        again = query_of(poller).replace("&s=", "&ls=")
        async with world.connect(again) as new:
            assert (await receive(new))["d"]["t"] == "h"
            assert await close_of(websocket) == (1001, "the client has come back")


async def test_an_upgrade_is_refused_to_who_names_no_session_that_polls(
    world: RealtimeWorld, poller: Poller
) -> None:
    assert await status_of(world, "v=5&s=unknown&ns=default") == 404
    async with world.connect(query_of(poller)) as websocket:
        assert await status_of(world, query_of(poller)) == 404  # one at a time
        await tried(websocket)
        await gone_over(poller)
        assert await status_of(world, query_of(poller)) == 404  # and once
    async with world.connect() as other:
        session_id = (await receive(other))["d"]["d"]["s"]
        assert await status_of(world, f"v=5&s={session_id}&ns=default") == 404
