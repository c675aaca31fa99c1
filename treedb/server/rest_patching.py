"""REST: PATCH with one of the two standard kinds of patches, named by the Content-Type.

The answer is 204 without a body (RFC 5789): what was changed the client has said, and telling
more would need the permission to read.
"""

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from treedb.server.http_answers import empty_answer
from treedb.server.rest_call import Call
from treedb.server.rest_writing import Build, read_write
from treedb.writes.request import json_patch_write, merge_patch_write

_BUILDS: Final[dict[str, Build]] = {
    "application/json-patch+json": json_patch_write,
    "application/merge-patch+json": merge_patch_write,
}
ACCEPTED: Final = ", ".join(_BUILDS)


def is_standard(request: Request) -> bool:
    """Tell whether the body is a patch of a standard kind; any other type means Firebase's own."""
    return _type_of(request) in _BUILDS


async def answer_patch(call: Call) -> Response:
    """Change a value as a JSON Patch or a JSON Merge Patch says, in one commit."""
    build = _BUILDS[_type_of(call.request)]
    conditional = partial(build, expected_hash=call.conditions.expected_hash)
    _, write, _ = await read_write(call, call.path, conditional)
    await call.database.write(write)
    return empty_answer(call.request)


def _type_of(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
