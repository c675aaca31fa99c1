"""When one HTTP connection is read: uvicorn's flow control, which asks before it reads on."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """uvicorn resumes reading whenever a request is answered or wants its body; here it asks.

    Otherwise each answer would let a client that pipelines send a whole read of requests more.
    """

    def __init__(self, transport: asyncio.Transport, may_read: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._may_read = may_read
        self._was_paused = False

    def pause_reading(self) -> None:
        """Read nothing for now."""
        self._was_paused = True
        super().pause_reading()

    def resume_reading(self) -> None:
        """Read on, if that may be."""
        if self.read_paused and self._may_read():
            super().resume_reading()

    def was_held(self) -> bool:
        """Tell whether reading was paused at any moment since this was last asked."""
        was_held = self._was_paused
        self._was_paused = self.read_paused
        return was_held
