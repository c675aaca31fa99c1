"""The door of a session whose client may go over to another transport."""

from treedb.server.door import Door


class SwitchingDoor:
    """Pass everything to the door of the moment (see treedb.server.door)."""

    __slots__ = ("_door",)

    def __init__(self, door: Door) -> None:
        self._door = door

    def switch(self, door: Door) -> None:
        """Pass everything to another door from now on; those who drain the old one go on."""
        self._door = door

    @property
    def congested(self) -> bool:
        """Tell whether the peer reads slower than we write."""
        return self._door.congested

    def write(self, ready: bytes) -> None:
        """Send ready frames after those already written."""
        self._door.write(ready)

    def buffered(self) -> int:
        """Count the bytes written that the peer has not taken yet."""
        return self._door.buffered()

    async def drain(self) -> None:
        """Wait until the door is congested no more, or the peer has gone."""
        await self._door.drain()

    def close(self, code: int, reason: str) -> None:
        """Close after what is written."""
        self._door.close(code, reason)
