import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath

import httpx
import pytest

from tests.server.opened_database import opened_database
from tests.server.poller import Poller, parse_script
from tests.server.realtime_world import RealtimeWorld, close_of, receive
from tests.server.realtime_world import ask as ask_websocket
from tests.waiting import until
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits

LIMITS = replace(DEFAULT_LIMITS, connections=4)
IMPATIENT = replace(
    LIMITS, message_timeout_ms=50, poll_hold_ms=50, poll_timeout_ms=150, poll_segments_ahead=3
)
PING = {"t": "c", "d": {"t": "p", "d": {}}}
OK = {"s": "ok", "d": ""}


@pytest.fixture
def limits() -> Limits:
    return LIMITS


@pytest.fixture
async def world(tmp_path: FilePath, limits: Limits) -> AsyncIterator[RealtimeWorld]:
    async with (
        opened_database(tmp_path, limits) as database,
        RealtimeWorld(database, limits, SystemClock()).serving() as world,
    ):
        yield world


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=30) as client:
        yield client


@pytest.fixture
async def poller(world: RealtimeWorld, http: httpx.AsyncClient) -> AsyncIterator[Poller]:
    poller = Poller(world.address, http)
    await poller.start()
    yield poller
    await poller.end()


impatient = pytest.mark.parametrize("limits", [IMPATIENT])


# The start.


async def test_the_first_answer_is_a_script_that_greets(
    world: RealtimeWorld, http: httpx.AsyncClient
) -> None:
    answer = await http.get(f"http://{world.address}/.lp?start=t&ser=1&cb=3&v=5&ns=default")
    assert answer.headers["content-type"] == "application/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert 'parent.window["pLPCommand3"]' in answer.text
    (hello,) = parse_script(answer.text).messages
    assert hello["d"]["t"] == "h"
    assert hello["d"]["d"]["h"] == world.address
    assert len(hello["d"]["d"]["s"]) == 32


async def test_a_client_that_is_no_page_gets_bare_calls(
    world: RealtimeWorld, http: httpx.AsyncClient
) -> None:
    answer = await http.get(f"http://{world.address}/.lp?start=t&ser=1&v=5")
    assert re.match(r"pLPCommand\('start','\w{32}','\w{32}'\);\npRTLPCB\(0,\[", answer.text)


REFUSED = [
    ("start=t&v=4&ns=default", 400, "v=5, found '4'."),
    ("start=t&ns=default", 400, "v=5, found none."),
    ("start=t&v=5&ns=other", 404, "404 Not Found"),
    ("start=t&v=5&ns=no/name", 400, "no slash"),
    ("start=t&v=5&cb=alert(1)", 400, "at most 15 digits"),
]


@pytest.mark.parametrize("query, status, error", REFUSED)
async def test_a_start_is_refused_with_a_status(
    world: RealtimeWorld, http: httpx.AsyncClient, query: str, status: int, error: str
) -> None:
    answer = await http.get(f"http://{world.address}/.lp?{query}")
    assert answer.status_code == status
    assert error in " ".join(answer.json().values())
    assert world.realtime.connections == 0


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
async def test_only_get_is_a_call(poller: Poller, method: str) -> None:
    answer = await poller.http.request(method, f"{poller.url}?{poller.credentials}")
    assert answer.status_code == 405


async def test_clients_that_poll_count_as_connections(
    world: RealtimeWorld, http: httpx.AsyncClient
) -> None:
    pollers = [Poller(world.address, http) for _ in range(4)]
    for each in pollers:
        await each.start()
    assert world.realtime.connections == 4
    answer = await http.get(f"http://{world.address}/.lp?start=t&v=5")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    await http.get(f"{pollers[0].url}?disconn=t&{pollers[0].credentials}")
    await world.until_connected(3)
    await Poller(world.address, http).start()


# A conversation.


async def test_what_is_asked_is_answered(world: RealtimeWorld, poller: Poller) -> None:
    assert await poller.ask("p", p="/a", d={"b": [True, "é😀"]}) == OK
    assert (await poller.ask("g", p="/a"))["d"] == {"b": {"0": True, "1": "é😀"}}
    assert await poller.ask("q", p="/a", h="") == {"s": "ok", "d": {}}
    await world.put("/a", None)
    await poller.until(lambda: {"p": "a", "d": None} in poller.pushes)


async def test_a_listens_data_comes_before_its_answer(poller: Poller) -> None:
    await poller.ask("p", p="/a", d=1)
    await poller.ask("q", p="/a", h="")
    assert [("r" in each, each["b"].get("d")) for each in poller.heard[-2:]] == [
        (False, 1),
        (True, {}),
    ]


async def test_a_ping_is_answered(poller: Poller) -> None:
    await poller.send(PING)
    await poller.until(lambda: len(poller.controls) == 2)
    assert poller.controls[-1] == {"t": "o", "d": None}


@pytest.mark.parametrize("size", [1_000, 50_000])
async def test_large_values_go_both_ways(world: RealtimeWorld, poller: Poller, size: int) -> None:
    value = "é😀" * (size // 6)
    assert await poller.ask("p", p="/large", d=value) == OK
    assert await world.value_at("/large") == value
    assert (await poller.ask("g", p="/large"))["d"] == value


async def test_writes_that_are_pipelined_are_answered_in_order(
    world: RealtimeWorld, poller: Poller
) -> None:
    for number in range(50):
        await poller.send(poller.request("p", {"p": "/n", "d": number}))
    await poller.until(lambda: len(poller.heard) == 50)
    assert [each["r"] for each in poller.heard] == [*range(1, 51)]
    assert await world.value_at("/n") == 49


# Calls beside one another.


async def test_an_older_call_gives_way_to_a_newer_one(world: RealtimeWorld, poller: Poller) -> None:
    older = poller.begin()
    newer = poller.begin()
    script = await older
    assert (script.number, script.messages, script.closes) == (1, [], False)
    assert not newer.done()


async def test_of_three_calls_one_waits(poller: Poller) -> None:
    calls = [poller.begin() for _ in range(3)]
    await until(lambda: sum(each.done() for each in calls) == 2)
    assert sorted(poller.numbers) == [0, 1, 2]


@impatient
async def test_a_call_is_answered_with_nothing_after_a_while(poller: Poller) -> None:
    script = await poller.call()
    assert (script.number, script.messages, script.closes) == (1, [], False)


async def test_segments_that_overtake_one_another_are_put_in_order(
    world: RealtimeWorld, poller: Poller
) -> None:
    value = "x" * 20_000
    pieces = poller.cut(poller.request("p", {"p": "/v", "d": value}))
    pieces += poller.cut(poller.request("p", {"p": "/w", "d": 1}))
    assert len(pieces) > 10
    for parameters in reversed(pieces):
        poller.begin(parameters)
    await poller.until(lambda: len(poller.heard) == 2)
    assert [each["r"] for each in poller.heard] == [1, 2]
    assert await world.value_at("/v") == value


async def test_a_call_that_a_browser_repeats_takes_effect_once(
    world: RealtimeWorld, poller: Poller
) -> None:
    (parameters,) = poller.cut(poller.request("p", {"p": "/n", "d": {".sv": {"increment": 1}}}))
    for _ in range(3):
        poller.begin(parameters)
    await poller.until(lambda: len(poller.heard) == 1)
    await poller.ask("p", p="/other", d=1)
    assert await world.value_at("/n") == 1
    assert [each["r"] for each in poller.heard] == [1, 2]


async def test_packets_are_numbered_without_gaps_whatever_overlaps(
    world: RealtimeWorld, poller: Poller, seed: int
) -> None:
    await poller.ask("q", p="/n", h="")
    for number in range(1, 101):
        if (seed >> (number % 32)) & 1:
            await poller.send(PING)
        await world.put("/n", number)
    await poller.until(lambda: {"p": "n", "d": 100} in poller.pushes)
    assert sorted(poller.numbers) == [*range(len(poller.numbers))]
    assert [each["d"] for each in poller.pushes] == [*range(1, 101)]


async def test_nothing_is_said_to_a_call_whose_peer_has_gone(
    world: RealtimeWorld, poller: Poller
) -> None:
    await poller.ask("q", p="/n", h="")
    last = max(poller.numbers)
    reader, writer = await asyncio.open_connection(*world.address.split(":"))
    writer.write(f"GET /.lp?{poller.credentials} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    client = world.long_polling.client_of("default", (poller.controls[0]["d"]["s"]))
    assert client is not None
    await until(lambda: client.is_called)
    writer.close()
    await writer.wait_closed()
    assert await reader.read() == b""
    await until(lambda: not client.is_called)
    await world.put("/n", 1)
    script = await poller.call()
    assert (script.number, [each["d"]["b"] for each in script.messages]) == (
        last + 1,
        [{"p": "n", "d": 1}],
    )


# The end.


async def end_of(world: RealtimeWorld, poller: Poller) -> str:
    """Poll to the end; return the error that the client was told."""
    await poller.until(lambda: poller.is_closed)
    await world.until_connected(0)
    errors = [each["d"] for each in poller.controls if each["t"] == "e"]
    return errors[0] if errors else ""


BROKEN = [
    ("seg0=0&ts0=1&d0=bm8.", "found text that is not JSON"),
    ("seg0=0&ts0=1&d0=MTI.", "announces no segments"),
    ("seg0=0&ts0=1", 'its "d0", found none'),
    ("seg0=x&ts0=1&d0=bm8.", 'digits in "seg0"'),
    ("seg0=0&ts0=99999&d0=bm8.", "99999 segments was announced"),
    ("seg0=3&ts0=1&d0=bm8.", "Segment 3 came"),
    ("seg0=1&ts0=1&d0=bm8.", "did not come"),
    ("seg0=0&ts0=2&d0=bm8.", "did not come"),
    ("seg0=0&ts0=1&d0=*", "UTF-8 in base64"),
]


@impatient
@pytest.mark.parametrize("parameters, error", BROKEN)
async def test_a_client_that_breaks_the_protocol_is_told_and_closed(
    world: RealtimeWorld, poller: Poller, parameters: str, error: str
) -> None:
    poller.begin(parameters)
    assert error in await end_of(world, poller)
    last = poller.scripts[-1]
    assert last.closes_after == last.number


@impatient
async def test_a_client_that_makes_no_call_has_gone(world: RealtimeWorld, poller: Poller) -> None:
    await poller.ask("q", p="/a", h="")
    assert world.database.watched_places == 1
    await world.until_watched(0)
    await world.until_connected(0)


@impatient
async def test_a_client_that_calls_again_and_again_stays(
    world: RealtimeWorld, poller: Poller
) -> None:
    for _ in range(6):
        await poller.call()
    assert world.realtime.connections == 1


@pytest.mark.parametrize("query", ["id=x&pw=y", "id=&pw=", "", "disconn=t&id=x&pw=y"])
async def test_a_client_that_is_unknown_is_closed(
    world: RealtimeWorld, http: httpx.AsyncClient, query: str
) -> None:
    answer = await http.get(f"http://{world.address}/.lp?{query}")
    assert (answer.status_code, answer.text) == (200, "pLPCommand('close');")


async def test_a_wrong_password_does_nothing(
    world: RealtimeWorld, poller: Poller, http: httpx.AsyncClient
) -> None:
    stranger = Poller(world.address, http)
    stranger.credentials = poller.credentials[:-1] + "é"
    for parameters in ("", "disconn=t", *poller.cut(PING)):
        script = await stranger.call(parameters)
        assert (script.closes, script.number) == (True, None)
    poller.segments = 0
    assert await poller.ask("p", p="/a", d=1) == OK


async def test_a_page_that_goes_ends_its_session_at_once(
    world: RealtimeWorld, poller: Poller
) -> None:
    await poller.ask("o", p="/online", d=False)
    await poller.ask("q", p="/a", h="")
    waiting = poller.begin()
    await poller.call("disconn=t")
    assert (await waiting).closes
    await world.until_connected(0)
    assert world.database.watched_places == 0
    await world.until_value("/online", False)
    assert (await poller.call()).closes


async def test_the_frame_of_a_page_tells_when_it_goes(poller: Poller) -> None:
    frame = await poller.http.get(f"{poller.url}?dframe=t&{poller.credentials}")
    assert frame.headers["content-type"] == "text/html; charset=utf-8"
    script = re.search(r"<script>(.*)</script>", frame.text, re.DOTALL)
    assert script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in frame.headers["content-security-policy"]
    assert poller.credentials not in frame.text


async def test_nobody_elses_frame_is_shown(poller: Poller) -> None:
    frame = await poller.http.get(f"{poller.url}?dframe=t&id=%3Cscript%3E&pw=x")
    assert (frame.status_code, frame.text) == (200, "")


async def test_the_end_of_the_server_ends_sessions(world: RealtimeWorld, poller: Poller) -> None:
    await poller.ask("o", p="/online", d=False)
    waiting = poller.begin()
    await world.long_polling.close()
    assert (await waiting).closes
    await world.until_value("/online", False)
    assert world.realtime.connections == 0


# Who comes back.


async def test_a_client_that_comes_back_ends_its_old_session(
    world: RealtimeWorld, poller: Poller, http: httpx.AsyncClient
) -> None:
    old = poller.controls[0]["d"]["s"]
    await poller.ask("o", p="/online", d="old")
    waiting = poller.begin()
    new = Poller(world.address, http, f"v=5&ls={old}&ns=default")
    await new.start()
    await new.ask("p", p="/online", d="new")
    assert (await waiting).closes
    assert await world.value_at("/online") == "new"


async def test_a_client_may_come_back_by_websocket(world: RealtimeWorld, poller: Poller) -> None:
    old = poller.controls[0]["d"]["s"]
    await poller.ask("q", p="/a", h="")
    async with world.connect(f"v=5&ls={old}&ns=default") as websocket:
        await receive(websocket)
        assert world.database.watched_places == 0
        assert (await poller.call()).closes
        await ask_websocket(websocket, "q", p="/a", h="")


async def test_a_client_may_come_back_from_a_websocket(
    world: RealtimeWorld, http: httpx.AsyncClient
) -> None:
    async with world.connect() as websocket:
        old = (await receive(websocket))["d"]["d"]["s"]
        await Poller(world.address, http, f"v=5&ls={old}&ns=default").start()
        assert await close_of(websocket) == (1001, "the client has come back")
