import logging

import httptools
import pytest

from treedb.errors import InvalidPath, MethodNotAllowed, TreeError, Unavailable, UnsupportedRequest
from treedb.server.http_head import check_head, head_without_upgrade, refusal_answer, refusal_of

HOST = (b"host", b"localhost:9000")


@pytest.mark.parametrize(
    "url, path",
    [
        (b"/a.json?x", b"/a.json?x"),
        (b"//a.json", b"//a.json"),
        (b"http://localhost:9000/a.json?x", b"/a.json?x"),
        (b"HTTPS://LOCALHOST:9000/", b"/"),
    ],
)
def test_a_target_is_a_path_or_a_url_of_the_requests_host(url: bytes, path: bytes) -> None:
    assert check_head(b"GET", url, "1.1", [HOST]) == path


REFUSED: list[tuple[str, bytes, bytes, str, list[tuple[bytes, bytes]], type[TreeError]]] = [
    ("version 0.9", b"GET", b"/", "0.9", [], UnsupportedRequest),
    ("version 2.0", b"GET", b"/", "2.0", [HOST], UnsupportedRequest),
    ("a tunnel", b"CONNECT", b"localhost:80", "1.1", [HOST], MethodNotAllowed),
    ("no host", b"GET", b"/", "1.1", [], UnsupportedRequest),
    ("no host in 1.0", b"GET", b"/", "1.0", [], UnsupportedRequest),
    ("a host twice", b"GET", b"/", "1.1", [HOST, HOST], UnsupportedRequest),
    ("a path as host", b"GET", b"/", "1.1", [(b"host", b"x/../y")], UnsupportedRequest),
    ("a space in the host", b"GET", b"/", "1.1", [(b"host", b"a b")], UnsupportedRequest),
    ("a user as host", b"GET", b"/", "1.1", [(b"host", b"@")], UnsupportedRequest),
    ("an empty host", b"GET", b"/", "1.1", [(b"host", b"")], UnsupportedRequest),
    ("a URL of another host", b"GET", b"http://other/a", "1.1", [HOST], InvalidPath),
    ("a URL of another port", b"GET", b"http://localhost/a", "1.1", [HOST], InvalidPath),
    ("a URL with a user", b"GET", b"http://u@localhost:9000/", "1.1", [HOST], InvalidPath),
    ("a URL without a path", b"GET", b"http://localhost:9000", "1.1", [HOST], InvalidPath),
    ("another scheme", b"GET", b"ftp://localhost:9000/", "1.1", [HOST], InvalidPath),
    ("a star", b"OPTIONS", b"*", "1.1", [HOST], InvalidPath),
    *(
        (f"a body {coding!r}", b"PUT", b"/", version, headers, UnsupportedRequest)
        for coding, version in (
            (b"gzip, chunked", "1.1"),
            (b"xchunked", "1.1"),
            (b"chunked, chunked", "1.1"),
            (b"identity", "1.1"),
            (b"chunked", "1.0"),
        )
        for headers in [[HOST, (b"transfer-encoding", coding)]]
    ),
    (
        "chunked twice",
        b"PUT",
        b"/",
        "1.1",
        [HOST, (b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"chunked")],
        UnsupportedRequest,
    ),
]


@pytest.mark.parametrize(
    "method, url, version, headers, error",
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_a_head_that_is_not_clear_is_refused(
    method: bytes,
    url: bytes,
    version: str,
    headers: list[tuple[bytes, bytes]],
    error: type[TreeError],
) -> None:
    with pytest.raises(error):
        check_head(method, url, version, headers)


def test_a_chunked_body_is_clear() -> None:
    assert check_head(b"PUT", b"/a", "1.1", [HOST, (b"transfer-encoding", b"Chunked")]) == b"/a"


@pytest.mark.parametrize(
    "connection, kept",
    [(b"Upgrade, HTTP2-Settings", b""), (b"upgrade, close", b"connection: close\r\n")],
)
def test_a_head_loses_its_wish_for_another_protocol(connection: bytes, kept: bytes) -> None:
    headers = [HOST, (b"connection", connection), (b"upgrade", b"h2c"), (b"x", b"1")]
    assert head_without_upgrade(b"GET", b"/a", "1.1", headers) == (
        b"GET /a HTTP/1.1\r\nhost: localhost:9000\r\n" + kept + b"x: 1\r\n\r\n"
    )


def given_up(data: bytes) -> httptools.HttpParserError:
    parser = httptools.HttpRequestParser(object())
    with pytest.raises(httptools.HttpParserError) as caught:
        parser.feed_data(data)
    return caught.value


@pytest.mark.parametrize(
    "data, error",
    [
        (b"FOO /a.json HTTP/1.1\r\n", MethodNotAllowed),
        (b"get /a.json HTTP/1.1\r\n", MethodNotAllowed),
        (b"FOO /a.json\r\n", UnsupportedRequest),
        (b"FOO a.json HTTP/1.1\r\n", UnsupportedRequest),
        (b"\x16\x03\x01\x02\0\x01", UnsupportedRequest),
        (b"GET /\xc3\xa9 HTTP/1.1\r\n", UnsupportedRequest),
    ],
)
def test_a_method_that_the_parser_lacks_is_told_from_what_is_no_http(
    data: bytes, error: type[TreeError]
) -> None:
    assert type(refusal_of(given_up(data), data)) is error
    assert type(refusal_of(given_up(data), b"")) is UnsupportedRequest


def test_a_fault_while_a_request_is_taken_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def on_message_begin(self) -> None:
            raise ZeroDivisionError

    with pytest.raises(httptools.HttpParserCallbackError) as caught:
        httptools.HttpRequestParser(Broken()).feed_data(b"GET / HTTP/1.1\r\n")
    assert type(refusal_of(caught.value, b"")) is UnsupportedRequest
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.ERROR,
        "a request could not be taken",
    )


@pytest.mark.parametrize(
    "error, begins, holds",
    [
        (UnsupportedRequest("x"), b"HTTP/1.1 400 Bad Request\r\n", b'"detail":"x"'),
        (MethodNotAllowed(), b"HTTP/1.1 405 Method Not Allowed\r\n", b"\r\nallow: GET, HEAD, PUT"),
        (Unavailable(), b"HTTP/1.1 503 Service Unavailable\r\n", b"\r\nretry-after: 5\r\n"),
    ],
)
def test_a_refusal_is_a_whole_answer_and_the_last(
    error: TreeError, begins: bytes, holds: bytes
) -> None:
    answer = refusal_answer(error)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert answer.startswith(begins)
    assert holds in answer
    assert b"\r\nconnection: close\r\n" in answer
    assert b"\r\ncontent-length: %d\r\n" % len(body) in head + b"\r\n"
