"""Build the messages of a server: each function returns the JSON text of one message.

Values come in as JSON already, in one piece or several, so that a large one is copied once.
Every control message carries `d`: without it the JavaScript SDK drops the message.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from treedb.paths.path import Path
from treedb.tree.json_text import format_json
from treedb.tree.range_merge import RangeMerge

PONG = b'{"t":"c","d":{"t":"o","d":null}}'
VERSION = "5"

_PUSH_END = b"}}}"


def hello(now_ms: int, host: str, session_id: str) -> bytes:
    """Build the first message of a connection; `host` is where the client will dial next time."""
    content = {"ts": now_ms, "v": VERSION, "h": host, "s": session_id}
    return b'{"t":"c","d":{"t":"h","d":%b}}' % format_json(content)


def server_error(text: str) -> bytes:
    """Build the control message that tells the client's log why the connection ends."""
    return b'{"t":"c","d":{"t":"e","d":%b}}' % format_json(text)


def answer(number: int, status: str, *data: bytes) -> bytes:
    """Build the answer to request `number`; the pieces of `data` joined are one JSON value."""
    head = b'{"t":"d","d":{"r":%d,"b":{"s":"%b","d":' % (number, status.encode())
    return b"".join((head, *data, b"}}}"))


def overwrite(path: Path, *value: bytes) -> bytes:
    """Build the push that says what the value at `path` is now."""
    head = b'{"t":"d","d":{"a":"d","b":{"p":%b,"d":' % _place(path)
    return b"".join((head, *value, b"}}}"))


def merge(path: Path, changes: bytes) -> bytes:
    """Build the push of several changes below `path`; `changes` is an object of relative paths."""
    return b'{"t":"d","d":{"a":"m","b":{"p":%b,"d":%b}}}' % (_place(path), changes)


def range_merge(path: Path, *ranges: bytes) -> bytes:
    """Build the push of what ranges of the value at `path` hold, of which `ranges` is the JSON.

    Only a client that sent the hashes of ranges knows it.
    """
    head = b'{"t":"d","d":{"a":"rm","b":{"p":%b,"d":' % _place(path)
    return b"".join((head, *ranges, _PUSH_END))


def range_merges(merges: Iterable[RangeMerge]) -> bytes:
    """Write what ranges hold; one without a start or an end goes to the value's own."""
    return format_json([_range(merge) for merge in merges])


def tagged(push: bytes, tag: int) -> bytes:
    """Build the push that says the same to the filtered listen of this tag."""
    assert push.endswith(_PUSH_END)
    return b'%b,"t":%d%b' % (push[: -len(_PUSH_END)], tag, _PUSH_END)


def cancel(path: Path, query: Mapping[str, Any] | None = None) -> bytes:
    """Build the push that ends a listen at `path`: it is no longer permitted.

    `query` is the query object of a filtered listen exactly as the client sent it, for that is
    what the client looks it up by.
    """
    if query is None:
        return b'{"t":"d","d":{"a":"c","b":{"p":%b}}}' % _place(path)
    content = format_json([query])
    return b'{"t":"d","d":{"a":"c","b":{"p":%b,"q":%b}}}' % (_place(path), content)


def security_debug(text: str) -> bytes:
    """Build the push whose text the client prints: why the request before was denied."""
    return b'{"t":"d","d":{"a":"sd","b":{"msg":%b}}}' % format_json(text)


def auth_revoked(status: str, reason: str) -> bytes:
    """Build the push that takes the client's credential back: it fetches another and returns."""
    content = format_json({"s": status, "d": reason})
    return b'{"t":"d","d":{"a":"ac","b":%b}}' % content


def _range(merge: RangeMerge) -> dict[str, Any]:
    content: dict[str, Any] = {"s": "/".join(merge.start)} if merge.start else {}
    if merge.end is not None:
        content["e"] = "/".join(merge.end)
    return {**content, "m": merge.value}


def _place(path: Path) -> bytes:
    return format_json("/".join(path.keys))
