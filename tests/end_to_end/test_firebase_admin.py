"""The PyPI package `firebase-admin`, unmodified, pointed here as one points it at the emulator."""

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import firebase_admin
import httpx
import pytest
from firebase_admin import db
from firebase_admin.exceptions import InvalidArgumentError, UnauthenticatedError

from tests.server_process import ServerProcess

OWN_RULES = {
    "bound": {"$uid": {".read": "auth.uid == $uid", ".write": "auth.uid == $uid"}},
    "dinosaurs": {".indexOn": ["height", "dimensions/length"]},
    "scores": {".indexOn": ".value"},
}
DINOSAURS = {
    "bruhathkayosaurus": {"height": 25, "dimensions": {"length": 44}},
    "lambeosaurus": {"height": 2.1, "dimensions": {"length": 12.5}},
    "linhenykus": {"height": 0.6, "dimensions": {"length": 1}},
    "pterodactyl": {"height": 0.6, "dimensions": {"length": 0.8}},
    "stegosaurus": {"height": 4, "dimensions": {"length": 9}},
    "triceratops": {"height": 3, "dimensions": {"length": 8}},
}
SCORES = {"bruhathkayosaurus": 55, "lambeosaurus": 21, "linhenykus": 80, "pterodactyl": 93}
OpenApp = Callable[..., firebase_admin.App]


@pytest.fixture
def open_app(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenApp]:
    """Open apps with options of their own, in a namespace whose rules let nobody do much."""
    monkeypatch.setenv("FIREBASE_DATABASE_EMULATOR_HOST", server.address)
    rules = httpx.put(
        f"{server.url}/.settings/rules.json?ns=admin",
        json={"rules": OWN_RULES},
        headers={"Authorization": "Bearer owner"},
    )
    assert rules.status_code == 200, rules.text
    opened: list[firebase_admin.App] = []

    def open_one(**options: Any) -> firebase_admin.App:
        url = {"databaseURL": "https://admin.firebaseio.com"}
        app = firebase_admin.initialize_app(options=url | options, name=f"app-{len(opened)}")
        opened.append(app)
        return app

    yield open_one
    for app in opened:
        firebase_admin.delete_app(app)


@pytest.fixture
def app(open_app: OpenApp) -> firebase_admin.App:
    return open_app()


def test_it_sets_and_gets(app: firebase_admin.App) -> None:
    users = db.reference("users", app)
    users.set({"mchen": {"name": "Mary Chen", "age": 33}})
    assert users.get() == {"mchen": {"name": "Mary Chen", "age": 33}}
    assert users.get(shallow=True) == {"mchen": True}
    assert users.child("mchen/name").get() == "Mary Chen"
    assert db.reference("nobody", app).get() is None


def test_it_updates_several_places_at_once(app: firebase_admin.App) -> None:
    place = db.reference("groups", app)
    place.set({"alpha": {"open": True}, "beta": {"open": True}})
    place.update({"alpha/open": False, "beta": None, "gamma/open": True})
    assert place.get() == {"alpha": {"open": False}, "gamma": {"open": True}}


def test_it_pushes_in_order(app: firebase_admin.App) -> None:
    place = db.reference("messages", app)
    first, second = place.push("hello").key, place.push("again").key
    assert first < second
    assert place.get() == {first: "hello", second: "again"}


def test_it_deletes(app: firebase_admin.App) -> None:
    place = db.reference("passing", app)
    place.set(1)
    place.delete()
    assert place.get() is None


def test_it_gets_lists_as_lists(app: firebase_admin.App) -> None:
    place = db.reference("list", app)
    place.set(["a", "b", "c"])
    assert place.get() == ["a", "b", "c"]


def test_it_is_told_what_was_wrong(app: firebase_admin.App) -> None:
    with pytest.raises(InvalidArgumentError, match="Invalid data"):
        db.reference("wrong", app).set({"a.b": 1})


def test_its_transactions_race_and_none_is_lost(app: firebase_admin.App) -> None:
    counter = db.reference("counter", app)
    counter.set(0)

    def count(_: int) -> None:
        for _ in range(5):
            counter.transaction(lambda value: (value or 0) + 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    assert counter.get() == 20


def test_it_reads_and_writes_by_etag(app: firebase_admin.App) -> None:
    place = db.reference("tagged", app)
    assert place.get(etag=True) == (None, "null_etag")
    place.set({"a": 1})
    value, tag = place.get(etag=True)
    assert value == {"a": 1}
    assert place.get_if_changed(tag) == (False, None, None)
    assert place.set_if_unchanged("null_etag", 5) == (False, {"a": 1}, tag)
    assert place.set_if_unchanged(tag, 5)[0] is True
    assert place.get() == 5


# The SDK closes a stream under the thread that reads it, which then fails in `http.client`.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_its_listener_hears_the_value_and_every_change(app: firebase_admin.App) -> None:
    place = db.reference("streamed", app)
    place.set({"a": 1})
    heard: queue.SimpleQueue[tuple[str, str, Any]] = queue.SimpleQueue()
    registration = place.listen(lambda event: heard.put((event.event_type, event.path, event.data)))
    assert heard.get(timeout=20) == ("put", "/", {"a": 1})
    place.child("b").set("ü")
    assert heard.get(timeout=20) == ("put", "/b", "ü")
    place.update({"a": None, "c/d": 2})
    assert heard.get(timeout=20) == ("patch", "/", {"a": None, "c/d": 2})
    closing = threading.Thread(target=registration.close)  # it waits for one event more
    closing.start()
    place.child("e").set(1)
    closing.join(timeout=20)
    assert not closing.is_alive()


def test_an_override_is_bound_by_the_rules(open_app: OpenApp, app: firebase_admin.App) -> None:
    ann = open_app(databaseAuthVariableOverride={"uid": "ann"})
    db.reference("bound/ann", ann).set("hers")
    assert db.reference("bound/ann", ann).get() == "hers"
    with pytest.raises(UnauthenticatedError, match="Permission denied"):
        db.reference("bound/bob", ann).set(1)
    with pytest.raises(UnauthenticatedError, match="Permission denied"):
        db.reference("users", ann).get()
    assert db.reference("bound", app).get() == {"ann": "hers"}


def test_an_override_of_nothing_is_nobody(open_app: OpenApp) -> None:
    nobody = open_app(databaseAuthVariableOverride=None)
    place = db.reference("bound/ann", nobody)
    with pytest.raises(UnauthenticatedError, match="Permission denied"):
        place.get()
    with pytest.raises(UnauthenticatedError, match="Permission denied"):
        place.set(1)


BIGGEST, SMALLEST = ["bruhathkayosaurus"], ["linhenykus", "pterodactyl"]
BY_CHILD_OR_KEY: list[tuple[Callable[[db.Reference], db.Query], list[str]]] = [
    (lambda at: at.order_by_child("height").limit_to_last(2), ["stegosaurus", *BIGGEST]),
    (lambda at: at.order_by_child("height").limit_to_first(2), SMALLEST),
    (lambda at: at.order_by_child("height").equal_to(0.6), SMALLEST),
    (lambda at: at.order_by_child("height").start_at(3).end_at(4), ["triceratops", "stegosaurus"]),
    (lambda at: at.order_by_child("dimensions/length").end_at(1), SMALLEST[::-1]),
    (lambda at: at.order_by_child("dimensions/length").start_at(12.6), BIGGEST),
    (lambda at: at.order_by_key().start_at("stego").limit_to_first(1), ["stegosaurus"]),
    (lambda at: at.order_by_key().end_at("lambeosaurus").limit_to_last(1), ["lambeosaurus"]),
    (lambda at: at.order_by_key().equal_to("triceratops"), ["triceratops"]),
]


@pytest.mark.parametrize("ask, keys", BY_CHILD_OR_KEY)
def test_it_queries_by_child_and_key(
    app: firebase_admin.App, ask: Callable[[db.Reference], db.Query], keys: list[str]
) -> None:
    place = db.reference("dinosaurs", app)
    place.set(DINOSAURS)
    found = ask(place).get()
    assert list(found) == keys
    assert dict(found) == {key: DINOSAURS[key] for key in keys}


BY_VALUE: list[tuple[Callable[[db.Reference], db.Query], list[str]]] = [
    (lambda at: at.order_by_value().limit_to_last(2), ["linhenykus", "pterodactyl"]),
    (lambda at: at.order_by_value().start_at(22).limit_to_first(1), ["bruhathkayosaurus"]),
    (lambda at: at.order_by_value().end_at(60), ["lambeosaurus", "bruhathkayosaurus"]),
    (lambda at: at.order_by_value().equal_to(93), ["pterodactyl"]),
]


@pytest.mark.parametrize("ask, keys", BY_VALUE)
def test_it_queries_by_value(
    app: firebase_admin.App, ask: Callable[[db.Reference], db.Query], keys: list[str]
) -> None:
    place = db.reference("scores", app)
    place.set(SCORES)
    found = ask(place).get()
    assert list(found) == keys
    assert dict(found) == {key: SCORES[key] for key in keys}


def test_it_finds_nothing_where_nothing_is_in_range(app: firebase_admin.App) -> None:
    place = db.reference("dinosaurs", app)
    place.set(DINOSAURS)
    assert not place.order_by_key().start_at("u").get()
    assert not place.order_by_child("height").equal_to("tall").get()


def test_it_is_told_which_index_is_missing(app: firebase_admin.App) -> None:
    place = db.reference("dinosaurs", app)
    place.set(DINOSAURS)
    missing = 'Index not defined, add ".indexOn": "weight", for path "/dinosaurs", to the rules'
    with pytest.raises(InvalidArgumentError) as caught:
        place.order_by_child("weight").limit_to_first(1).get()
    assert missing in str(caught.value)
