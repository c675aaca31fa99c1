"""What a page in a real browser can do to a server that lists another origin, and curl as well."""

import functools
import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.server_process import HOST, ServerProcess, StartServer, free_port

PAGE = "<!doctype html><title>a page</title>"
TRY_EVERYTHING = """
async (server) => {
  const said = async (answer) => answer.then((text) => text, () => "kept from me");
  const ask = (method) => said(
    fetch(`${server}/v.json`, { method, body: method === "GET" ? undefined : "2" })
      .then((answer) => answer.text()));
  const poll = () => new Promise((resolve) => {
    window.pLPCommand1 = () => resolve("spoken to");
    const script = document.createElement("script");
    script.src = `${server}/.lp?start=t&ser=1&cb=1&v=5&ns=default`;
    script.onerror = () => resolve("kept from me");
    document.head.append(script);
  });
  const listen = () => new Promise((resolve) => {
    const socket = new WebSocket(`${server.replace("http", "ws")}/.ws?v=5`);
    socket.onmessage = () => resolve("spoken to");
    socket.onerror = () => resolve("kept from me");
  });
  return {
    read: await ask("GET"),
    post: await ask("POST").then((text) => text.includes("name") ? "done" : text),
    put: await ask("PUT"),
    socket: await listen(),
    poll: await poll(),
  };
}
"""
KEPT = "kept from me"
NOTHING = {"read": KEPT, "post": KEPT, "put": KEPT, "socket": KEPT, "poll": KEPT}
EVERYTHING = {"read": "1", "post": "done", "put": "2", "socket": "spoken to", "poll": "spoken to"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def pages_at(folder: Path, port: int) -> Iterator[str]:
    """Serve a folder's pages; gives their origin."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer((HOST, port), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "page.html").write_text(PAGE)
    return tmp_path


Start = Callable[..., ServerProcess]


@pytest.fixture
def serve(start_server: StartServer, folder: Path, curl: Callable[..., str]) -> Start:
    """Start a server that has a page of its own, and one value."""

    def start(*arguments: str) -> ServerProcess:
        server = start_server("--static", str(folder), *arguments)
        assert curl("-X", "PUT", "-d", "1", f"{server.url}/v.json") == "1"
        return server

    return start


@pytest.fixture
def curl() -> Callable[..., str]:
    path = shutil.which("curl")
    assert path, "run `make test` once: it installs curl"

    def run(*arguments: str) -> str:
        command = [path, "--silent", "--show-error", *arguments]
        return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout.decode()

    return run


def tried_by(browser: Browser, page_url: str, server: ServerProcess) -> object:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(page_url)
        return page.evaluate(TRY_EVERYTHING, server.url)


def test_a_foreign_page_gets_nothing_and_changes_nothing(
    browser: Browser, folder: Path, serve: Start, curl: Callable[..., str]
) -> None:
    server = serve("--allowed-origins", "https://app.example")
    with pages_at(folder, free_port()) as origin:
        assert tried_by(browser, f"{origin}/page.html", server) == NOTHING
    assert curl(f"{server.url}/.json") == '{"v":1}'


def test_a_page_of_the_server_and_one_that_is_listed_may_do_everything(
    browser: Browser, folder: Path, serve: Start, curl: Callable[..., str]
) -> None:
    port = free_port()
    server = serve("--allowed-origins", f"https://app.example, http://localhost:{port}")
    assert tried_by(browser, f"{server.url}/page.html", server) == EVERYTHING
    curl("-X", "PUT", "-d", "1", f"{server.url}/v.json")
    with pages_at(folder, port) as origin:
        assert tried_by(browser, f"{origin}/page.html", server) == EVERYTHING


def test_with_dev_alone_any_page_may_do_everything(
    browser: Browser, folder: Path, serve: Start
) -> None:
    server = serve()
    with pages_at(folder, free_port()) as origin:
        assert tried_by(browser, f"{origin}/page.html", server) == EVERYTHING


def test_a_strangers_name_that_leads_here_is_refused(
    serve: Start, curl: Callable[..., str]
) -> None:
    server = serve("--allowed-hosts", "db.example")
    answers = {
        name: curl(
            "--resolve", f"{name}:{server.port}:{HOST}", f"http://{name}:{server.port}/v.json"
        )
        for name in ("evil.example", "db.example")
    }
    assert json.loads(answers["evil.example"])["error"] == "Host is not allowed"
    assert answers["db.example"] == "1"


def test_curl_gets_what_it_asks_for(folder: Path, serve: Start, curl: Callable[..., str]) -> None:
    server = serve()
    url = f"{server.url}/large.json"
    text = json.dumps(
        {f"user{number}": "Mary Chen" for number in range(20_000)}, separators=(",", ":")
    )
    (folder / "large.json").write_text(text)
    upload = ("--output", "/dev/null", "-X", "PUT", "--data-binary", f"@{folder / 'large.json'}")
    curl(*upload, "-H", "Expect: 100-continue", url)
    sizes = ("--output", "/dev/null", "--write-out", "%{size_download}", url)
    assert int(curl("--compressed", *sizes)) < int(curl(*sizes)) / 5
    assert json.loads(curl("--compressed", url)) == json.loads(curl(url)) == json.loads(text)
    # It asks for HTTP/2, is answered in 1.1, and goes on with the same connection.
    told = ("--http2", "--write-out", " %{http_version} %{num_connects}\n", f"{server.url}/v.json")
    both = curl(*told, "--next", "--silent", *told)
    assert both.splitlines() == ["1 1.1 1", "1 1.1 0"]


def test_curl_does_not_send_what_is_too_large(
    folder: Path, serve: Start, curl: Callable[..., str]
) -> None:
    server = serve()
    with (folder / "huge").open("wb") as huge:
        huge.truncate(300 * 1024 * 1024)
    told = ("--output", "/dev/null", "--write-out", "%{http_code} %{size_upload}")
    upload = ("-H", "Expect: 100-continue", "-T", str(folder / "huge"), f"{server.url}/v.json")
    assert curl(*told, *upload) == "413 0"
