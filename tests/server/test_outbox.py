import asyncio
from dataclasses import replace

import pytest

from tests.server.recording_door import RecordingDoor
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.server import outbox as outbox_module
from treedb.server.outbox import INLINE_BYTES, Outbox
from treedb.sync.delivery import Delivery, Overwrite
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames

PLACE = Path(("a",))
OTHER = Path(("b",))
LIMITS = replace(DEFAULT_LIMITS, outbox_bytes=1000, stall_timeout_ms=1)
TOO_SLOW = (1013, "too slow")


def unheeded(place: Path) -> bool:
    """Take the news that a listen was cancelled, which its client knows of."""
    return True


def delivery(value: int) -> Delivery:
    return Delivery(PLACE, Overwrite(PLACE, value), value)


def values(door: RecordingDoor) -> list[object]:
    return [message["d"]["b"]["d"] for message in door.messages]


async def test_a_delivery_is_written_at_once() -> None:
    door = RecordingDoor()
    Outbox(door, LIMITS, unheeded).deliver(delivery(5))
    assert door.messages == [{"t": "d", "d": {"a": "d", "b": {"p": "a", "d": 5}}}]


@pytest.mark.parametrize("unsent, closed", [(1000, None), (1001, TOO_SLOW)])
async def test_a_client_too_slow_for_its_deliveries_is_closed(
    unsent: int, closed: tuple[int, str] | None
) -> None:
    door = RecordingDoor()
    door.congested, door.unsent = True, unsent
    Outbox(door, LIMITS, unheeded).deliver(delivery(5))
    assert door.closed == closed


async def test_a_large_answer_is_no_reason_to_close() -> None:
    door = RecordingDoor()
    outbox = Outbox(door, LIMITS, unheeded)
    door.congested, door.unsent = True, 1_000_000
    outbox.write_answer(ready_frames(b"{}"))
    door.unsent = 1_001_000
    outbox.deliver(delivery(1))
    assert door.closed is None
    door.unsent += 1
    outbox.deliver(delivery(2))
    assert door.closed == TOO_SLOW


async def test_the_usual_bound_holds_again_when_the_answer_is_read() -> None:
    door = RecordingDoor()
    outbox = Outbox(door, LIMITS, unheeded)
    door.congested, door.unsent = True, 1_000_000
    outbox.write_answer(ready_frames(b"{}"))
    door.congested = False
    await outbox.drained()
    door.congested, door.unsent = True, 1001
    outbox.deliver(delivery(1))
    assert door.closed == TOO_SLOW


async def test_deliveries_wait_while_a_large_answer_is_framed() -> None:
    door = RecordingDoor()
    outbox = Outbox(door, LIMITS, unheeded)

    def build() -> bytes:
        return outgoing.overwrite(PLACE, b"0")

    framing = asyncio.create_task(outbox.frame(INLINE_BYTES + 1, build))
    await asyncio.sleep(0)
    outbox.deliver(delivery(1))
    outbox.deliver(delivery(2))
    assert door.messages == []
    outbox.write_answer(await framing)
    outbox.deliver(delivery(3))
    assert values(door) == [0, 1, 2, 3]


def seen(door: RecordingDoor) -> list[object]:
    bodies = [(message["d"]["a"], message["d"]["b"]) for message in door.messages]
    return [(kind, body["p"], body.get("d")) for kind, body in bodies]


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_cancelled_place_is_not_written_what_waited_for_it(is_known: bool) -> None:
    door = RecordingDoor()
    outbox = Outbox(door, LIMITS, lambda _: is_known)
    framing = asyncio.create_task(
        outbox.frame(INLINE_BYTES + 1, lambda: outgoing.overwrite(OTHER, b"0"))
    )
    await asyncio.sleep(0)
    outbox.deliver(delivery(1))
    outbox.deliver(Delivery(OTHER, Overwrite(OTHER, 2), 2))
    outbox.cancel(PLACE)
    outbox.deliver(Delivery(OTHER, Overwrite(OTHER, 3), 3))
    outbox.write_answer(await framing)
    cancelled: list[object] = [("c", "a", None)] if is_known else []
    assert seen(door) == [("d", "b", 0), ("d", "b", 2), *cancelled, ("d", "b", 3)]


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_client_is_told_of_the_end_of_a_listen_it_knows_of(is_known: bool) -> None:
    door = RecordingDoor()
    Outbox(door, LIMITS, lambda _: is_known).cancel(PLACE)
    assert seen(door) == ([("c", "a", None)] if is_known else [])


async def test_waiting_deliveries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "HELD_DELIVERIES", 2)
    door = RecordingDoor()
    outbox = Outbox(door, LIMITS, unheeded)
    framing = asyncio.create_task(outbox.frame(INLINE_BYTES + 1, lambda: b"{}"))
    await asyncio.sleep(0)
    for number in range(3):
        assert door.closed is None
        outbox.deliver(delivery(number))
    assert door.closed == TOO_SLOW
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
    await Outbox(door, LIMITS, unheeded).drained()
    assert (door.closed, door.unsent) == (None, 0)


async def test_a_client_that_stops_reading_is_closed() -> None:
    door = RecordingDoor()
    door.congested, door.unsent = True, 100_000
    await Outbox(door, LIMITS, unheeded).drained()
    assert door.closed == (1013, "not reading")
