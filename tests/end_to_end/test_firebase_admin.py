"""The PyPI package `firebase-admin`, unmodified, pointed here as one points it at the emulator."""

from collections.abc import Iterator

import firebase_admin
import pytest
from firebase_admin import db
from firebase_admin.exceptions import InvalidArgumentError

from tests.server_process import ServerProcess


@pytest.fixture
def app(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[firebase_admin.App]:
    monkeypatch.setenv("FIREBASE_DATABASE_EMULATOR_HOST", server.address)
    made = firebase_admin.initialize_app(options={"databaseURL": "https://admin.firebaseio.com"})
    yield made
    firebase_admin.delete_app(made)


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
