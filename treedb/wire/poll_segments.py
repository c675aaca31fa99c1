"""Join the segments of a client that polls to messages, in the order it sent them.

A message is UTF-8 in the web-safe alphabet of base64, with "." to fill up, cut into segments that
fit into URLs. Segments are numbered across all messages. Calls overtake one another, and a browser
repeats one whose connection broke, so segments come in any order and some come twice:

    number   total   text              message
    0        1       eyJ0IjoiYyJ9      {"t":"c"}
    2        2       ...               waits for number 1
    1        2       ...               both together
    0        1       eyJ0IjoiYyJ9      was there already
"""

import binascii
from collections.abc import Iterable, Iterator
from typing import Final

from treedb.config import Limits
from treedb.errors import CloseCode, ProtocolError
from treedb.wire.poll import Segment

_STANDARD: Final = str.maketrans("-_.", "+/=")


class PollSegments:
    """Keep the segments of one client until their message is complete."""

    __slots__ = ("_ahead", "_limits", "_next", "_pieces", "_size_chars", "_total")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._next = 0
        self._ahead: dict[int, Segment] = {}
        self._pieces: list[str] = []
        self._total = 0
        self._size_chars = 0

    @property
    def is_waiting(self) -> bool:
        """Tell whether there are segments of a message that is not complete."""
        return bool(self._ahead or self._pieces)

    def push(self, segments: Iterable[Segment]) -> list[str]:
        """Take the segments of one call; return the messages they complete.

        Raises ProtocolError: 1009 for too many segments or bytes, 1008 for what makes no message.
        """
        messages: list[str] = []
        for segment in segments:
            if segment.number >= self._next and segment.number not in self._ahead:
                self._keep(segment)
                messages += self._advance()
        return messages

    def _advance(self) -> Iterator[str]:
        while (segment := self._ahead.pop(self._next, None)) is not None:
            self._next += 1
            self._append(segment)
            if len(self._pieces) == self._total:
                yield self._take()

    def _keep(self, segment: Segment) -> None:
        most = self._limits.poll_segments
        if not 1 <= segment.total <= most:
            raise ProtocolError(
                f"A message of {segment.total} segments was announced, from 1 to {most} are "
                "allowed.",
                CloseCode.TOO_BIG,
            )
        if segment.number >= self._next + self._limits.poll_segments_ahead:
            raise ProtocolError(
                f"Segment {segment.number} came, and {self._next} is still missing.",
                CloseCode.TOO_BIG,
            )
        self._ahead[segment.number] = segment
        self._size_chars += len(segment.text)
        most_bytes = self._limits.realtime_write_bytes
        if self._size_chars > _encoded_chars(most_bytes):
            raise ProtocolError(
                f"The segments are those of more than {most_bytes} bytes, the limit.",
                CloseCode.TOO_BIG,
            )

    def _append(self, segment: Segment) -> None:
        if self._pieces and segment.total != self._total:
            raise ProtocolError(
                f"Segment {segment.number} is one of {segment.total}, those before it one of "
                f"{self._total}."
            )
        self._total = segment.total
        self._pieces.append(segment.text)

    def _take(self) -> str:
        text = "".join(self._pieces)
        self._pieces = []
        self._size_chars -= len(text)
        return _decode(text)


def _decode(text: str) -> str:
    try:
        return binascii.a2b_base64(text.translate(_STANDARD), strict_mode=True).decode()
    except ValueError:  # of base64, of ASCII and of UTF-8
        raise ProtocolError("A message is UTF-8 in base64; found something else.") from None


def _encoded_chars(size_bytes: int) -> int:
    return (size_bytes + 2) // 3 * 4
