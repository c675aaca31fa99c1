import socket
import threading
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.server_process import HOST, ServerProcess, free_port
from treedb.cli.rules_in_force import Server, find_server, get_rules, put_rules
from treedb.errors import PermissionDenied, SettingsError, Unavailable, WrongUse
from treedb.writes.mend import Side

TOKEN = "0123456789abcdef"
WITH_TOKEN = {"TREEDB_ADMIN_TOKEN": TOKEN}
RULES = '{"rules": {".read": true}} // é\n'


# Which server


@pytest.mark.parametrize(
    "url, environment, server, written",
    [
        (None, {}, Server("http", "127.0.0.1", 9000, TOKEN), "http://127.0.0.1:9000"),
        (None, {"TREEDB_PORT": "1"}, Server("http", "127.0.0.1", 1, TOKEN), "http://127.0.0.1:1"),
        (None, {"TREEDB_HOST": "::1"}, Server("http", "::1", 9000, TOKEN), "http://[::1]:9000"),
        ("http://a:5", {}, Server("http", "a", 5, TOKEN), "http://a:5"),
        ("https://a.example/", {}, Server("https", "a.example", None, TOKEN), "https://a.example"),
        ("http://[::1]:5", {}, Server("http", "::1", 5, TOKEN), "http://[::1]:5"),
    ],
)
def test_a_server_is_found_by_url_or_else_by_the_settings(
    tmp_path: Path, url: str | None, environment: dict[str, str], server: Server, written: str
) -> None:
    assert find_server(url, None, {**WITH_TOKEN, **environment}, tmp_path) == server
    assert str(server) == written


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9000", "ftp://a", "http://", "http://a:port", "http://["]
)
def test_a_url_that_names_no_server_is_wrong_use(tmp_path: Path, url: str) -> None:
    with pytest.raises(WrongUse, match=r"^--url is "):
        find_server(url, None, WITH_TOKEN, tmp_path)


def test_without_a_token_given_the_data_folders_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "admin.token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    assert find_server(None, tmp_path, {}, tmp_path).token == TOKEN
    assert find_server(None, None, {"TREEDB_DATA": str(tmp_path)}, tmp_path).token == TOKEN
    file.chmod(0o644)
    with pytest.raises(SettingsError, match="has mode 0644"):
        find_server(None, tmp_path, {}, tmp_path)


def test_without_any_token_the_sentence_says_where_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(WrongUse) as refused:
        find_server(None, tmp_path, {}, tmp_path)
    assert refused.value.reason == (
        f"there is no admin token: {tmp_path}/admin.token is not there. Set TREEDB_ADMIN_TOKEN, or "
        "name the server's data folder with --data."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_token_that_no_header_can_carry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        find_server(None, None, {"TREEDB_ADMIN_TOKEN": "a\nb"}, tmp_path)


def test_a_server_is_shown_without_its_token() -> None:
    assert TOKEN not in repr(Server("http", "a", 1, TOKEN))


# Asking it


@pytest.fixture
def running(server: ServerProcess, tmp_path: Path) -> Server:
    return find_server(server.url, server.data, {}, tmp_path)


def test_what_was_put_is_got_byte_for_byte(running: Server) -> None:
    put_rules(running, "one", RULES, is_dry_run=False)
    assert get_rules(running, "one") == RULES
    assert get_rules(running, "two") != RULES


def test_a_dry_run_only_checks(running: Server) -> None:
    put_rules(running, "three", RULES, is_dry_run=True)
    assert get_rules(running, "three") != RULES


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_what_the_server_refuses_is_told(running: Server, is_dry_run: bool) -> None:
    with pytest.raises(Unavailable) as refused:
        put_rules(running, "four", '{"rules": {".read": "x"}}', is_dry_run=is_dry_run)
    assert refused.value.reason == f"{running} answered 400: 1:22: Unknown variable 'x'."


MIRRORED = '{"rules": {".write": true, "a": {"$x": {".mirror": "/b/$x"}}}}'


def test_the_data_is_brought_to_agree_by_the_side_that_is_right(running: Server) -> None:
    put_rules(running, "five", '{"rules": {".write": true}}', is_dry_run=False)
    write(running, "/.json?ns=five", '{"a": {"k": 1, "l": 1}, "b": {"k": 2}}')
    with pytest.raises(Unavailable) as refused:
        put_rules(running, "five", MIRRORED, is_dry_run=False)
    assert refused.value.reason == (
        f"{running} answered 400:\n"
        "  1:52: The data disagrees: /b/k differs from /a/k.\n"
        "  1:52: The data disagrees: /b/l is missing: /a/l is there.\n"
        "  give the side that is right, source, target or union, as --mirror-backfill, or mend the "
        "data, and put the rules again"
    )
    for is_dry_run in (True, False):
        begun = put_rules(running, "five", MIRRORED, is_dry_run=is_dry_run, side=Side.SOURCE)
        assert begun == 1
    assert put_rules(running, "five", MIRRORED, is_dry_run=False, side=Side.SOURCE) == 0


def write(server: Server, target: str, body: str) -> None:
    connection = HTTPConnection(server.host, server.port, timeout=30)
    connection.request("PUT", target, body)
    assert connection.getresponse().status == 200
    connection.close()


def test_a_wrong_namespace_is_told(running: Server) -> None:
    with pytest.raises(Unavailable, match=r"answered 400: The namespace 'A&b'"):
        get_rules(running, "A&b")


def test_a_wrong_token_is_told(server: ServerProcess) -> None:
    with pytest.raises(PermissionDenied, match="does not take the admin token"):
        get_rules(Server("http", HOST, server.port, "x" * 64), "one")


def test_a_server_that_is_not_there_is_told() -> None:
    server = Server("http", HOST, free_port(), TOKEN)
    with pytest.raises(Unavailable, match=f"^{server} does not answer: "):
        get_rules(server, "one")


@pytest.mark.parametrize(
    "answer, error, sentence",
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n", Unavailable, "answered 302"),
        (b"HTTP/1.1 500 No\r\n\r\n<h1>No</h1>", Unavailable, "answered 500: <h1>No</h1>"),
        (b"HTTP/1.1 500 No\r\n\r\n[1]", Unavailable, r"answered 500: \[1\]"),
        (b'HTTP/1.1 500 No\r\n\r\n{"findings":[]}', Unavailable, r"answered 500: {"),
        (b'HTTP/1.1 500 No\r\n\r\n{"findings":[1]}', Unavailable, r"answered 500: {"),
        (b"SSH-2.0\r\n", Unavailable, "does not answer: SSH-2.0"),
    ],
)
def test_what_is_no_treedb_is_told(answer: bytes, error: type[Exception], sentence: str) -> None:
    with socket.create_server((HOST, 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(error, match=sentence):
            get_rules(Server("http", HOST, listener.getsockname()[1], TOKEN), "one")
        thread.join()
