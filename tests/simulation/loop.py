"""An event loop that a test moves: one ready callback at a time, on a clock of its own.

Callbacks run in the order in which they were scheduled, for code may rely on it. What is free in
a real process is free here too, and the test chooses it: when time passes, when the work of a
thread is done, and when the loop takes what another thread handed over.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, TypeVarTuple

from treedb.clock import SystemClock

Arguments = TypeVarTuple("Arguments")

START_MS = 1_700_000_000_000


@dataclass
class SimulatedClock(SystemClock):
    """Time that passes when told to, and a little whenever somebody looks."""

    seconds: float = 1000.0
    step: float = 0.0
    ids: int = 0

    def now_ms(self) -> int:
        return START_MS + int(self.seconds * 1000)

    def monotonic(self) -> float:
        self.seconds += self.step
        return self.seconds

    def random_bits(self, count: int) -> int:
        self.ids += 1
        return self.ids


@dataclass(eq=False)
class SimulatedLoop(asyncio.AbstractEventLoop):
    """The loop; `noticed_ms` is the time up to which every timer that was due has run."""

    clock: SimulatedClock
    ready: deque[asyncio.Handle] = field(default_factory=deque)
    timers: list[tuple[float, int, asyncio.TimerHandle]] = field(default_factory=list)
    threads: list[tuple["asyncio.Future[Any]", Callable[[], Any]]] = field(default_factory=list)
    handed: deque[asyncio.Handle] = field(default_factory=deque)
    tasks: list["asyncio.Task[Any]"] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    noticed_ms: int = 0
    _timer_count: int = 0

    def __post_init__(self) -> None:
        self.noticed_ms = self.clock.now_ms()

    # What the test moves.

    def run_one(self) -> None:
        """Run the next ready callback, if there is one."""
        if not self.ready:
            return
        handle = self.ready.popleft()
        if handle.cancelled():
            return
        asyncio._set_running_loop(self)
        try:
            handle._run()
        finally:
            asyncio._set_running_loop(None)

    def pass_time(self, seconds: float) -> None:
        """Let time pass: what is due then is ready, after what was ready before."""
        self.clock.seconds += seconds
        self.ready_timers()

    def ready_timers(self) -> None:
        """Make the timers ready that are due by now."""
        now = self.clock.seconds
        while self.timers and self.timers[0][0] <= now:
            self.ready.append(heapq.heappop(self.timers)[2])
        self.call_soon(self._notice, self.clock.now_ms())

    def finish_thread(self, index: int) -> None:
        """Do the work of a thread, whose result comes to the loop after what is ready."""
        future, work = self.threads.pop(index)
        try:
            result, error = work(), None
        except Exception as raised:  # noqa: BLE001 - it is the future's
            result, error = None, raised
        self.call_soon(_settle, future, result, error)

    def take_handed(self) -> None:
        """Take the oldest callback that another thread handed over."""
        if self.handed:
            self.ready.append(self.handed.popleft())

    def _notice(self, now_ms: int) -> None:
        self.noticed_ms = now_ms

    # What asyncio asks of a loop.

    def time(self) -> float:
        return self.clock.seconds

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.handed.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.clock.seconds + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer_count += 1
        heapq.heappush(self.timers, (when, self._timer_count, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays where it is; running it does nothing."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: str | None = None, context: Context | None = None
    ) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: None, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        future = self.create_future()
        self.threads.append((future, lambda: func(*args)))
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.faults.append(context)


def _settle(future: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
