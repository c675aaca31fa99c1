import asyncio
import gzip
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from treedb.errors import (
    BodyTooLarge,
    InvalidPath,
    MethodNotAllowed,
    PermissionDenied,
    StoreError,
    TreeError,
    Unavailable,
)
from treedb.server.compression import LEAST_BYTES
from treedb.server.http_answers import (
    CHUNK_BYTES,
    chunks_of,
    empty_answer,
    error_answer,
    json_answer,
    on_http_exception,
    on_unexpected,
    pieces_answer,
    preflight_answer,
)
from treedb.server.origins import SHARING


def request_with(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return Request({"type": "http", "method": "GET", "raw_path": b"/a.json", "headers": raw})


async def sent_by(response: Response, arriving: list[Message] | None = None) -> list[Message]:
    """Run a response; return what it sent. What arrives does, and then nothing more."""
    sent: list[Message] = []
    waiting = list(arriving or [])

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await response({"type": "http"}, receive, send)
    return sent


def body_of(sent: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in sent[1:])


def headers_of(sent: list[Message]) -> dict[bytes, bytes]:
    return dict(sent[0]["headers"])


def test_json_is_not_kept() -> None:
    response = json_answer(request_with(), b"1")
    assert dict(response.headers) == {
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        "content-type": "application/json; charset=utf-8",
        "content-length": "1",
    }


SHARED = {"Access-Control-Allow-Origin": "https://app.example", "Vary": "Origin"}


def shared_request(**headers: str) -> Request:
    request = request_with(**headers)
    request.scope[SHARING] = SHARED
    return request


def test_an_answer_has_the_headers_that_its_origin_gets() -> None:
    response = json_answer(shared_request(), b"1")
    assert response.headers["access-control-allow-origin"] == "https://app.example"
    assert response.headers["vary"] == "Origin"


def test_an_empty_answer_has_no_body() -> None:
    response = empty_answer(request_with())
    assert response.status_code == 204
    assert "content-length" not in response.headers
    assert "content-type" not in response.headers


def test_a_preflight_is_granted_what_it_asks() -> None:
    request = shared_request(access_control_request_headers="authorization, x-odd")
    headers = preflight_answer(request).headers
    assert headers["access-control-allow-origin"] == "https://app.example"
    methods = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"
    assert headers["access-control-allow-methods"] == headers["allow"] == methods
    assert headers["access-control-allow-headers"] == "authorization, x-odd"


@pytest.mark.parametrize("size, is_large", [(LEAST_BYTES - 1, False), (LEAST_BYTES, True)])
def test_only_a_large_answer_depends_on_what_is_accepted(size: int, is_large: bool) -> None:
    response = json_answer(shared_request(), b"1" * size)
    assert response.headers["vary"] == ("Origin, Accept-Encoding" if is_large else "Origin")


async def test_pieces_are_compressed_for_who_takes_that() -> None:
    pieces = [b"x" * 1000] * 1000
    sent = await sent_by(pieces_answer(request_with(accept_encoding="gzip"), pieces))
    assert headers_of(sent)[b"content-encoding"] == b"gzip"
    assert gzip.decompress(body_of(sent)) == b"".join(pieces)


async def test_small_pieces_are_one_body() -> None:
    sent = await sent_by(pieces_answer(request_with(), [b"[1", b",", b"2]"]))
    assert len(sent) == 2
    assert body_of(sent) == b"[1,2]"


async def test_many_pieces_are_sent_in_chunks_under_their_length() -> None:
    pieces = [b"x" * 1000] * 1000
    sent = await sent_by(pieces_answer(request_with(), pieces))
    assert headers_of(sent)[b"content-length"] == b"1000000"
    assert headers_of(sent)[b"content-type"] == b"application/json; charset=utf-8"
    assert body_of(sent) == b"".join(pieces)
    assert [len(each["body"]) for each in sent[1:3]] == [66_000, 66_000]
    assert sent[-1]["more_body"] is False


@given(st.lists(st.binary(max_size=9), max_size=50), st.integers(1, 20))
def test_chunks_hold_the_pieces_and_have_their_least_size(pieces: list[bytes], least: int) -> None:
    chunks = list(chunks_of(pieces, least))
    assert b"".join(chunks) == b"".join(pieces)
    assert all(len(chunk) >= least for chunk in chunks[:-1])
    assert all(len(chunk) < least + 9 for chunk in chunks)


ERRORS = [
    (InvalidPath(), 400, {"error": InvalidPath.text}),
    (InvalidPath("It is odd."), 400, {"error": InvalidPath.text, "detail": "It is odd."}),
    (PermissionDenied(), 401, {"error": "Permission denied"}),
    (
        PermissionDenied("the rule at line 3"),
        401,
        {"error": "Permission denied", "explanation": "the rule at line 3"},
    ),
    (StoreError("/secret/place is broken"), 503, {"error": "The store cannot be used"}),
]


@pytest.mark.parametrize("error, status, content", ERRORS)
def test_an_error_has_its_text_and_its_detail(
    error: TreeError, status: int, content: dict[str, str]
) -> None:
    response = error_answer(shared_request(), error)
    assert response.status_code == status
    assert orjson.loads(response.body) == content
    assert response.headers["access-control-allow-origin"] == "https://app.example"


def test_a_refused_method_is_told_which_are_allowed() -> None:
    response = error_answer(request_with(), MethodNotAllowed())
    assert response.headers["allow"] == "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"


def test_who_should_come_back_is_told_when() -> None:
    assert error_answer(request_with(), Unavailable()).headers["retry-after"] == "5"


def piece(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    "arriving",
    [
        [],
        [piece(b"x" * CHUNK_BYTES, more=True)],
        [piece(b"x", more=True), piece(b"", more=False)],
        [{"type": "http.disconnect"}],
    ],
    ids=["silence", "more and silence", "the end", "a hang-up"],
)
async def test_a_body_too_large_is_answered_before_the_connection_closes(
    arriving: list[Message],
) -> None:
    response = error_answer(request_with(), BodyTooLarge("too long"))
    sent = await sent_by(response, arriving)
    assert sent[0]["status"] == 413
    assert headers_of(sent)[b"connection"] == b"close"
    content = {"error": "Payload is too large", "detail": "too long"}
    assert orjson.loads(sent[1]["body"]) == content
    assert sent[1]["more_body"] is True
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_errors_of_starlette_are_json_too() -> None:
    error = HTTPException(405, headers={"Allow": "GET"})
    response = await on_http_exception(request_with(), error)
    assert orjson.loads(response.body) == {"error": "Method Not Allowed"}
    assert response.headers["allow"] == "GET"


async def test_a_url_that_leads_nowhere_is_told_of_the_ending() -> None:
    response = await on_http_exception(request_with(), HTTPException(404))
    assert response.status_code == 404
    assert orjson.loads(response.body)["error"].startswith("append .json")


async def test_a_fault_of_ours_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    response = await on_unexpected(request_with(), RuntimeError("secret"))
    assert response.status_code == 500
    assert orjson.loads(response.body) == {"error": "Internal server error"}
    assert [each.getMessage() for each in caplog.records] == ["GET b'/a.json' failed"]
