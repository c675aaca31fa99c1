"""The messages by which a client that polls goes over to a websocket, in the middle of a session.

    client   websocket   opens it, naming the session
    server   websocket   SWITCH
    client   websocket   pings until it trusts the websocket, then SWITCH
    client   polls       END: everything after it comes by websocket
    server   polls       END: likewise

What a client says by websocket may come before its END; it waits for that.
"""

from typing import Final

from treedb.errors import ProtocolError
from treedb.wire.messages import Control, parse_message

SWITCH: Final = b'{"t":"c","d":{"t":"a","d":{}}}'
END: Final = b'{"t":"c","d":{"t":"n","d":{}}}'

_CONTROL_CHARS: Final = 128  # a longer text is no control message that counts here


def control_kind(text: str) -> str | None:
    """Return the kind of a control message: "a" for SWITCH, "n" for END, "p"; None for others."""
    if len(text) > _CONTROL_CHARS:
        return None
    try:
        message = parse_message(text)
    except ProtocolError:
        return None
    return message.kind if isinstance(message, Control) else None
