"""A door that keeps what is written through it, for tests without a socket."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.wire.dialogue import server_messages


class RecordingDoor:
    """Keep every message; be congested, and full, exactly when told to."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.closed: tuple[int, str] | None = None
        self.congested = False
        self.unsent = 0
        self._changed = asyncio.Event()

    def write(self, ready: bytes) -> None:
        if self.closed is None:
            self.messages += server_messages(ready)
            self._changed.set()

    def buffered(self) -> int:
        return self.unsent

    async def drain(self) -> None:
        while self.congested:
            self._changed.clear()
            await self._changed.wait()

    def close(self, code: int, reason: str) -> None:
        self.closed = self.closed or (code, reason)
        self.relax()

    def relax(self) -> None:
        """Let those who wait for the peer go on."""
        self.congested = False
        self._changed.set()

    async def until(self, fact: Callable[[], bool]) -> None:
        """Wait until something written makes the fact true."""
        async with asyncio.timeout(10):
            while not fact():
                self._changed.clear()
                await self._changed.wait()
