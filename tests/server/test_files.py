from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.live_server import LiveServer, live_server
from treedb.config import Settings
from treedb.server.files import client_folder

NO_ENDING = {"error": "append .json to your request URI to use the REST API."}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("files")
    site = folder / "site"
    (site / "below").mkdir(parents=True)
    (site / ".git").mkdir()
    (folder / "secret.txt").write_text("secret")
    (site / "index.html").write_text("<title>home</title>")
    (site / "app.js").write_text("export {}")
    (site / "app.json").write_text("a file")
    (site / ".env").write_text("secret")
    (site / ".git" / "config").write_text("secret")
    (site / "below" / "index.html").write_text("below")
    (site / "link.txt").symlink_to(folder / "secret.txt")
    settings = Settings(data=folder / "data", dev=True, static=site)
    with live_server(folder, settings=settings) as running:
        yield running


@pytest.mark.parametrize(
    "target, text, kind",
    [
        ("/", "<title>home</title>", "text/html"),
        ("/index.html", "<title>home</title>", "text/html"),
        ("/app.js", "export {}", "text/javascript"),
        ("/app.js?v=1", "export {}", "text/javascript"),
        ("/below/", "below", "text/html"),
    ],
)
def test_files_are_served(server: LiveServer, target: str, text: str, kind: str) -> None:
    answer = server.ask("GET", target)
    assert (answer.status, answer.text) == (200, text)
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_file_that_has_not_changed_is_not_sent_again(server: LiveServer) -> None:
    tag = server.ask("GET", "/app.js").headers["etag"]
    with server.connect() as client:
        request = f"GET /app.js HTTP/1.1\r\nHost: x\r\nIf-None-Match: {tag}\r\n\r\n"
        client.send(request.encode())
        assert client.socket.recv(12) == b"HTTP/1.1 304"


def test_head_is_get_without_a_body(server: LiveServer) -> None:
    answer = server.ask("HEAD", "/app.js")
    assert (answer.status, answer.headers["content-length"]) == (200, "9")


@pytest.mark.parametrize(
    "target",
    [
        "/nothing",
        "/.env",
        "/.git/config",
        "/below/../.env",
        "/below/%2e%2e/.env",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/../secret.txt",
        "//etc/passwd",
        "/link.txt",
        "/below/.hidden/x",
        "/%00",
        "/%ff",
        "/" + "x" * 300,
        "/.unknown",
    ],
)
def test_what_is_no_visitors_file_is_404(server: LiveServer, target: str) -> None:
    answer = server.ask("GET", target)
    assert (answer.status, answer.json) == (404, NO_ENDING)


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "OPTIONS"])
def test_files_are_only_read(server: LiveServer, method: str) -> None:
    assert server.ask(method, "/app.js", "1").json == NO_ENDING


def test_places_and_dot_paths_win_over_files(server: LiveServer) -> None:
    assert server.get("/app.json") is None
    assert server.get("/.health")["status"] == "ok"


def test_the_client_is_beside_the_package_or_in_it(tmp_path: Path) -> None:
    package = tmp_path / "treedb"
    package.mkdir()
    assert client_folder(package) is None
    beside = tmp_path / "clients" / "js"
    beside.mkdir(parents=True)
    assert client_folder(package) == beside
    inside = package / "clients" / "js"
    inside.mkdir(parents=True)
    assert client_folder(package) == inside
