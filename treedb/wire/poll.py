"""Long polling: what the URL of a call says, and the scripts that answer it.

A page without websockets speaks by loading scripts from us. What it says is in a script's URL, and
what we say is the script: it calls two functions of the page.

    GET /.lp?start=t&ser=73&cb=1&v=5&ns=demo
        ...pLPCommand('start','<id>','<password>');pRTLPCB(0,[{"t":"c",...the hello...}]);
    GET /.lp?id=<id>&pw=<password>&ser=74&ns=demo&seg0=0&ts0=1&d0=eyJ0IjoiZCIs...
        pRTLPCB(1,[{"t":"d",...},{"t":"d",...}]);

Each answer is a *packet*, numbered without gaps; the page puts packets in order by that. A client
that is no page, without `cb`, has the two functions itself, and is not told how to find them.

Source: the Firebase JavaScript SDK, BrowserPollConnection.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from treedb.errors import InvalidQuery, ProtocolError
from treedb.wire.ready_frame import frame_texts

CLOSE: Final = b"pLPCommand('close');"

_DIGITS: Final = re.compile(r"[0-9]{1,15}")
_SEGMENT: Final = re.compile(r"seg(0|[1-9][0-9]{0,4})")
_FUNCTIONS: Final = (
    'function pLPCommand(c,a,b,x,y){var f=parent.window["pLPCommand%s"];f&&f(c,a,b,x,y);}\n'
    'function pRTLPCB(n,d){var f=parent.window["pRTLPCB%s"];f&&f(n,d);}\n'
)
# JSON is a script but for this: as a name in a script it would set the object's prototype. The
# quote before it is a name's first character, unless it is escaped and so inside a string.
_PROTOTYPE: Final = re.compile(r'(?<!\\)"__proto__":')


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a message: its number among all of the client, and of how many it is one."""

    number: int
    total: int
    text: str


def callback_of(parameters: Mapping[str, str]) -> str:
    """Return what the page's functions are called by, "" for a client that is no page.

    Raises InvalidQuery for anything but digits, since it becomes a part of a script.
    """
    callback = parameters.get("cb", "")
    if callback and not _DIGITS.fullmatch(callback):
        raise InvalidQuery('The "cb" of a long-polling call is a number of at most 15 digits.')
    return callback


def segments_of(parameters: Mapping[str, str]) -> tuple[Segment, ...]:
    """Return the segments that a call brings; ProtocolError when one is malformed."""
    return tuple(
        Segment(
            _number(parameters, name),
            _number(parameters, f"ts{found[1]}"),
            _text(parameters, f"d{found[1]}"),
        )
        for name in parameters
        if (found := _SEGMENT.fullmatch(name)) is not None
    )


def _number(parameters: Mapping[str, str], name: str) -> int:
    text = _text(parameters, name)
    if not _DIGITS.fullmatch(text):
        raise ProtocolError(f'A segment has a number of at most 15 digits in "{name}".')
    return int(text)


def _text(parameters: Mapping[str, str], name: str) -> str:
    if name not in parameters:
        raise ProtocolError(f'A segment has its "{name}", found none.')
    return parameters[name]


def start_script(callback: str, client_id: str, password: str) -> bytes:
    """Build what begins the first answer; id and password are letters and digits."""
    functions = _FUNCTIONS % (callback, callback) if callback else ""
    return f"{functions}pLPCommand('start','{client_id}','{password}');\n".encode()


def packet_script(number: int, messages: Iterable[str]) -> bytes:
    """Build a packet of messages, which are JSON texts."""
    return f"pRTLPCB({number},[{','.join(map(_literal, messages))}]);\n".encode()


def close_script(last_packet: int) -> bytes:
    """Build what closes the client when it has all packets up to the last."""
    return b"pLPCommand('close',%d);" % last_packet


def messages_of(ready: bytes) -> Iterator[str]:
    """Yield the JSON texts in ready frames, their segments joined."""
    texts = frame_texts(ready)
    for text in texts:
        if text.startswith("{"):
            yield text
        else:  # the number of segments that follow
            yield "".join(next(texts) for _ in range(int(text)))


def _literal(message: str) -> str:
    """Return JSON as an expression of any JavaScript, also of those before 2019."""
    if "__proto__" in message:
        message = _PROTOTYPE.sub('["__proto__"]:', message)
    return message.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
