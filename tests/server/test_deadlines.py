import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.server.deadlines import ReadDeadline, WriteDeadline

LIMITS = replace(
    DEFAULT_LIMITS,
    header_timeout_ms=10_000,
    body_timeout_ms=20_000,
    stall_timeout_ms=30_000,
    bytes_per_second=100,
)


class Clock:
    """Time that passes when it is told, and one timer."""

    def __init__(self) -> None:
        self.due: float | None = None
        self._callback: Callable[[], object] | None = None

    def call_later(self, seconds: float, callback: Callable[[], object]) -> "Clock":
        self.due, self._callback = seconds, callback
        return self

    def cancel(self) -> None:
        self.due = None

    def pass_time(self) -> None:
        """Let the timer that is set come due."""
        assert self.due is not None
        assert self._callback is not None
        self.due = None
        self._callback()


class Reading:
    def __init__(self) -> None:
        self.clock = Clock()
        self.is_held = False
        self.late = 0
        self.deadline = ReadDeadline(
            self.clock.call_later, LIMITS, lambda: self.is_held, self._late
        )

    def _late(self) -> None:
        self.late += 1


@pytest.fixture
def reading() -> Reading:
    return Reading()


def test_a_head_has_its_time_from_the_first_call_on(reading: Reading) -> None:
    reading.deadline.await_head()
    assert reading.clock.due == 10
    reading.clock.due = 3
    reading.deadline.await_head()
    assert reading.clock.due == 3
    reading.clock.pass_time()
    assert reading.late == 1


def test_a_body_that_goes_on_has_time_again(reading: Reading) -> None:
    reading.deadline.await_body(500)
    assert reading.clock.due == 20
    reading.deadline.await_body(2500)
    reading.clock.pass_time()
    assert (reading.late, reading.clock.due) == (0, 20)
    reading.deadline.await_body(4499)
    reading.clock.pass_time()
    assert reading.late == 1
    assert reading.clock.due is None


def test_time_in_which_the_peer_was_held_does_not_count(reading: Reading) -> None:
    reading.deadline.await_body(0)
    reading.is_held = True
    reading.clock.pass_time()
    reading.is_held = False
    assert (reading.late, reading.clock.due) == (0, 20)
    reading.clock.pass_time()
    assert reading.late == 1


def test_a_body_behind_a_head_has_a_time_of_its_own(reading: Reading) -> None:
    reading.deadline.await_head()
    reading.deadline.await_body(0)
    assert reading.clock.due == 20
    reading.deadline.await_head()
    assert reading.clock.due == 10


def test_what_stopped_is_not_late(reading: Reading) -> None:
    reading.deadline.await_head()
    reading.deadline.stop()
    assert reading.clock.due is None


class Socket(asyncio.Transport):
    """A transport that is as full as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.unsent = 0
        self.is_aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.is_aborted = True


WRITING: list[tuple[str, list[int], bool]] = [
    ("everything was taken", [0], False),
    ("enough was taken, each time", [97_000, 94_000, 91_000], False),
    ("nothing was taken", [100_000], True),
    ("too little was taken", [97_001], True),
    ("at first enough, and then too little", [97_000, 94_001], True),
]


@pytest.mark.parametrize(
    "unsent, is_aborted", [each[1:] for each in WRITING], ids=[each[0] for each in WRITING]
)
def test_a_peer_that_takes_too_little_is_cut(unsent: list[int], is_aborted: bool) -> None:
    clock, socket = Clock(), Socket()
    socket.unsent = 100_000
    deadline = WriteDeadline(clock.call_later, LIMITS, socket)
    deadline.begin()
    assert clock.due == 30
    for socket.unsent in unsent:
        clock.pass_time()
    assert socket.is_aborted is is_aborted
    assert (clock.due is None) is (is_aborted or unsent[-1] == 0)


def test_a_peer_that_has_read_is_watched_no_more() -> None:
    clock = Clock()
    deadline = WriteDeadline(clock.call_later, LIMITS, Socket())
    deadline.begin()
    deadline.stop()
    assert clock.due is None
