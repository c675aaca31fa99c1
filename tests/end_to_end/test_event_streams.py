"""Streams as clients of others read them, cut off and taken up again where they were."""

import json
import queue
import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import firebase_admin
import httpx
import pytest
import sseclient
from firebase_admin import db
from playwright.sync_api import Browser, Page

from tests.auth.minting import unsigned
from tests.end_to_end.cutting_proxy import CuttingProxy, cutting_proxy
from tests.server.event_client import Event, EventParser, EventStream
from tests.server_process import ServerProcess, StartServer, wait_until

ACCEPT = {"Accept": "text/event-stream"}
KILLS = 5
WRITES = 2000  # in one life of the server; it is killed before
SECONDS = 40.0


@pytest.fixture
def proxy(server: ServerProcess) -> Iterator[CuttingProxy]:
    with cutting_proxy(server.port) as serving:
        yield serving


def put(server: ServerProcess, target: str, value: object) -> None:
    answer = httpx.put(f"{server.url}{target}.json?auth=owner", content=json.dumps(value))
    assert answer.status_code == 200, answer.text


# curl


def test_curl(server: ServerProcess, tmp_path: Path) -> None:
    put(server, "/curl", {"a": 1})
    heard = tmp_path / "heard.txt"

    def curl(*arguments: str) -> subprocess.Popen[bytes]:
        command = ["curl", "--silent", "--no-buffer", "--output", str(heard)]
        return subprocess.Popen([*command, "-H", "Accept: text/event-stream", *arguments])

    def wait_for(text: str) -> list[str]:
        wait_until(lambda: heard.exists() and text in heard.read_text(), 20, text)
        return heard.read_text().splitlines()

    url = f"{server.url}/curl.json"
    running = curl(url)
    lines = wait_for('data: {"path":"/","data":{"a":1}}\n\n')
    put(server, "/curl/b", "ü")
    wait_for('event: put\ndata: {"path":"/b","data":"ü"}\n\n')
    running.terminate()
    running.wait()
    assert lines[0].startswith("id: ")
    put(server, "/curl/c", 3)
    heard.unlink()
    running = curl("-H", f"Last-Event-ID: {lines[0].removeprefix('id: ')}", url)
    lines = wait_for('data: {"path":"/c","data":3}\n\n')
    running.terminate()
    running.wait()
    data = [line for line in lines if line.startswith("data: ")]
    assert data == ['data: {"path":"/b","data":"ü"}', 'data: {"path":"/c","data":3}']


# httpx, alone and with PyPI's sseclient-py


def test_httpx(server: ServerProcess) -> None:
    put(server, "/httpx", {"a": 1})
    parser = EventParser()
    url = f"{server.url}/httpx.json"
    with httpx.stream("GET", url, headers=ACCEPT, timeout=SECONDS) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert heard_of(parser, response.iter_raw()) == ("put", {"path": "/", "data": {"a": 1}})
    put(server, "/httpx/b", 2)
    headers = {**ACCEPT, "Last-Event-ID": parser.last_id}
    with httpx.stream("GET", url, headers=headers, timeout=SECONDS) as response:
        assert heard_of(parser, response.iter_raw()) == ("put", {"path": "/b", "data": 2})


def heard_of(parser: EventParser, pieces: Iterator[bytes]) -> tuple[str, Any]:
    event = next(event for piece in pieces for event in parser.feed(piece))
    return event.name, event.json


def test_sseclient(server: ServerProcess) -> None:
    put(server, "/sseclient", {"a": 1})
    url, last_id = f"{server.url}/sseclient.json", None
    for number in range(3):
        headers = {**ACCEPT, "Last-Event-ID": last_id or ""}
        with httpx.stream("GET", url, headers=headers, timeout=SECONDS) as response:
            event = next(sseclient.SSEClient(response.iter_raw()).events())
        assert event.event == "put"
        expected = (
            {"path": "/", "data": {"a": 1}} if number == 0 else {"path": "/b", "data": number}
        )
        assert json.loads(event.data) == expected
        last_id = event.id
        put(server, "/sseclient/b", number + 1)


# The admin SDK, whose reader comes back by itself


# The SDK closes a stream under the thread that reads it, which then fails in `http.client`.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_firebase_admin(
    server: ServerProcess, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIREBASE_DATABASE_EMULATOR_HOST", f"127.0.0.1:{proxy.port}")
    options = {"databaseURL": "https://default.firebaseio.com"}
    app = firebase_admin.initialize_app(options=options, name="cut")
    try:
        put(server, "/admin", {"a": 1})
        heard: queue.SimpleQueue[tuple[str, str, Any]] = queue.SimpleQueue()
        registration = db.reference("admin", app).listen(
            lambda event: heard.put((event.event_type, event.path, event.data))
        )
        assert heard.get(timeout=SECONDS) == ("put", "/", {"a": 1})
        proxy.cut_after(0)
        put(server, "/admin/b", 2)
        put(server, "/admin/a", None)
        assert heard.get(timeout=SECONDS) == ("put", "/b", 2)
        assert heard.get(timeout=SECONDS) == ("put", "/a", None)
        closing = threading.Thread(target=registration.close)  # it waits for one event more
        closing.start()
        put(server, "/admin/c", 3)
        closing.join(timeout=SECONDS)
        assert not closing.is_alive()
    finally:
        firebase_admin.delete_app(app)


# A browser, whose EventSource comes back by itself

LISTEN = """([target]) => {
    window.heard = [];
    window.opened = 0;
    const source = new EventSource(target);
    source.onopen = () => { window.opened += 1; };
    for (const name of ["put", "patch", "cancel"]) {
        source.addEventListener(name, (event) => window.heard.push([name, JSON.parse(event.data)]));
    }
}"""


def test_a_browser(server: ServerProcess, proxy: CuttingProxy, browser: Browser, seed: int) -> None:
    choice = random.Random(seed)
    rules = {"rules": {"browser": {".read": "auth.uid == 'ann'", ".write": True}}}
    admin = {"Authorization": "Bearer owner"}
    url = f"{server.url}/.settings/rules.json?ns=browser"
    assert httpx.put(url, json=rules, headers=admin).status_code == 200
    write = writer_of(server)
    write("a", 0)
    page = browser.new_page()
    try:
        page.goto(f"{proxy.url}/.health")
        token = unsigned(sub="ann")
        page.evaluate(LISTEN, [f"/browser.json?ns=browser&auth={token}"])
        expected: list[list[Any]] = [["put", {"path": "/", "data": {"a": 0}}]]
        wait_for_heard(page, expected)
        for number in range(1, 4):
            proxy.cut_after(choice.randint(0, 300))  # an event has some 360 bytes
            for key in "bcd":
                value = f"{number}" + "x" * 300
                write(key, value)
                expected.append(["put", {"path": f"/{key}", "data": value}])
            wait_for_heard(page, expected)
            assert proxy.cuts == number
            assert page.evaluate("window.opened") == number + 1
    finally:
        page.close()


def writer_of(server: ServerProcess) -> Callable[[str, object], None]:
    def write(key: str, value: object) -> None:
        url = f"{server.url}/browser/{key}.json?ns=browser"
        assert httpx.put(url, json=value).status_code == 200

    return write


def wait_for_heard(page: Page, expected: list[list[Any]]) -> None:
    wait = "(count) => window.heard.length >= count"
    page.wait_for_function(wait, arg=len(expected), timeout=SECONDS * 1000)
    assert page.evaluate("window.heard") == expected


# A server that dies


def test_a_killed_server_is_no_gap(start_server: StartServer, seed: int) -> None:
    choice = random.Random(seed)
    server = start_server()
    parser = EventParser()
    heard: list[Event] = []
    written = Written()
    for _ in range(KILLS):
        with EventStream(server.port, "/place.json", parser) as stream:
            writing = threading.Thread(target=written.write_on, args=(server,))
            writing.start()
            hear(stream, heard, choice.randint(1, 30))
            server.kill()
            writing.join()
            hear(stream, heard, WRITES)  # what was on its way
        server.start()
    with EventStream(server.port, "/place.json", parser) as stream:
        put(server, "/place/number", "end")
        while heard[-1].data != '{"path":"/number","data":"end"}':
            hear(stream, heard, 1)
    first, *numbers, _ = [event.json["data"] for event in heard if event.name == "put"]
    assert first is None
    assert numbers == sorted(set(numbers))
    assert set(written.acknowledged) <= set(numbers) <= set(range(1, written.last + 1))


@dataclass
class Written:
    """Numbers written one after the other, and those that the server has acknowledged."""

    last: int = 0
    acknowledged: list[int] = field(default_factory=list)

    def write_on(self, server: ServerProcess) -> None:
        """Write until the server is gone; of the last number nobody knows."""
        with httpx.Client() as client:
            for _ in range(WRITES):
                self.last += 1
                try:
                    client.put(f"{server.url}/place/number.json", json=self.last)
                except httpx.HTTPError:
                    return
                self.acknowledged.append(self.last)


def hear(stream: EventStream, heard: list[Event], most: int) -> None:
    """Hear so many events, or fewer when the stream ends."""
    for _ in range(most):
        event = stream.next()
        if event is None:
            return
        heard.append(event)
