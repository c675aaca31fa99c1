"""Heads of HTTP requests: which are refused, and how that is said before a request is one.

A head that two readers could take for two different requests is refused, though the parser lets it
by: that is how one request is smuggled in another. So there is one host, one way in which a body
tells its end, and no version but 1.0 and 1.1.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from treedb.errors import InvalidPath, MethodNotAllowed, TreeError, UnsupportedRequest
from treedb.server.answers import JSON, http_refusal, http_refusal_headers
from treedb.server.hosts import parse_host

NOT_HTTP: Final = "What was sent is no HTTP/1.1 request."
ONE_HOST: Final = "A request has one Host header, such as localhost:9000."

_is_absolute: Final = re.compile(rb"https?://([^/?#]+)(/.*)", re.IGNORECASE | re.DOTALL).fullmatch
_is_request_line: Final = re.compile(rb"[!-~]{1,40} /[!-~]* HTTP/1\.[01]\r\n").match

Headers = Sequence[tuple[bytes, bytes]]  # names in lower case

log = logging.getLogger("treedb.http")


def check_head(method: bytes, url: bytes, version: str, headers: Headers) -> bytes:
    """Return the path and query that a head asks for; raises the TreeError that refuses it."""
    if version not in ("1.1", "1.0"):
        raise UnsupportedRequest(NOT_HTTP)
    if method == b"CONNECT":
        raise MethodNotAllowed
    host: bytes | None = None
    coding: bytes | None = None
    for name, value in headers:
        if name == b"host":
            host = value if host is None else b""  # which of two is meant nobody knows
        elif name == b"transfer-encoding":
            coding = value.lower() if coding is None else b""
    if host is None or parse_host(host) is None:
        raise UnsupportedRequest(ONE_HOST)
    if coding is not None and (coding != b"chunked" or version == "1.0"):
        raise UnsupportedRequest("A body is sent as it is, or chunked.")
    return url if url.startswith(b"/") else _path_of(url, host)


def _path_of(url: bytes, host: bytes) -> bytes:
    """Return what stands behind the host of an absolute URL, which has to be the request's."""
    found = _is_absolute(url)
    if found is None or found[1].lower() != host.lower():
        raise InvalidPath(
            "The request target must be a path, such as /rooms.json, or a URL whose host is that "
            "of the Host header."
        )
    return found[2]


def head_without_upgrade(method: bytes, url: bytes, version: str, headers: Headers) -> bytes:
    """Return a head without its wish for another protocol, to be parsed anew."""
    lines = (b"%b: %b\r\n" % each for each in _staying(headers))
    return b"".join((b"%b %b HTTP/%b\r\n" % (method, url, version.encode()), *lines, b"\r\n"))


def _staying(headers: Headers) -> Iterable[tuple[bytes, bytes]]:
    for name, value in headers:
        if name == b"connection":
            if b"close" in value.lower():
                yield name, b"close"
        elif name != b"upgrade":
            yield name, value


def refusal_of(error: httptools.HttpParserError, begun_with: bytes) -> TreeError:
    """Return the refusal of what the parser gave up on: no HTTP, or a method that it lacks.

    `begun_with` are the bytes with which the request begins, as far as they are known.
    """
    cause = error.__context__
    if cause is not None and not isinstance(cause, httptools.HttpParserError):
        log.error("a request could not be taken", exc_info=cause)
    if isinstance(error, httptools.HttpParserInvalidMethodError) and _is_request_line(begun_with):
        return MethodNotAllowed()
    return UnsupportedRequest(NOT_HTTP)


def refusal_answer(error: TreeError) -> bytes:
    """Return the whole answer to a request that never became one; it is a connection's last."""
    body = http_refusal(error)
    headers = {
        "content-type": JSON,
        "content-length": str(len(body)),
        "connection": "close",
        **http_refusal_headers(error),
    }
    lines = "".join(f"{name.lower()}: {value}\r\n" for name, value in headers.items())
    return STATUS_LINE[error.http_status] + lines.encode() + b"\r\n" + body
