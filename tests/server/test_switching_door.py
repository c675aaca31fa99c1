import asyncio

from tests.server.recording_door import RecordingDoor
from treedb.server.switching_door import SwitchingDoor
from treedb.wire.outgoing import PONG
from treedb.wire.ready_frame import ready_frames

READY = ready_frames(PONG)


async def test_everything_goes_to_the_door_of_the_moment() -> None:
    old, new = RecordingDoor(), RecordingDoor()
    old.congested, old.unsent, new.unsent = True, 7, 9
    door = SwitchingDoor(old)
    door.write(READY)
    assert (door.congested, door.buffered()) == (True, 7)
    door.switch(new)
    door.write(READY)
    door.write(READY)
    assert (door.congested, door.buffered()) == (False, 9)
    door.close(1000, "done")
    assert (len(old.messages), old.closed) == (1, None)
    assert (len(new.messages), new.closed) == (2, (1000, "done"))


async def test_who_drains_the_old_door_goes_on_with_it() -> None:
    old = RecordingDoor()
    old.congested = True
    door = SwitchingDoor(old)
    draining = asyncio.create_task(door.drain())
    await asyncio.sleep(0)
    door.switch(RecordingDoor())
    assert not draining.done()
    old.relax()
    await draining
