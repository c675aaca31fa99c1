"""When work that goes on between the writes takes its next step, and when it tells how far it is.

A step is followed by a rest at least as long as it took: half of a processor at most goes into such
work, and no write waits for more than a step of it. One that fails is tried again after a while.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from treedb.clock import SystemClock

# Between two reports of work that takes long.
REPORT_SECONDS: Final = 10.0
# Until a step that failed is tried again; mostly the disk was full.
FAILED_SECONDS: Final = 60.0

Result = TypeVar("Result")


class Pace:
    """The times of one such work."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock
        self._due_at = 0.0
        self._ended_at = 0.0
        self._reported_at = 0.0

    def seconds_until_due(self) -> float:
        """Return how long to wait until the next step."""
        return max(0.0, self._due_at - self._clock.monotonic())

    def run(self, step: Callable[[], Result]) -> Result | None:
        """Take a step when it is time, and return what it returns; else None."""
        start = self._clock.monotonic()
        if start < self._due_at:
            return None
        self._due_at = start + FAILED_SECONDS
        result = step()
        self._ended_at = self._clock.monotonic()
        self._due_at = self._ended_at + (self._ended_at - start)
        return result

    def begin_reports(self) -> None:
        """Take that a report was given now."""
        self._reported_at = self._clock.monotonic()

    def is_report_due(self) -> bool:
        """Tell whether the step that ended last should be reported; it counts as reported then."""
        if self._ended_at - self._reported_at <= REPORT_SECONDS:
            return False
        self._reported_at = self._ended_at
        return True
