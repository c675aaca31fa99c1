"""Connection: text frames in, messages out, for one client. It knows no socket and no clock."""

from treedb.config import Limits
from treedb.errors import ProtocolError
from treedb.wire.frames import Assembler
from treedb.wire.messages import Message, parse_message


class Connection:
    """Turn the frames of one client to messages, until the client breaks the protocol.

    After a ProtocolError the stream has no meaning any more: every later frame raises it again.
    """

    __slots__ = ("_assembler", "_failure")

    def __init__(self, limits: Limits) -> None:
        self._assembler = Assembler(limits)
        self._failure: ProtocolError | None = None

    def receive(self, frame: str) -> Message | None:
        """Take one text frame; return the message it completes, None while there is none."""
        if self._failure is not None:
            raise self._failure
        try:
            text = self._assembler.push(frame)
            return None if text is None else parse_message(text)
        except ProtocolError as error:
            self._failure = error
            raise

    def size_completed_by(self, frame: str) -> int:
        """Return about how many bytes the message has that this frame completes, 0 for none."""
        is_last = self._assembler.missing <= 1
        return self._assembler.size_bytes + len(frame) if is_last else 0

    @property
    def is_waiting(self) -> bool:
        """Tell whether the client announced segments that have not come yet."""
        return self._assembler.missing > 0
