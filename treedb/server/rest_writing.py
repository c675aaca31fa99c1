"""REST: PUT, PATCH, POST and DELETE, as Firebase has them."""

from collections.abc import Callable
from functools import partial

from starlette.responses import Response

from treedb.errors import PermissionDenied, TooDeep, WriteTooLarge
from treedb.paths.path import Path
from treedb.server.bodies import read_body
from treedb.server.etags import NULL, tag_of
from treedb.server.http_answers import empty_answer, json_answer, tag_headers
from treedb.server.rest_call import Call, on_text_of, pretty
from treedb.server.rest_reading import check_readable
from treedb.tree.arrays import in_form
from treedb.tree.forms import Form
from treedb.tree.large_json import format_large_json, parse_large_json
from treedb.writes.request import Write, set_write, update_write
from treedb.writes.writer import Written

Build = Callable[..., Write]
Answer = Callable[[object, Write, Written | None, Form], object]


async def answer_put(call: Call) -> Response:
    """Replace a value; answer with what it is then."""
    build = partial(set_write, expected_hash=call.conditions.expected_hash)
    return await _write_body(call, call.path, build, _set_answer)


async def answer_update(call: Call) -> Response:
    """Change several places; answer with the body."""
    return await _write_body(call, call.path, update_write, _update_answer)


async def answer_post(call: Call) -> Response:
    """Add a child; answer with its key."""
    key = call.database.push_id()
    path = call.path.child(key)
    if path.depth > call.database.limits.depth:
        raise TooDeep(
            f"A child of {call.path} is {path.depth} levels below the root; at most "
            f"{call.database.limits.depth} are allowed."
        )
    return await _write_body(call, path, set_write, lambda *_: {"name": key})


async def answer_delete(call: Call) -> Response:
    """Remove a value."""
    expected = call.conditions.expected_hash
    limits, caller = call.database.limits, call.caller
    write = set_write(call.path, None, limits, caller=caller, expected_hash=expected)
    await call.database.write(write)
    return _written_answer(call, b"null", NULL)


async def read_write(call: Call, path: Path, build: Build) -> tuple[object, Write, int]:
    """Read what the body asks to be written; return its JSON, the write, and the body's size."""
    limits = call.database.limits
    body = await read_body(call.request, limits.rest_write_bytes)

    def request_of() -> tuple[object, Write]:
        raw = parse_large_json(body)
        return raw, build(path, raw, limits, caller=call.caller)

    raw, write = await on_text_of(len(body), request_of)
    _check_size(call, write, len(body))
    return raw, write, len(body)


def _check_size(call: Call, write: Write, size_bytes: int) -> None:
    """Raise WriteTooLarge when a write is estimated to take longer than the client would have it.

    The estimate goes by what the body holds, so the same write always has the same answer.
    """
    most = call.parameters.most_write_seconds
    if most is None:
        return
    limits = call.database.limits
    needed_ns = write.nodes * limits.node_write_ns + size_bytes * limits.byte_write_ns
    if needed_ns > most * 1_000_000_000:
        raise WriteTooLarge(
            f"{write.nodes} nodes in {size_bytes} bytes are estimated to take "
            f"{needed_ns / 1_000_000_000:.1f} s, and writeSizeLimit allows {most} s; send it in "
            "several writes, or allow a larger one."
        )


async def _write_body(call: Call, path: Path, build: Build, answer: Answer) -> Response:
    """Write what the body says at a path, and answer with JSON of what came of it."""
    raw, write, size_bytes = await read_write(call, path, build)
    written = await call.database.write(write)
    shows_result = not write.has_server_values or await _may_read(call, path)
    wants_tag = call.conditions.wants_tag and shows_result

    def text_of() -> tuple[bytes, str]:
        tag = tag_of(written.values[0] if written.values else None) if wants_tag else ""
        if call.parameters.is_silent:
            return b"", tag
        content = answer(raw, write, written if shows_result else None, call.parameters.form)
        text = format_large_json(content)
        return pretty([text]) if call.parameters.is_pretty else text, tag

    return _written_answer(call, *await on_text_of(size_bytes, text_of))


async def _may_read(call: Call, path: Path) -> bool:
    """Tell whether the caller may see what server values came to: an increment tells the sum."""
    try:
        await check_readable(call, path)
    except PermissionDenied:
        return False
    return True


def _set_answer(raw: object, write: Write, written: Written | None, form: Form) -> object:
    """Return the value written; as it was sent when its result is not for the caller."""
    return raw if written is None else in_form(written.values[0], form)


def _update_answer(raw: object, write: Write, written: Written | None, form: Form) -> object:
    """Return the members of the body, in its order and spelling, with the values written."""
    assert isinstance(raw, dict), "an update is an object"
    if written is None:
        return raw
    places = (path for path, _ in write.changes)
    values = dict(zip(places, written.values, strict=True))
    return {
        text: in_form(values[write.path.join(Path.parse(text, allow_priority=True).keys)], form)
        for text in raw
    }


def _written_answer(call: Call, text: bytes, tag: str) -> Response:
    headers = tag_headers(tag) if tag and call.conditions.wants_tag else {}
    if call.parameters.is_silent:
        return empty_answer(call.request, 204, headers)
    return json_answer(call.request, text, 200, headers)
