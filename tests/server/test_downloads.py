"""The file's name in Content-Disposition, and answers that browsers save."""

from collections.abc import Iterator
from email.message import Message
from email.policy import HTTP

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.live_server import LiveServer, live_server
from treedb.server.downloads import MOST_CHARACTERS, NAMELESS, content_disposition

NAMES = [
    ("data.json", 'attachment; filename="data.json"'),
    ("my data (1).json", 'attachment; filename="my data (1).json"'),
    ("", 'attachment; filename="download.json"'),
    ("..", 'attachment; filename="download.json"'),
    ("../../etc/passwd", 'attachment; filename="passwd"'),
    ("C:\\Windows\\x.bat", 'attachment; filename="x.bat"'),
    ("a/", 'attachment; filename="download.json"'),
    (".htaccess", 'attachment; filename="htaccess"'),
    ("dot. ", 'attachment; filename="dot"'),
    ('../../x"\r\nX: y', "attachment; filename=\"x_X: y\"; filename*=UTF-8''x%22X%3A%20y"),
    ('a"b', "attachment; filename=\"a_b\"; filename*=UTF-8''a%22b"),
    ("été.json", "attachment; filename=\"_t_.json\"; filename*=UTF-8''%C3%A9t%C3%A9.json"),
    ("😀", "attachment; filename=\"_\"; filename*=UTF-8''%F0%9F%98%80"),
    ("a\u202egpj.exe", 'attachment; filename="agpj.exe"'),
    ("100%.json", "attachment; filename=\"100_.json\"; filename*=UTF-8''100%25.json"),
    ("x" * 500, f'attachment; filename="{"x" * MOST_CHARACTERS}"'),
]


@pytest.mark.parametrize("wanted, header", NAMES)
def test_a_name_is_made_harmless(wanted: str, header: str) -> None:
    assert content_disposition(wanted) == header


@given(st.text(max_size=150))
def test_any_name_gives_one_header_that_a_reader_understands(wanted: str) -> None:
    header = content_disposition(wanted)
    assert header.isascii()
    assert header.isprintable()
    message = Message(policy=HTTP)
    message["Content-Disposition"] = header
    name = message.get_filename()
    assert name
    assert not set("/\\") & set(name)
    assert name[0] not in ". "


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("downloads")) as server:
        server.put("/v.json", {"a": 1})
        yield server


def test_a_read_may_be_saved_as_a_file(server: LiveServer) -> None:
    answer = server.ask("GET", "/v.json?download=v%20%C3%A9.json&format=export")
    assert answer.json == {"a": 1}
    name = "attachment; filename=\"v _.json\"; filename*=UTF-8''v%20%C3%A9.json"
    assert answer.headers["content-disposition"] == name


def test_no_header_can_be_slipped_in(server: LiveServer) -> None:
    answer = server.ask("GET", "/v.json?download=../../x%22%0d%0aX:%20y")
    assert answer.status == 200
    assert "x" not in answer.headers


def test_a_download_without_a_name_has_one(server: LiveServer) -> None:
    answer = server.ask("GET", "/v.json?download=")
    assert answer.headers["content-disposition"] == f'attachment; filename="{NAMELESS}"'


@pytest.mark.parametrize(
    "method, query", [("GET", ""), ("PUT", "?download=x"), ("GET", "?download=x&print=silent")]
)
def test_other_answers_are_not_saved(server: LiveServer, method: str, query: str) -> None:
    answer = server.ask(method, f"/w.json{query}", "1")
    assert "content-disposition" not in answer.headers
