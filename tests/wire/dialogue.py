"""Both ends of a conversation, joined: a client's messages in, a server's ready frames out."""

import json
from collections.abc import Iterator
from typing import Any

from treedb.config import DEFAULT_LIMITS, Limits
from treedb.wire.connection import Connection
from treedb.wire.messages import Message
from treedb.wire.ready_frame import frame_texts

UNITS = 16_384  # what SDKs put in one frame, in UTF-16 units


def client_frames(text: str, units: int = UNITS) -> list[str]:
    """Cut a message as the JavaScript SDK does; for text of the basic plane."""
    if len(text) <= units:
        return [text]
    pieces = [text[start : start + units] for start in range(0, len(text), units)]
    return [str(len(pieces)), *pieces]


def server_messages(ready: bytes) -> list[Any]:
    """Read ready frames as the JavaScript SDK does: short numbers announce segments."""
    texts = frame_texts(ready)
    return [json.loads(message) for message in _joined(texts)]


def _joined(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        if len(text) <= 6 and text.isdigit():
            assert text != "0", "a client that is sent 0 segments never hears anything again"
            yield "".join(next(texts) for _ in range(int(text)))
        else:
            yield text


class Dialogue:
    """A client that speaks to a Connection, in frames of any size."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, units: int = UNITS) -> None:
        self._connection = Connection(limits)
        self._units = units

    def say(self, message: Any) -> list[Message]:
        """Send a message, JSON or text as it is; return what the server's end understands."""
        text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
        return self.frames(*client_frames(text, self._units))

    def request(self, number: int, action: str, body: Any) -> Message:
        """Send a request; return the one message it comes to."""
        (message,) = self.say({"t": "d", "d": {"r": number, "a": action, "b": body}})
        return message

    def frames(self, *frames: str) -> list[Message]:
        """Send frames; return what the server's end understands."""
        received = [self._connection.receive(frame) for frame in frames]
        return [message for message in received if message is not None]
