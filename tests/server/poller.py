"""A client that polls as the JavaScript SDK does, one call at a time or several."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx

from tests.wire.poll_calls import encoded

PIECE: Final = 1840  # characters of one segment
END: Final = {"t": "c", "d": {"t": "n", "d": {}}}

_COMMAND: Final = re.compile(r"pLPCommand\('start','(\w+)','(\w+)'\);\n")
_PACKET: Final = re.compile(r"pRTLPCB\((\d+),(\[.*?\])\);\n", re.DOTALL)
_CLOSE: Final = re.compile(r"pLPCommand\('close'(?:,(\d+))?\);")


@dataclass(frozen=True)
class Script:
    """What an answer does in a page: `number` is None when there is no packet in it."""

    number: int | None
    messages: list[Any]
    closes: bool
    closes_after: int | None = None


def parse_script(text: str) -> Script:
    packet, close = _PACKET.search(text), _CLOSE.search(text)
    assert packet or close, text
    return Script(
        None if packet is None else int(packet[1]),
        [] if packet is None else json.loads(packet[2]),
        close is not None,
        int(close[1]) if close and close[1] else None,
    )


class Poller:
    """One client; `scripts` are the answers so far, as they came."""

    def __init__(
        self, address: str, http: httpx.AsyncClient, start: str = "v=5&ns=default"
    ) -> None:
        self.url = f"http://{address}/.lp"
        self.http = http
        self.scripts: list[Script] = []
        self.segments = 0  # cut so far
        self.credentials = ""
        self._start = start
        self._number = 0
        self._calls: set[asyncio.Task[Script]] = set()

    async def start(self) -> Any:
        """Begin a session; return its hello."""
        answer = await self.http.get(f"{self.url}?start=t&ser=1&cb=1&{self._start}")
        assert answer.status_code == 200, answer.text
        started = _COMMAND.search(answer.text)
        assert started
        self.credentials = f"id={started[1]}&pw={started[2]}"
        (hello,) = self._take(answer).messages
        return hello["d"]["d"]

    def cut(self, message: object) -> list[str]:
        """Cut a message to the parameters of as many calls as it needs."""
        text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
        data = encoded(text)
        pieces = [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
        first = self.segments
        self.segments += len(pieces)
        return [
            f"seg0={first + index}&ts0={len(pieces)}&d0={piece}"
            for index, piece in enumerate(pieces)
        ]

    async def call(self, parameters: str = "") -> Script:
        """Make a call; return what the answer does."""
        answer = await self.http.get(f"{self.url}?{self.credentials}&ser=2&ns=default&{parameters}")
        assert answer.status_code == 200, answer.text
        return self._take(answer)

    async def send(self, message: object) -> None:
        """Begin to send a message: a call with a piece of it does not wait for more than one."""
        for parameters in self.cut(message):
            while len(self._calls) > 1:
                await self._some_answer()
            self.begin(parameters)

    def begin(self, parameters: str = "") -> "asyncio.Task[Script]":
        """Make a call beside others."""
        call = asyncio.create_task(self.call(parameters))
        self._calls.add(call)
        return call

    async def end(self) -> None:
        """Let go of the calls that wait."""
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _some_answer(self) -> None:
        async with asyncio.timeout(10):
            done, self._calls = await asyncio.wait(self._calls, return_when=asyncio.FIRST_COMPLETED)
        for call in done:
            call.result()

    def request(self, action: str, body: object) -> dict[str, Any]:
        """Make the next request."""
        self._number += 1
        return {"t": "d", "d": {"r": self._number, "a": action, "b": body}}

    async def ask(self, action: str, **body: Any) -> Any:
        """Send a request, and poll until it is answered; return the answer's body."""
        await self.send(self.request(action, body))
        number = self._number
        await self.until(lambda: any(each.get("r") == number for each in self.heard))
        (answer,) = (each["b"] for each in self.heard if each.get("r") == number)
        return answer

    async def until(self, fact: Callable[[], bool]) -> None:
        """Poll until what has been heard makes a fact true."""
        while not fact():
            if not self._calls:
                assert not self.is_closed, self.scripts[-1]
                self.begin()
            await self._some_answer()

    @property
    def messages(self) -> list[Any]:
        """Return what has been heard, packets in order as far as they are complete."""
        packets = {each.number: each.messages for each in self.scripts if each.number is not None}
        complete = 0
        while complete in packets:
            complete += 1
        return [message for number in range(complete) for message in packets[number]]

    @property
    def heard(self) -> list[Any]:
        """Return the data messages, without their envelope."""
        return [message["d"] for message in self.messages if message["t"] == "d"]

    @property
    def pushes(self) -> list[Any]:
        return [message["b"] for message in self.heard if "r" not in message]

    @property
    def controls(self) -> list[Any]:
        return [message["d"] for message in self.messages if message["t"] == "c"]

    @property
    def numbers(self) -> list[int]:
        """Return the packets' numbers, in the order they came."""
        return [each.number for each in self.scripts if each.number is not None]

    @property
    def is_closed(self) -> bool:
        return any(each.closes for each in self.scripts)

    def _take(self, answer: httpx.Response) -> Script:
        script = parse_script(answer.text)
        self.scripts.append(script)
        return script
