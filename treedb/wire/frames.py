"""Join the text frames of a client to messages.

A client cuts a message of more than 16,384 UTF-16 units into segments and announces them with a
frame that holds nothing but their number:

    frames      3 | {"t":"d",... | ...and so on... | ...}}}
    message     {"t":"d",......and so on......}}}

A lone `0` is a keep-alive. Everything else is a message of its own.
"""

import re

from treedb.config import Limits
from treedb.errors import CloseCode, ProtocolError

_DIGITS = re.compile(r"[0-9]+")


class Assembler:
    """Keep the segments of one connection until their message is complete."""

    __slots__ = ("_limits", "_missing", "_segments", "_size_bytes")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._missing = 0
        self._segments: list[str] = []
        self._size_bytes = 0

    def push(self, frame: str) -> str | None:
        """Take one frame; return the message it completes, None while there is none.

        Raises ProtocolError: 1009 for too many segments or bytes, 1008 for a malformed count.
        """
        if not self._missing and not frame.startswith("{") and _DIGITS.fullmatch(frame):
            self._missing = self._parse_count(frame)
            return None
        self._count_bytes(frame)
        if not self._missing:
            self._size_bytes = 0
            return frame
        self._segments.append(frame)
        self._missing -= 1
        return None if self._missing else self._take()

    @property
    def missing(self) -> int:
        """Count the announced segments that are still to come."""
        return self._missing

    @property
    def size_bytes(self) -> int:
        """Return the bytes of the segments kept so far."""
        return self._size_bytes

    def _parse_count(self, frame: str) -> int:
        if frame == "0":
            return 0
        if frame.startswith("0"):
            raise ProtocolError(f"A segment count has no leading zero, found {frame[:8]!r}.")
        most = self._limits.segments
        if len(frame) > len(str(most)) or int(frame) > most:
            raise ProtocolError(
                f"A message of {frame[:8]} segments was announced, the limit is {most}.",
                CloseCode.TOO_BIG,
            )
        return int(frame)

    def _count_bytes(self, frame: str) -> None:
        self._size_bytes += (
            len(frame) if frame.isascii() else len(frame.encode(errors="surrogatepass"))
        )
        most = self._limits.realtime_write_bytes
        if self._size_bytes > most:
            raise ProtocolError(
                f"The message has {self._size_bytes} bytes or more, the limit is {most}.",
                CloseCode.TOO_BIG,
            )

    def _take(self) -> str:
        message = "".join(self._segments)
        self._segments = []
        self._size_bytes = 0
        return message
