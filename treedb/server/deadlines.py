"""How long the HTTP end of a socket waits for its peer, in both directions.

A head has to come within a time. A body, and an answer on its way out, have to go on: each time so
many milliseconds have passed, a body that brought less than a slow modem would is given up. Time in
which we ourselves did not read does not count.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from treedb.config import Limits


class Timer(Protocol):
    """What is to be called after a time."""

    def cancel(self) -> None:
        """Have it not called."""


CallLater = Callable[[float, Callable[[], object]], Timer]  # in so many seconds


class ReadDeadline:
    """Call `late` when what is waited for does not come in time; it waits for one thing at a time.

    `was_held` tells, once, whether the peer was kept from sending since it was last asked.
    """

    def __init__(
        self,
        call_later: CallLater,
        limits: Limits,
        was_held: Callable[[], bool],
        late: Callable[[], None],
    ) -> None:
        self._call_later = call_later
        self._head_seconds = limits.header_timeout_ms / 1000
        self._body_seconds = limits.body_timeout_ms / 1000
        self._least_bytes = limits.bytes_per_second * limits.body_timeout_ms // 1000
        self._was_held = was_held
        self._late = late
        self._timer: Timer | None = None
        self._waits_for_body = False
        self._received = 0
        self._received_before = 0

    def await_head(self) -> None:
        """Wait for the rest of a head, from the first call on."""
        if self._timer is None or self._waits_for_body:
            self._start(self._head_seconds, waits_for_body=False)

    def await_body(self, received: int) -> None:
        """Wait for the rest of a body, of which so many bytes have come by now."""
        self._received = received
        if self._timer is None or not self._waits_for_body:
            self._start(self._body_seconds, waits_for_body=True)

    def stop(self) -> None:
        """Wait for nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self, seconds: float, *, waits_for_body: bool) -> None:
        self.stop()
        self._waits_for_body = waits_for_body
        self._received_before = self._received
        self._was_held()
        self._timer = self._call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        came = self._received - self._received_before
        has_gone_on = self._waits_for_body and came >= self._least_bytes
        if has_gone_on or self._was_held():
            seconds = self._body_seconds if self._waits_for_body else self._head_seconds
            self._start(seconds, waits_for_body=self._waits_for_body)
        else:
            self._late()


class WriteDeadline:
    """Abort a transport whose peer takes too little of what is written."""

    def __init__(self, call_later: CallLater, limits: Limits, transport: asyncio.Transport) -> None:
        self._call_later = call_later
        self._seconds = limits.stall_timeout_ms / 1000
        self._least_bytes = max(1, limits.bytes_per_second * limits.stall_timeout_ms // 1000)
        self._transport = transport
        self._timer: Timer | None = None
        self._unsent = 0

    def begin(self) -> None:
        """Watch the peer take what waits for it."""
        self.stop()
        self._unsent = self._transport.get_write_buffer_size()
        self._timer = self._call_later(self._seconds, self._look)

    def stop(self) -> None:
        """Stop watching: nothing that is written waits, or the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        unsent = self._transport.get_write_buffer_size()
        if unsent and self._unsent - unsent < self._least_bytes:
            self._transport.abort()
        elif unsent:
            self.begin()
