"""What a session writes through: one socket, seen from inside."""

from typing import Final, Protocol

DOOR: Final = "treedb.frames"  # the ASGI extension in which a server hands its door over


class Door(Protocol):
    """Take ready frames for one peer.

    After `close`, or once the peer has gone, a door takes and drops them, so that nobody who
    delivers has to ask first.
    """

    @property
    def congested(self) -> bool:
        """Tell whether the peer reads slower than we write."""

    def write(self, ready: bytes) -> None:
        """Send ready frames after those already written; returns at once, never raises."""

    def buffered(self) -> int:
        """Count the bytes written that the peer has not taken yet."""

    async def drain(self) -> None:
        """Wait until the door is congested no more, or the peer has gone."""

    def close(self, code: int, reason: str) -> None:
        """Close after what is written (RFC 6455 close code); a peer that stays is cut off."""
