import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.server_process import wait_until
from treedb import __version__
from treedb.cli.serve import check_settings, greeting, is_loopback, listen_at, url_of
from treedb.config import Settings
from treedb.errors import SettingsError, Unavailable

ROOT = Path(__file__).parent.parent.parent


class Serving:
    """`treedb serve` in a folder, and what it prints."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.log = folder / "log"
        command = [sys.executable, "-m", "treedb", "serve", "--dev", *arguments]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
                stdout=log,
                stderr=log,
            )

    @property
    def printed(self) -> str:
        return self.log.read_text()

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.printed, 30, f"{text!r} is printed")

    @property
    def url(self) -> str:
        return next(word for word in self.printed.split() if word.startswith("http://"))


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    started = Serving(tmp_path, "--port", "0", "--unsafe-no-fsync")
    started.wait_for("Try:")
    yield started
    started.process.kill()
    started.process.wait()


def test_it_says_where_it_is_and_answers_there(serving: Serving) -> None:
    with urlopen(f"{serving.url}/.health") as answer:
        assert answer.status == 200


def test_it_warns_when_writes_are_not_flushed(serving: Serving) -> None:
    assert "warning: with --unsafe-no-fsync a power cut can lose writes" in serving.printed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(serving: Serving, number: signal.Signals) -> None:
    with urlopen(f"{serving.url}/v.json") as answer:
        assert answer.read() == b"null"
    serving.process.send_signal(number)
    assert serving.process.wait(15) == 0
    assert "Traceback" not in serving.printed


def test_a_connection_that_stays_open_does_not_keep_it_from_ending(serving: Serving) -> None:
    port = int(serving.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as idle:
        idle.sendall(b"GET /.health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(12) == b"HTTP/1.1 200"
        serving.process.terminate()
        assert serving.process.wait(15) == 0


def test_a_taken_port_is_told_in_one_sentence(tmp_path: Path, serving: Serving) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    port = serving.url.rsplit(":", 1)[1]
    second = Serving(folder, "--port", port)
    assert second.process.wait(30) == 1
    assert second.printed == (
        f"treedb: port {port} on 127.0.0.1 is taken by another program; stop that one, or choose "
        "another port with --port.\n"
    )


# Its parts


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST"])
def test_these_are_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.0.1", "8.8.8.8", "localhost.example", "example", "127.1", ""]
)
def test_these_may_not_be_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_development_mode_on_loopback_may_serve(tmp_path: Path) -> None:
    check_settings(Settings(dev=True, static=tmp_path))


def test_without_development_mode_any_address_may_be_served() -> None:
    check_settings(Settings(host="0.0.0.0"))


def test_localhost_is_listened_to_on_ipv4() -> None:
    with listen_at("localhost", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(SettingsError, match=r"host: no\.such\.host\.invalid is no address"):
        listen_at("no.such.host.invalid", 0)


def test_a_port_that_cannot_be_had_is_named() -> None:
    with pytest.raises(Unavailable, match=r"cannot listen on port 0 of 192\.0\.2\.1"):
        listen_at("192.0.2.1", 0)


def test_an_address_of_version_6_stands_in_brackets() -> None:
    assert url_of("::1", 9000) == "http://[::1]:9000"
    assert url_of("localhost", 1) == "http://localhost:1"


def test_the_greeting_names_commands_to_try() -> None:
    text = greeting(Settings(data=Path("d"), dev=True), "http://127.0.0.1:9000")
    assert f"treedb {__version__} serves d at http://127.0.0.1:9000" in text
    commands = [line.strip() for line in text.splitlines() if "curl" in line]
    assert [shlex.split(command) for command in commands] == [
        ["curl", "-X", "PUT", "-d", '{"name":"Mary Chen"}', "http://127.0.0.1:9000/users/mchen.json"],
        ["curl", "http://127.0.0.1:9000/users.json"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (Settings(dev=True), "(development, no access rules)"),
        (Settings(dev=True, rules=Path("r.json")), "(development, rules: r.json)"),
        (Settings(rules=Path("r.json")), "(rules: r.json)"),
        (Settings(), "(locked: no rules, so that only an administrator may read or write)"),
    ],
)
def test_the_greeting_says_how_the_server_is_guarded(settings: Settings, says: str) -> None:
    assert says in greeting(settings, "http://127.0.0.1:9000")


@pytest.mark.parametrize(
    ("settings", "credential"),
    [
        (Settings(dev=True), ""),
        (Settings(dev=True, rules=Path("r.json")), ' -H "Authorization: Bearer owner"'),
        (
            Settings(data=Path("a b")),
            """ -H "Authorization: Bearer $(cat 'a b/admin.token')\"""",
        ),
        (
            Settings(rules=Path("r.json"), admin_token="s3cret"),
            ' -H "Authorization: Bearer $TREEDB_ADMIN_TOKEN"',
        ),
    ],
)
def test_the_commands_to_try_are_permitted_and_show_no_secret(
    settings: Settings, credential: str
) -> None:
    text = greeting(settings, "http://127.0.0.1:9000")
    assert f"curl{credential} http://127.0.0.1:9000/users.json" in text
    assert "s3cret" not in text


WRONG_SECRETS = [
    (Settings(admin_token="owner"), "admin_token is 'owner', which everybody knows"),
    (Settings(admin_token="a b"), "all of them visible ASCII"),
    (Settings(auth_secret="short"), "auth_secret has 5 bytes, at least 32 are needed"),
]


@pytest.mark.parametrize(("settings", "sentence"), WRONG_SECRETS)
def test_a_secret_that_is_no_good_stops_the_start(settings: Settings, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        check_settings(settings)


def test_the_greeting_names_the_page_when_there_is_one() -> None:
    text = greeting(Settings(static=Path("examples/chat")), "http://127.0.0.1:9000")
    assert "http://127.0.0.1:9000/ in a browser" in text
