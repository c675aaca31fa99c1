"""Wait for what has to come, a few milliseconds at a time."""

import asyncio
from collections.abc import Callable


async def until(fact: Callable[[], bool]) -> None:
    """Wait until a fact holds; TimeoutError after far longer than it can take."""
    async with asyncio.timeout(30):
        while not fact():
            await asyncio.sleep(0.005)
