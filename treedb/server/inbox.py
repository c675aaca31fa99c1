"""What a client has said and nobody has received yet, in order."""

import asyncio
from collections import deque
from collections.abc import Iterable


class Inbox:
    """A queue of messages that ends; it is bounded by those who put something in."""

    __slots__ = ("_has_news", "_is_over", "_messages", "size_chars")

    def __init__(self) -> None:
        self._messages: deque[str] = deque()
        self._has_news = asyncio.Event()
        self._is_over = False
        self.size_chars = 0

    def put(self, messages: Iterable[str]) -> None:
        """Put messages behind those that wait."""
        for message in messages:
            self._messages.append(message)
            self.size_chars += len(message)
        self._has_news.set()

    def end(self) -> None:
        """Take that nothing more is to come; what waits is still to be received."""
        self._is_over = True
        self._has_news.set()

    async def next(self) -> str | None:
        """Wait for a message and take it; None when there are no more."""
        while not self._messages:
            if self._is_over:
                return None
            self._has_news.clear()
            await self._has_news.wait()
        message = self._messages.popleft()
        self.size_chars -= len(message)
        return message
