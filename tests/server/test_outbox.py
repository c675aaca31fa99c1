import asyncio
from dataclasses import replace

import pytest

from tests.server.recording_door import RecordingDoor
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.server import outbox as outbox_module
from treedb.server.outbox import INLINE_BYTES, Outbox
from treedb.sync.delivery import Delivery, Overwrite, Watch
from treedb.tree.query import Query
from treedb.tree.query_order import KEY
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames

PLACE = Path(("a",))
OTHER = Path(("b",))
LIMITS = replace(DEFAULT_LIMITS, outbox_bytes=1000, stall_timeout_ms=1)


TOLD = ready_frames(outgoing.cancel(PLACE))


def unheeded(watch: Watch) -> bytes | None:
    """Take the news that a listen was cancelled, which its client knows of."""
    return TOLD


def noted() -> None:
    raise AssertionError("nobody falls behind here")


def delivery(value: int) -> Delivery:
    return Delivery(PLACE, Overwrite(PLACE, value), value)


def values(door: RecordingDoor) -> list[object]:
    return [message["d"]["b"]["d"] for message in door.messages]


@pytest.mark.parametrize("tag, told", [(None, {}), (3, {"t": 3}), (0, {"t": 0})])
async def test_a_delivery_is_written_at_once(tag: int | None, told: dict[str, int]) -> None:
    door = RecordingDoor()
    Outbox(door, LIMITS, unheeded, noted).deliver(delivery(5), tag)
    assert door.messages == [{"t": "d", "d": {"a": "d", "b": {"p": "a", "d": 5, **told}}}]


class Slow:
    """A client whose reading a test decides, and the outbox that leads to it."""

    def __init__(self) -> None:
        self.door = RecordingDoor()
        self.fell_behind = 0
        self.outbox = Outbox(self.door, LIMITS, unheeded, self._note)

    def _note(self) -> None:
        self.fell_behind += 1

    def waits(self, unsent: int) -> None:
        self.door.congested, self.door.unsent = True, unsent

    async def reads_all(self) -> None:
        self.door.congested = False
        await self.outbox.drained()


@pytest.mark.parametrize("unsent, missed", [(1000, None), (1001, Watch(PLACE))])
async def test_a_client_too_slow_for_its_deliveries_misses_those_that_come(
    unsent: int, missed: Watch | None
) -> None:
    slow = Slow()
    slow.waits(unsent)
    for number in (1, 2, 3):
        slow.outbox.deliver(delivery(number), None)
    assert slow.outbox.first_missed == missed
    assert slow.fell_behind == (missed is not None)
    assert values(slow.door) == ([1] if missed else [1, 2, 3])
    assert slow.door.closed is None


async def test_what_missed_something_is_told_nothing_until_it_starts_anew() -> None:
    slow = Slow()
    slow.waits(1001)
    for number in (1, 2):
        slow.outbox.deliver(delivery(number), None)
    await slow.reads_all()
    slow.outbox.deliver(delivery(3), None)
    slow.outbox.deliver(Delivery(OTHER, Overwrite(OTHER, 4), 4), None)
    assert values(slow.door) == [1, 4]
    slow.outbox.forget(Watch(PLACE))
    slow.outbox.deliver(delivery(5), None)
    assert values(slow.door) == [1, 4, 5]
    assert (slow.fell_behind, slow.outbox.first_missed) == (1, None)


async def test_a_large_answer_does_not_put_a_client_behind() -> None:
    slow = Slow()
    slow.waits(1_000_000)
    slow.outbox.write_answer(ready_frames(b"{}"))
    slow.waits(1_001_000)
    slow.outbox.deliver(delivery(1), None)
    slow.waits(1_001_001)
    slow.outbox.deliver(delivery(2), None)
    assert slow.outbox.first_missed is None
    slow.outbox.deliver(delivery(3), None)
    assert slow.outbox.first_missed == Watch(PLACE)


async def test_the_usual_bound_holds_again_when_the_answer_is_read() -> None:
    slow = Slow()
    slow.waits(1_000_000)
    slow.outbox.write_answer(ready_frames(b"{}"))
    await slow.reads_all()
    slow.waits(1001)
    for number in (1, 2):
        slow.outbox.deliver(delivery(number), None)
    assert slow.outbox.first_missed == Watch(PLACE)


async def test_deliveries_wait_while_a_large_answer_is_framed() -> None:
    door = RecordingDoor()
    outbox = Outbox(door, LIMITS, unheeded, noted)

    def build() -> bytes:
        return outgoing.overwrite(PLACE, b"0")

    framing = asyncio.create_task(outbox.frame(INLINE_BYTES + 1, build))
    await asyncio.sleep(0)
    outbox.deliver(delivery(1), None)
    outbox.deliver(delivery(2), None)
    assert door.messages == []
    outbox.write_answer(await framing)
    outbox.deliver(delivery(3), None)
    assert values(door) == [0, 1, 2, 3]


def seen(door: RecordingDoor) -> list[object]:
    bodies = [(message["d"]["a"], message["d"]["b"]) for message in door.messages]
    return [(kind, body["p"], body.get("d")) for kind, body in bodies]


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_cancelled_place_is_not_written_what_waited_for_it(is_known: bool) -> None:
    door = RecordingDoor()
    outbox = Outbox(door, LIMITS, lambda _: TOLD if is_known else None, noted)
    framing = asyncio.create_task(
        outbox.frame(INLINE_BYTES + 1, lambda: outgoing.overwrite(OTHER, b"0"))
    )
    await asyncio.sleep(0)
    outbox.deliver(delivery(1), None)
    outbox.deliver(Delivery(OTHER, Overwrite(OTHER, 2), 2), None)
    outbox.cancel(Watch(PLACE))
    outbox.deliver(Delivery(OTHER, Overwrite(OTHER, 3), 3), None)
    outbox.write_answer(await framing)
    cancelled: list[object] = [("c", "a", None)] if is_known else []
    assert seen(door) == [("d", "b", 0), ("d", "b", 2), *cancelled, ("d", "b", 3)]


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_client_is_told_of_the_end_of_a_listen_it_knows_of(is_known: bool) -> None:
    door = RecordingDoor()
    Outbox(door, LIMITS, lambda _: TOLD if is_known else None, noted).cancel(Watch(PLACE))
    assert seen(door) == ([("c", "a", None)] if is_known else [])


async def test_a_cancelled_query_takes_only_its_own_deliveries_back() -> None:
    door = RecordingDoor()
    query = Query(KEY, limit=2)
    outbox = Outbox(door, LIMITS, lambda _: TOLD, noted)
    framing = asyncio.create_task(
        outbox.frame(INLINE_BYTES + 1, lambda: outgoing.overwrite(OTHER, b"0"))
    )
    await asyncio.sleep(0)
    windowed = Delivery(PLACE, Overwrite(PLACE, 7), 7, query)
    outbox.deliver(delivery(7), None)
    for tag in (1, 2):
        outbox.deliver(windowed, tag)
    outbox.cancel(Watch(PLACE, Query(KEY, limit=2), 1))
    outbox.write_answer(await framing)
    bodies = [message["d"]["b"] for message in door.messages]
    assert bodies == [
        {"p": "b", "d": 0},
        {"p": "a", "d": 7},
        {"p": "a", "d": 7, "t": 2},
        {"p": "a"},
    ]


async def test_waiting_deliveries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "HELD_DELIVERIES", 2)
    slow = Slow()
    framing = asyncio.create_task(slow.outbox.frame(INLINE_BYTES + 1, lambda: b"{}"))
    await asyncio.sleep(0)
    for number in range(3):
        slow.outbox.deliver(delivery(number), None)
    assert (slow.fell_behind, slow.outbox.first_missed) == (1, Watch(PLACE))
    await framing


class ReadBitByBit(RecordingDoor):
    """The door of a client that has read a little more whenever one looks."""

    def buffered(self) -> int:
        self.unsent -= 1000
        self.congested = self.unsent > 0
        return self.unsent


async def test_a_client_that_reads_slowly_is_waited_for() -> None:
    door = ReadBitByBit()
    door.congested, door.unsent = True, 10_000
    await Outbox(door, LIMITS, unheeded, noted).drained()
    assert (door.closed, door.unsent) == (None, 0)


async def test_a_client_that_stops_reading_is_closed() -> None:
    door = RecordingDoor()
    door.congested, door.unsent = True, 100_000
    await Outbox(door, LIMITS, unheeded, noted).drained()
    assert door.closed == (1013, "not reading")
