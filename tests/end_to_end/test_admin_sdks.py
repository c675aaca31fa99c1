"""Both admin SDKs, unmodified, against development mode and against a server with real tokens.

Over http they always say that they are the emulator's owner. With a token of their own they speak
https, as to a server in production.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import firebase_admin
import google.auth.credentials
import httpx
import pytest
from firebase_admin import credentials, db
from firebase_admin.exceptions import UnauthenticatedError

from tests.auth.minting import TABLE, mint
from tests.end_to_end.tls_front import tls_front
from tests.server_process import ServerProcess

RULES = {
    "rules": {
        "list": {".indexOn": ["n", ".value"]},
        "own": {"$uid": {".read": "auth.uid == $uid", ".write": "auth.uid == $uid"}},
    }
}
ADMIN_TOKEN = TABLE["settings"]["admin_token"]
AUTH_SECRET = TABLE["settings"]["auth_secret"]
RunNode = Callable[..., str]


class Token(google.auth.credentials.Credentials):
    """A token that never ends; the SDK asks for it anew after every 401."""

    def __init__(self, token: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.token = token

    def refresh(self, _request: object) -> None:
        """Keep the token."""


class Bearer(credentials.Base):  # type: ignore[misc]
    """Where the SDK takes its token from."""

    def __init__(self, token: str) -> None:
        self._token = Token(token)

    def get_credential(self) -> Token:
        return self._token


@dataclass(frozen=True, slots=True)
class World:
    """A server as an administrator reaches it: the URL for the SDKs, and their token."""

    server: ServerProcess
    url: str
    token: str

    def open(self, **options: Any) -> firebase_admin.App:
        name = f"app-{time.monotonic_ns()}"
        options = {"databaseURL": self.url, **options}
        return firebase_admin.initialize_app(Bearer(self.token), options, name)


@pytest.fixture(scope="module")
def development(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(ServerProcess(tmp_path_factory.mktemp("development"))) as server:
        world = World(server, f"{server.url}?ns=default", "owner")
        put_rules(world)
        yield world


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("production")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREEDB_ADMIN_TOKEN", ADMIN_TOKEN)
        patch.setenv("TREEDB_AUTH_SECRET", AUTH_SECRET)
        server = ServerProcess(folder, ("--no-dev",))
        with serving(server), tls_front(server.port, folder) as front:
            patch.setenv("REQUESTS_CA_BUNDLE", str(front.certificate))
            patch.setenv("NODE_EXTRA_CA_CERTS", str(front.certificate))
            world = World(server, front.url, ADMIN_TOKEN)
            put_rules(world)
            yield world


@contextmanager
def serving(server: ServerProcess) -> Iterator[ServerProcess]:
    server.start()
    yield server
    server.stop()
    server.check_log()


def put_rules(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.token}"}
    url = f"{world.server.url}/.settings/rules.json"
    rules = httpx.put(url, json=RULES, headers=headers)
    assert rules.status_code == 200, rules.text


@pytest.fixture(params=["development", "production"])
def world(request: pytest.FixtureRequest) -> World:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, World)
    return found


@pytest.fixture
def app(world: World) -> Iterator[firebase_admin.App]:
    opened = world.open()
    yield opened
    firebase_admin.delete_app(opened)


# Python


def test_python_creates_reads_changes_and_deletes(app: firebase_admin.App) -> None:
    place = db.reference("python/users", app)
    place.set({"ann": {"name": "Ann 👩‍🚀", "age": 33}, "list": ["a", "b"]})
    place.update({"ann/age": 34, "bob/name": "Bob", "list": None})
    key = place.child("log").push({"at": {".sv": "timestamp"}}).key
    found = place.get()
    assert abs(found["log"][key].pop("at") / 1000 - time.time()) < 60
    assert found == {
        "ann": {"name": "Ann 👩‍🚀", "age": 34},
        "bob": {"name": "Bob"},
        "log": {key: {}},
    }
    assert place.get(shallow=True) == {"ann": True, "bob": True, "log": True}
    place.delete()
    assert place.get() is None


def test_python_queries(app: firebase_admin.App) -> None:
    place = db.reference("list", app)
    place.set({"a": {"n": 3}, "b": {"n": 1}, "c": {"n": 2}, "d": {"n": "text"}})

    def by_n() -> db.Query:
        return place.order_by_child("n")

    assert list(by_n().get()) == ["b", "c", "a", "d"]
    assert list(by_n().start_at(2).limit_to_first(2).get()) == ["c", "a"]
    assert list(by_n().end_at(2).limit_to_last(1).get()) == ["c"]
    assert list(by_n().equal_to("text").get()) == ["d"]
    assert list(place.order_by_key().start_at("b").end_at("c").get()) == ["b", "c"]
    place.set({"x": 3, "y": 1, "z": 2})
    assert list(place.order_by_value().limit_to_last(2).get()) == ["z", "x"]


def test_python_transactions_go_by_etag(app: firebase_admin.App) -> None:
    counter = db.reference("python/counter", app)
    counter.set(0)

    def count(_: int) -> None:
        for _ in range(5):
            counter.transaction(lambda value: (value or 0) + 1)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(count, range(3)))
    value, tag = counter.get(etag=True)
    assert value == 15
    assert counter.set_if_unchanged("null_etag", 1) == (False, 15, tag)
    assert counter.get_if_changed(tag) == (False, None, None)


# The SDK closes a stream under the thread that reads it, which then fails in `http.client`.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_python_listens(app: firebase_admin.App) -> None:
    place = db.reference("python/streamed", app)
    place.set({"a": 1})
    heard: queue.SimpleQueue[tuple[str, str, Any]] = queue.SimpleQueue()
    registration = place.listen(lambda event: heard.put((event.event_type, event.path, event.data)))
    assert heard.get(timeout=20) == ("put", "/", {"a": 1})
    place.update({"a": None, "c/d": "ü"})
    assert heard.get(timeout=20) == ("patch", "/", {"a": None, "c/d": "ü"})
    closing = threading.Thread(target=registration.close)  # it waits for one event more
    closing.start()
    place.child("e").set(1)
    closing.join(timeout=20)
    assert not closing.is_alive()


def test_python_may_act_as_a_user_whom_the_rules_bind(world: World) -> None:
    ann = world.open(databaseAuthVariableOverride={"uid": "ann"})
    try:
        db.reference("own/ann", ann).set("hers")
        assert db.reference("own/ann", ann).get() == "hers"
        with pytest.raises(UnauthenticatedError, match="Permission denied"):
            db.reference("own/bob", ann).set(1)
    finally:
        firebase_admin.delete_app(ann)


def test_a_wrong_token_is_nobodys(production: World) -> None:
    stranger = replace(production, token="x" * len(ADMIN_TOKEN)).open()
    try:
        with pytest.raises(UnauthenticatedError, match="Could not parse auth token"):
            db.reference("list", stranger).get()
    finally:
        firebase_admin.delete_app(stranger)


# Node


def test_node(world: World, run_node: RunNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_URL", world.url)
    monkeypatch.setenv("ADMIN_TOKEN", world.token)
    run_node(world.server, "--test", "scenarios/admin_sdk.test.mjs")


# Users with tokens that the server's secret signs.


def test_users_with_signed_tokens(
    production: World, run_node: RunNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = int(time.time())
    forged = {"secret": "another-secret-of-40-bytes-0123456789-01"}
    monkeypatch.setenv("TOKEN_OF_ANN", mint({"claims": {"sub": "ann"}}, now_s))
    monkeypatch.setenv("TOKEN_FORGED", mint({"claims": {"sub": "ann"}, "signed": forged}, now_s))
    monkeypatch.setenv("TOKEN_OLD", mint({"claims": {"sub": "ann", "exp": 1}}, now_s))
    run_node(production.server, "--test", "scenarios/signed_tokens.test.mjs")
