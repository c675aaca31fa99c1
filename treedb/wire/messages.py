"""Parse the messages of a client: one typed value for each kind, one table of actions.

Three things may come of a text. What names a request and is well formed is that request. What
names a request but is wrong inside (no path, an illegal key, no data) is a `Malformed`, which
carries the request's number so that it can be answered. Anything else has no number to answer
to: the connection cannot go on, and a ProtocolError says so.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from treedb.errors import InvalidJson, NotAnObject, ProtocolError, TreeError, UnsupportedRequest
from treedb.paths.path import Path
from treedb.tree.json_text import parse_json
from treedb.tree.range_hash import CompoundHash
from treedb.wire import fields
from treedb.wire.query_object import QueryObject

# The head of a request as every SDK writes it. A value that is no JSON at all (a lone surrogate
# in a string is what applications produce) must not cost the connection: the client would come
# back and send the same write again, for ever.
_REQUEST_HEAD = re.compile(r'\{"t":"d","d":\{"r":(0|[1-9][0-9]{0,15}),"a":"[a-z]{1,16}","b":\{')


@dataclass(frozen=True, slots=True)
class Control:
    """A message about the connection itself; `kind` is "p" for a ping."""

    kind: str


@dataclass(frozen=True, slots=True)
class Stats:
    number: int


@dataclass(frozen=True, slots=True)
class Listen:
    """Listen to a place; `hash` is that of the client's copy, "" when it has none.

    `compound` are the hashes of the ranges of a large copy, from a client that can merge ranges.
    """

    number: int
    path: Path
    query: QueryObject
    tag: int | None
    hash: str
    compound: CompoundHash | None = None


@dataclass(frozen=True, slots=True)
class Unlisten:
    number: int
    path: Path
    query: QueryObject
    tag: int | None


@dataclass(frozen=True, slots=True)
class Get:
    number: int
    path: Path
    query: QueryObject


@dataclass(frozen=True, slots=True)
class Put:
    """Set a place; with a `hash` only if that is the hash of what is there (a transaction)."""

    number: int
    path: Path
    data: Any
    hash: str | None


@dataclass(frozen=True, slots=True)
class Merge:
    number: int
    path: Path
    data: Any


@dataclass(frozen=True, slots=True)
class OnDisconnect:
    number: int
    operation: Literal["put", "merge", "cancel"]
    path: Path
    data: Any


@dataclass(frozen=True, slots=True)
class SignIn:
    number: int
    credential: str
    override: fields.Override | None


@dataclass(frozen=True, slots=True)
class SignOut:
    number: int


@dataclass(frozen=True, slots=True)
class AppCheck:
    """An App Check token, given or taken back: there is nothing to check it against."""

    number: int


@dataclass(frozen=True, slots=True)
class Echo:
    number: int
    data: Any


@dataclass(frozen=True, slots=True)
class Unknown:
    number: int
    action: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A request that is to be refused with `error`."""

    number: int
    error: TreeError


Request: TypeAlias = (
    Stats
    | Listen
    | Unlisten
    | Get
    | Put
    | Merge
    | OnDisconnect
    | SignIn
    | SignOut
    | AppCheck
    | Echo
    | Unknown
    | Malformed
)
Message: TypeAlias = Control | Request
Body: TypeAlias = dict[str, Any]


def parse_message(text: str) -> Message:
    """Parse one complete message.

    Raises ProtocolError (1008) when it is no JSON object, its kind is unknown, or a request's
    number is no integer from 0 to 2^53 - 1. (Firebase realtime protocol, version 5.)
    """
    try:
        envelope = parse_json(text.encode(errors="surrogatepass"))
    except TreeError:
        return _parse_head(text)
    if not isinstance(envelope, dict):
        raise ProtocolError(f"A message is a JSON object, found {fields.kind_of(envelope)}.")
    kind = envelope.get("t")
    parse = _KINDS.get(kind) if isinstance(kind, str) else None
    if parse is None:
        raise ProtocolError('A message has the kind "t":"c" or "t":"d".')
    content = envelope.get("d")
    if not isinstance(content, dict):
        raise ProtocolError(f'A message has an object "d", found {fields.kind_of(content)}.')
    return parse(content)


def _parse_head(text: str) -> Message:
    head = _REQUEST_HEAD.match(text)
    if head is None or not text.endswith("}}}") or int(head[1]) >= fields.NUMBER_END:
        raise ProtocolError("A message is a JSON object, found text that is not JSON.")
    return Malformed(int(head[1]), InvalidJson())


def _parse_control(content: Body) -> Message:
    kind = content.get("t")
    if not isinstance(kind, str):
        raise ProtocolError(f'A control message has a text "t", found {fields.kind_of(kind)}.')
    return Control(kind)


def _parse_request(content: Body) -> Message:
    number = fields.number_of(content)
    action = content.get("a")
    if not isinstance(action, str):
        detail = f'A request names its action in "a", found {fields.kind_of(action)}.'
        return Malformed(number, UnsupportedRequest(detail))
    parse = _ACTIONS.get(action)
    if parse is None:
        return Unknown(number, action)
    body = content.get("b")
    if not isinstance(body, dict):
        detail = f'A request has an object "b", found {fields.kind_of(body)}.'
        return Malformed(number, NotAnObject(detail))
    try:
        return parse(number, body)
    except TreeError as error:
        return Malformed(number, error)


_KINDS: dict[str, Callable[[Body], Message]] = {"c": _parse_control, "d": _parse_request}


def _parse_listen(number: int, body: Body) -> Request:
    return Listen(
        number,
        fields.read_place(body),
        fields.query_of(body),
        fields.tag_of(body),
        fields.hash_of(body) or "",
        fields.compound_hash_of(body),
    )


def _parse_unlisten(number: int, body: Body) -> Request:
    return Unlisten(number, fields.read_place(body), fields.query_of(body), fields.tag_of(body))


def _parse_put(number: int, body: Body) -> Request:
    return Put(number, fields.write_place(body), fields.data_of(body), fields.hash_of(body))


def _on_disconnect(operation: Literal["put", "merge", "cancel"]) -> Callable[[int, Body], Request]:
    def parse(number: int, body: Body) -> Request:
        data = None if operation == "cancel" else fields.data_of(body)
        place_of = fields.merge_place if operation == "merge" else fields.write_place
        return OnDisconnect(number, operation, place_of(body), data)

    return parse


_ACTIONS: dict[str, Callable[[int, Body], Request]] = {
    "s": lambda number, body: Stats(number),
    "q": _parse_listen,
    "n": _parse_unlisten,
    "g": lambda number, body: Get(number, fields.read_place(body), fields.query_of(body)),
    "p": _parse_put,
    "m": lambda number, body: Merge(number, fields.merge_place(body), fields.data_of(body)),
    "o": _on_disconnect("put"),
    "om": _on_disconnect("merge"),
    "oc": _on_disconnect("cancel"),
    "auth": lambda number, body: SignIn(number, *fields.credential_of(body)),
    "gauth": lambda number, body: SignIn(number, *fields.credential_of(body)),
    "unauth": lambda number, body: SignOut(number),
    "appcheck": lambda number, body: AppCheck(number),
    "unappeck": lambda number, body: AppCheck(number),  # the JS SDK's spelling, frozen in it
    "unappcheck": lambda number, body: AppCheck(number),
    "echo": lambda number, body: Echo(number, body.get("d")),
}
