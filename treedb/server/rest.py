"""REST: every place of the tree at /<path>.json.

A request is read into a `Call` and answered by the verb it names. Paths come from the raw URL
only: the server's decoded path could move the boundary of a key.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response

from treedb.database import Database
from treedb.errors import (
    DataStale,
    IndexNotDefined,
    InvalidQuery,
    MethodNotAllowed,
    PermissionDenied,
    TooBigToRead,
    TooDeep,
)
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.rules.query_variables import query_variables
from treedb.rules.scope import REST_READ
from treedb.server.bodies import read_body
from treedb.server.callers import Callers
from treedb.server.credentials import auth_of
from treedb.server.etags import NO_CONDITIONS, NULL, Conditions, conditions_of, tag_of
from treedb.server.http_answers import (
    common_headers,
    empty_answer,
    json_answer,
    pieces_answer,
    preflight_answer,
    tag_headers,
)
from treedb.server.namespaces import Databases
from treedb.server.parameters import Parameters, parse_parameters
from treedb.server.streams import Stream, StreamResponse
from treedb.sync.delivery import Watch
from treedb.tree.arrays import to_plain
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json, parse_json
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.values import Value
from treedb.writes.request import Write, set_write, update_write
from treedb.writes.writer import Written

ENDING: Final = b".json"
INLINE_BYTES: Final = 256 * 1024  # larger texts are parsed, checked and written on a thread

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call:
    """One REST request, understood."""

    request: Request
    method: str
    path: Path
    parameters: Parameters
    caller: Caller
    database: Database
    conditions: Conditions = NO_CONDITIONS


class Rest:
    """The REST half of the server."""

    def __init__(self, databases: Databases, callers: Callers) -> None:
        self._databases = databases
        self._callers = callers

    async def answer(self, request: Request) -> Response:
        """Answer one request; raises the TreeError that refuses it."""
        if request.method == "OPTIONS":
            return preflight_answer(request)
        parameters = parse_parameters(request.scope["query_string"])
        method = _method_of(request, parameters)
        verb = _VERBS.get(method)
        if verb is None:
            raise MethodNotAllowed
        auth = auth_of(request.headers, parameters, self._callers.authenticate)
        query = parameters.query
        if query is not None and verb is not _get:
            raise InvalidQuery("orderBy and its companions choose what is read: leave them out.")
        variables = REST_READ if query is None else query_variables(query)
        caller = self._callers.caller(auth, variables, explains=parameters.explains)
        path = _path_of(request, method)
        conditions = conditions_of(request.headers, method)
        if conditions.match is not None and query is not None:
            raise InvalidQuery("if-match cannot be combined with orderBy.")
        if parameters.is_strict or parameters.is_dry_run:
            raise InvalidQuery("format=strict and dryRun are for /.settings/rules.json.")
        database = await self._databases.get(parameters.namespace)
        call = Call(request, method, path, parameters, caller, database, conditions)
        try:
            return await verb(call)
        except DataStale:
            return await _stale_answer(call)


def _method_of(request: Request, parameters: Parameters) -> str:
    """Return the method to act as: a POST may name another, for clients that know only POST."""
    if request.method != "POST":
        return request.method
    named = request.headers.getlist("x-http-method-override")
    if parameters.method_override is not None:
        named.append(parameters.method_override)
    if len(named) > 1:
        raise InvalidQuery("x-http-method-override is given twice: give it once.")
    return named[0].upper() if named else "POST"


def _path_of(request: Request, method: str) -> Path:
    raw: bytes = request.scope["raw_path"]
    # A priority has no children to merge or push.
    return Path.parse_url(raw.removesuffix(ENDING), allow_priority=method not in ("PATCH", "POST"))


def _wants_stream(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


# Reading


async def _get(call: Call) -> Response:
    query = call.parameters.query or EVERYTHING
    if not call.database.is_indexed(call.path, query.order_by):
        await _check_readable(call, call.path)  # who may not read learns nothing of the rules
        raise IndexNotDefined(query.order_by.name, call.path)
    if _wants_stream(call.request) and call.method == "GET":
        return await _streamed(call, query)
    if call.parameters.is_silent:
        await _check_readable(call, call.path)
        return empty_answer(call.request)
    if call.conditions.needs_tag:
        return await _tagged(call, query)
    if call.parameters.levels is None or call.path.is_priority:
        form = call.parameters.form
        pieces = await call.database.get_json(call.path, form, call.caller, query)
    else:
        pieces = [await _truncated(call, call.parameters.levels)]
    if call.parameters.is_pretty:
        pieces = [await _run(sum(map(len, pieces)), partial(_pretty, pieces))]
    return pieces_answer(call.request, pieces)


async def _tagged(call: Call, query: Query, status: int = 200) -> Response:
    """Answer a value with its tag, or 304 when that is the one the client has."""
    if call.parameters.levels is not None:
        raise InvalidQuery("shallow and depth have no ETag: leave one of them out.")
    pieces = await call.database.get_json(call.path, Form.EXPORT, call.caller, query)
    size_bytes = sum(map(len, pieces))

    def work() -> tuple[str, bytes]:
        value: Any = parse_json(b"".join(pieces))  # our own text, so it is in normal form
        text = format_json(_formed(value, call.parameters.form))
        return tag_of(value), _pretty([text]) if call.parameters.is_pretty else text

    tag, text = await _run(size_bytes, work)
    headers = tag_headers(tag)
    if tag == call.conditions.none_match:
        return empty_answer(call.request, 304, headers)
    return json_answer(call.request, text, status, headers)


async def _streamed(call: Call, query: Query) -> Response:
    """Answer with the value and every change, until somebody leaves."""
    if call.path.is_priority:
        raise InvalidQuery("A priority has no stream: stream the value that it belongs to.")
    watch = Watch(call.path, query if query.is_filtering else EVERYTHING)
    stream = await Stream.open(watch, call.parameters.form, call.database, call.caller)
    auth = call.caller.auth
    if auth is not None and auth.expires_at_ms is not None:
        call.database.call_at(auth.expires_at_ms, stream.revoke)
    return StreamResponse(stream, watch, call.database, common_headers(call.request))


async def _stale_answer(call: Call) -> Response:
    """Answer a write whose tag is not the value's any more: with the value, and its tag.

    Who may not read the value is told that, and nothing of it.
    """
    return await _tagged(replace(call, conditions=NO_CONDITIONS), EVERYTHING, 412)


async def _truncated(call: Call, levels: int) -> bytes:
    """Return the JSON text of the upper levels; on a thread, for they may be wide."""
    value = await call.database.get_truncated(call.path, levels, call.caller)
    form = call.parameters.form
    text = await asyncio.to_thread(lambda: format_json(_formed(value, form)))
    most = call.database.limits.answer_bytes
    if len(text) > most:
        raise TooBigToRead(
            f"The answer has {len(text)} bytes, one answer holds at most {most}; read fewer levels "
            "or a deeper place."
        )
    return text


async def _check_readable(call: Call, path: Path) -> None:
    """Raise PermissionDenied unless the caller may read a place; little is read for it."""
    # A priority is as readable as the value that it stands beside.
    beside = path if path.is_priority else path.child(".priority")
    await call.database.get(beside, call.caller)


def _pretty(pieces: list[bytes]) -> bytes:
    return orjson.dumps(orjson.loads(b"".join(pieces)), option=orjson.OPT_INDENT_2)


# Writing


async def _put(call: Call) -> Response:
    build = partial(set_write, expected_hash=call.conditions.expected_hash)
    return await _write_body(call, call.path, build, _set_answer)


async def _patch(call: Call) -> Response:
    return await _write_body(call, call.path, update_write, _update_answer)


async def _post(call: Call) -> Response:
    key = call.database.push_id()
    path = call.path.child(key)
    if path.depth > call.database.limits.depth:
        raise TooDeep(
            f"A child of {call.path} is {path.depth} levels below the root; at most "
            f"{call.database.limits.depth} are allowed."
        )
    return await _write_body(call, path, set_write, lambda *_: {"name": key})


async def _delete(call: Call) -> Response:
    expected = call.conditions.expected_hash
    limits, caller = call.database.limits, call.caller
    write = set_write(call.path, None, limits, caller=caller, expected_hash=expected)
    await call.database.write(write)
    return _written_answer(call, b"null", NULL)


Build = Callable[..., Write]
Answer = Callable[[object, Write, Written | None, Form], object]


async def _write_body(call: Call, path: Path, build: Build, answer: Answer) -> Response:
    """Write what the body says at a path, and answer with JSON of what came of it."""
    limits = call.database.limits
    body = await read_body(call.request, limits.rest_write_bytes)

    def request_of() -> tuple[object, Write]:
        raw = parse_json(body)
        return raw, build(path, raw, limits, caller=call.caller)

    raw, write = await _run(len(body), request_of)
    written = await call.database.write(write)
    shows_result = not write.has_server_values or await _may_read(call, path)
    wants_tag = call.conditions.wants_tag and shows_result

    def text_of() -> tuple[bytes, str]:
        tag = tag_of(written.values[0] if written.values else None) if wants_tag else ""
        if call.parameters.is_silent:
            return b"", tag
        content = answer(raw, write, written if shows_result else None, call.parameters.form)
        text = format_json(content)
        return _pretty([text]) if call.parameters.is_pretty else text, tag

    return _written_answer(call, *await _run(len(body), text_of))


async def _may_read(call: Call, path: Path) -> bool:
    """Tell whether the caller may see what server values came to: an increment tells the sum."""
    try:
        await _check_readable(call, path)
    except PermissionDenied:
        return False
    return True


def _set_answer(raw: object, write: Write, written: Written | None, form: Form) -> object:
    """Return the value written; as it was sent when its result is not for the caller."""
    return raw if written is None else _formed(written.values[0], form)


def _update_answer(raw: object, write: Write, written: Written | None, form: Form) -> object:
    """Return the members of the body, in its order and spelling, with the values written."""
    assert isinstance(raw, dict), "an update is an object"
    if written is None:
        return raw
    places = (path for path, _ in write.changes)
    values = dict(zip(places, written.values, strict=True))
    return {
        text: _formed(values[write.path.join(Path.parse(text, allow_priority=True).keys)], form)
        for text in raw
    }


def _written_answer(call: Call, text: bytes, tag: str) -> Response:
    headers = tag_headers(tag) if tag and call.conditions.wants_tag else {}
    if call.parameters.is_silent:
        return empty_answer(call.request, 204, headers)
    return json_answer(call.request, text, 200, headers)


def _formed(value: Value, form: Form) -> object:
    return to_plain(value) if form is Form.PLAIN else value


async def _run(size_bytes: int, work: Callable[[], Result]) -> Result:
    """Do work on text of a size: here when it is small, else on a thread."""
    return work() if size_bytes <= INLINE_BYTES else await asyncio.to_thread(work)


_VERBS: Final[dict[str, Callable[[Call], Awaitable[Response]]]] = {
    "GET": _get,
    "HEAD": _get,
    "PUT": _put,
    "PATCH": _patch,
    "POST": _post,
    "DELETE": _delete,
}
