import asyncio
from dataclasses import replace

from tests.server.recording_door import RecordingDoor
from treedb.config import DEFAULT_LIMITS
from treedb.errors import DataStale
from treedb.server.unanswered import UnansweredWrites
from treedb.writes.writer import Written

WRITTEN = Written(1, ())


def future() -> asyncio.Future[Written]:
    return asyncio.get_running_loop().create_future()


def answers(door: RecordingDoor) -> list[tuple[int, str]]:
    return [(message["d"]["r"], message["d"]["b"]["s"]) for message in door.messages]


async def test_writes_are_answered_in_the_order_sent() -> None:
    door = RecordingDoor()
    writes = UnansweredWrites(door.write, DEFAULT_LIMITS)
    first, second, third = future(), future(), future()
    for number, each in enumerate((first, second, third)):
        writes.add(number, each, 1)
    second.set_exception(DataStale())
    await asyncio.sleep(0)
    assert answers(door) == []
    first.set_result(WRITTEN)
    third.set_result(WRITTEN)
    await writes.settled()
    assert answers(door) == [(0, "ok"), (1, "datastale"), (2, "ok")]


async def test_an_answer_needs_nobody_who_waits() -> None:
    door = RecordingDoor()
    writes = UnansweredWrites(door.write, DEFAULT_LIMITS)
    write = future()
    writes.add(5, write, 1)
    write.set_result(WRITTEN)
    await asyncio.sleep(0)
    assert door.messages == [{"t": "d", "d": {"r": 5, "b": {"s": "ok", "d": ""}}}]


async def test_a_write_given_up_is_unavailable() -> None:
    door = RecordingDoor()
    writes = UnansweredWrites(door.write, DEFAULT_LIMITS)
    write = future()
    writes.add(5, write, 1)
    write.cancel()
    await writes.settled()
    assert answers(door) == [(5, "unavailable")]


async def test_room_is_bounded_by_number_and_by_bytes() -> None:
    limits = replace(DEFAULT_LIMITS, requests_in_flight=2, bytes_in_flight=100)
    for sizes, next_size in (((1, 1), 1), ((60,), 41)):
        writes = UnansweredWrites(RecordingDoor().write, limits)
        futures = [future() for _ in sizes]
        for size, each in zip(sizes, futures, strict=True):
            writes.add(1, each, size)
        waiting = asyncio.create_task(writes.room_for(next_size))
        await asyncio.sleep(0)
        assert not waiting.done()
        futures[0].set_result(WRITTEN)
        await waiting


async def test_one_write_larger_than_the_bound_has_room_when_it_is_alone() -> None:
    limits = replace(DEFAULT_LIMITS, bytes_in_flight=100)
    await UnansweredWrites(RecordingDoor().write, limits).room_for(1000)
