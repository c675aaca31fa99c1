"""REST: GET and HEAD."""

import asyncio
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from treedb.errors import IndexNotDefined, InvalidQuery, ReadTimeout, TooBigToRead
from treedb.paths.path import Path
from treedb.server.downloads import content_disposition
from treedb.server.etags import tag_of
from treedb.server.http_answers import (
    empty_answer,
    json_answer,
    pieces_answer,
    tag_headers,
)
from treedb.server.jsonp import JAVASCRIPT, as_script
from treedb.server.rest_call import Call, on_text_of, pretty
from treedb.server.streamed_answers import streamed_answer
from treedb.server.streams import stream_answer
from treedb.tree.arrays import in_form
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json, parse_json
from treedb.tree.query import EVERYTHING, Query


async def answer_read(call: Call) -> Response:
    """Answer a read, within the time that it may take; what it holds of the store is let go."""
    most_ms = call.database.limits.read_timeout_ms
    timeout_ms = min(call.parameters.timeout_ms or most_ms, most_ms)
    limit = asyncio.timeout(timeout_ms / 1000)
    try:
        async with limit:
            response = await _answer(call)
    except TimeoutError:
        assert limit.expired(), "nobody else gives up on a read"
        raise ReadTimeout(
            f"Reading {call.path} took longer than {timeout_ms} ms; read a deeper place, or fewer "
            "levels or children."
        ) from None
    if call.parameters.download is not None and response.status_code == 200:
        disposition = content_disposition(call.parameters.download)
        response.headers["Content-Disposition"] = disposition
    return response


async def answer_tagged(call: Call, query: Query, status: int = 200) -> Response:
    """Answer a value with its tag, or 304 when that is the one the client has."""
    if call.parameters.levels is not None:
        raise InvalidQuery("shallow and depth have no ETag: leave one of them out.")
    pieces = await call.database.get_json(call.path, Form.EXPORT, call.caller, query)
    size_bytes = sum(map(len, pieces))

    def work() -> tuple[str, bytes]:
        value: Any = parse_json(b"".join(pieces))  # our own text, so it is in normal form
        text = format_json(in_form(value, call.parameters.form))
        return tag_of(value), pretty([text]) if call.parameters.is_pretty else text

    tag, text = await on_text_of(size_bytes, work)
    headers = tag_headers(tag)
    if tag == call.conditions.none_match:
        return empty_answer(call.request, 304, headers)
    if call.parameters.callback is not None:
        return _script(call, call.parameters.callback, [text])
    return json_answer(call.request, text, status, headers)


async def check_readable(call: Call, path: Path) -> None:
    """Raise PermissionDenied unless the caller may read a place; little is read for it."""
    # A priority is as readable as the value that it stands beside.
    beside = path if path.is_priority else path.child(".priority")
    await call.database.get(beside, call.caller)


async def _answer(call: Call) -> Response:
    query = call.parameters.query or EVERYTHING
    if not call.database.is_indexed(call.path, query.order_by):
        await check_readable(call, call.path)  # who may not read learns nothing of the rules
        raise IndexNotDefined(query.order_by.name, call.path)
    if _wants_stream(call.request) and call.method == "GET":
        if call.parameters.callback is not None:
            raise InvalidQuery("callback is not for streams: leave it out.")
        form, database, caller = call.parameters.form, call.database, call.caller
        return await stream_answer(
            call.request, call.path, query, form, database=database, caller=caller
        )
    if call.parameters.is_silent:
        await check_readable(call, call.path)
        return empty_answer(call.request)
    if call.conditions.needs_tag:
        return await answer_tagged(call, query)
    if call.parameters.levels is None or call.path.is_priority:
        if not (query.is_filtering or call.parameters.is_pretty or call.parameters.callback):
            return await _whole(call)
        form = call.parameters.form
        pieces = await call.database.get_json(call.path, form, call.caller, query)
    else:
        pieces = [await _truncated(call, call.parameters.levels)]
    if call.parameters.is_pretty:
        pieces = [await on_text_of(sum(map(len, pieces)), partial(pretty, pieces))]
    if call.parameters.callback is not None:
        return _script(call, call.parameters.callback, pieces)
    return pieces_answer(call.request, pieces)


async def _whole(call: Call) -> Response:
    """Answer with all there is at a place; a long text is made while it is sent."""
    form, limits = call.parameters.form, call.database.limits
    pieces = await call.database.get_short_json(call.path, form, call.caller)
    if pieces is not None:
        return pieces_answer(call.request, pieces)
    return streamed_answer(
        call.request,
        partial(call.database.open_json, call.path, form, call.caller),
        call.parameters.timeout_ms or limits.read_timeout_ms,
        limits.long_read_timeout_ms,
    )


def _script(call: Call, callback: str, pieces: list[bytes]) -> Response:
    """Answer with a call of a function; a page cannot read the headers of a script."""
    headers = {"Content-Type": JAVASCRIPT}
    return json_answer(call.request, as_script(callback, pieces), 200, headers)


def _wants_stream(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


async def _truncated(call: Call, levels: int) -> bytes:
    """Return the JSON text of the upper levels; on a thread, for they may be wide."""
    value = await call.database.get_truncated(call.path, levels, call.caller)
    form = call.parameters.form
    text = await asyncio.to_thread(lambda: format_json(in_form(value, form)))
    most = call.database.limits.answer_bytes
    if len(text) > most:
        raise TooBigToRead(
            f"The answer has {len(text)} bytes, one answer holds at most {most}; read fewer levels "
            "or a deeper place."
        )
    return text
