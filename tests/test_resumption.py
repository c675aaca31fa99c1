"""What a listener missed: which commits are told, how they are cut, and what nobody may know."""

from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.listeners import Unheard
from treedb import resumption
from treedb.auth.identity import ADMIN, Auth
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import ROOT, Path
from treedb.resumption import Permission, deliveries_of, entries_since, told_of
from treedb.rules.authority import NOBODY, Authority, Caller
from treedb.rules.cache import ruleset_of
from treedb.store.journal import JournalEntry
from treedb.store.reading import end_of
from treedb.store.store import Store
from treedb.sync.delivery import Change, Delivery, Merge, Overwrite, Watch
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
MARY = Caller(Auth("mchen", {}, is_admin=False, expires_at_ms=None))
ADMINISTRATOR = Caller(ADMIN)
ROOM = Path(("rooms", "a"))
NAME = ROOM.child("name")
RULES = """{"rules": {
  "rooms": {"$room": {".read": "root.child('members').child($room).child(auth.uid).exists()"}},
  "open": {".read": true, "late": {".read": "now > 5"}},
  "late": {".read": "now > 5"},
  "state": {".read": "data.child('public').val() == true"}
}}"""
TREE: Value = {"members": {"a": {"mchen": True}}, "state": {"public": True}}


def at(*keys: str) -> Path:
    return Path(keys)


def commit(revision: int, *changes: tuple[Path, Value], rules: str | None = None) -> Commit:
    return Commit(revision, 1000 + revision, Patch(changes), None, None, rules)


def store_of(folder: FilePath, *commits: Commit) -> Store:
    store = Store.open(folder, LIMITS)
    for each in commits:
        with store.transaction() as transaction:
            transaction.apply(each)
            transaction.commit()
    return store


def entries_of(store: Store, since: Bookmark) -> list[JournalEntry] | None:
    with store.snapshot() as snapshot:
        return end_of(entries_since(snapshot.journal, since))


def permission_of(folder: FilePath, place: Path, caller: Caller) -> Permission:
    """Return the permission that a caller has in TREE by RULES."""
    store = store_of(folder, commit(1, (ROOT, TREE)))
    authority = Authority.of(ruleset_of(RULES), counting=False)
    with store.snapshot() as snapshot:
        depends_on = authority.permit_read(place, snapshot.tree, caller, 1000)
    store.close()
    return Permission.of(place, caller, authority.ruleset, depends_on)


# Which commits


def test_the_commits_after_a_bookmark_are_read(tmp_path: FilePath) -> None:
    store = store_of(tmp_path, *(commit(number, (ROOM, number)) for number in range(1, 5)))
    for since, revisions in (
        (BEGINNING, [1, 2, 3, 4]),
        (Bookmark(2, 1002), [3, 4]),
        (Bookmark(4, 1004), []),
        (Bookmark(2, 1003), None),
        (Bookmark(5, 1005), None),
    ):
        found = entries_of(store, since)
        assert (None if found is None else [entry.revision for entry in found]) == revisions
    store.close()


@pytest.mark.parametrize(("name", "most"), [("MOST_COMMITS", 3), ("MOST_BYTES", 300)])
def test_too_many_are_not(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(resumption, name, most)
    store = store_of(tmp_path, *(commit(number, (ROOM, "x" * 80)) for number in range(1, 5)))
    assert entries_of(store, BEGINNING) is None
    assert entries_of(store, Bookmark(2, 1002)) is not None
    store.close()


def test_many_are_read_in_slices(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumption, "SLICE_ENTRIES", 2)
    store = store_of(tmp_path, *(commit(number, (ROOM, number)) for number in range(1, 6)))
    with store.snapshot() as snapshot:
        assert len(list(entries_since(snapshot.journal, BEGINNING))) == 2
    store.close()


# How they are cut


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([(ROOT, {"rooms": {"a": {"name": "A"}}})], Overwrite(ROOM, {"name": "A"})),
        ([(at("rooms"), None)], Overwrite(ROOM, None)),
        ([(ROOM, 5)], Overwrite(ROOM, 5)),
        ([(NAME, "A")], Overwrite(NAME, "A")),
        ([(NAME, "A"), (at("users"), 1)], Overwrite(NAME, "A")),
        ([(NAME, "A"), (ROOM.child("x"), 1)], Merge(ROOM, ((("name",), "A"), (("x",), 1)))),
        ([(at("rooms", "b"), 5)], None),
        ([], None),
    ],
)
def test_a_commit_is_cut_to_the_place(
    changes: list[tuple[Path, Value]], told: Change | None
) -> None:
    found = list(deliveries_of(ROOM, Unheard(), [commit(7, *changes)]))
    assert found == ([] if told is None else [Delivery(ROOM, told, 7)])
    assert [each.bookmark for each in found] == [Bookmark(7, 1007)] * len(found)


# What may be told


UNCHANGED = commit(2, (NAME, "A"))
OTHER_RULES = commit(3, rules=RULES)
JOINED = commit(3, (at("members", "a", "mchen"), True))
ALL_MEMBERS = commit(3, (at("members"), {"a": {"mchen": True}}))
OTHER_MEMBER = commit(3, (at("members", "b"), {"mchen": True}))
MADE_PUBLIC = commit(3, (at("state", "public"), True))
WRITTEN = commit(3, (at("state", "x"), 1))


@pytest.mark.parametrize(
    ("place", "caller", "between", "stood"),
    [
        (ROOM, MARY, UNCHANGED, True),
        (ROOM, MARY, OTHER_RULES, False),
        (ROOM, MARY, JOINED, False),
        (ROOM, MARY, ALL_MEMBERS, False),
        (ROOM, MARY, OTHER_MEMBER, True),
        (ROOM, ADMINISTRATOR, OTHER_RULES, True),
        (ROOM, ADMINISTRATOR, JOINED, True),
        (at("open"), NOBODY, UNCHANGED, True),
        (at("open"), NOBODY, OTHER_RULES, False),
        (at("open", "late"), NOBODY, UNCHANGED, False),  # a rule on the way looks at the time
        (at("late"), NOBODY, UNCHANGED, False),
        (at("late"), ADMINISTRATOR, UNCHANGED, True),
        (at("state"), NOBODY, MADE_PUBLIC, False),
        (at("state"), NOBODY, WRITTEN, True),
    ],
)
def test_a_permission_stood_where_nothing_it_stands_on_has_changed(
    tmp_path: FilePath, place: Path, caller: Caller, between: Commit, stood: bool
) -> None:
    permission = permission_of(tmp_path, place, caller)
    commits = [UNCHANGED, between, commit(4, (place.child("z"), 1))]
    assert permission.stood(Watch(place), Unheard(), commits) is stood


def told(folder: FilePath, *commits: Commit) -> list[bytes] | None:
    """Return what commits 1, 2, ... come to for Mary at the room, each as its revision."""
    permission = permission_of(folder / "asked", ROOM, MARY)
    numbered = (replace(each, revision=number) for number, each in enumerate(commits, start=1))
    store = store_of(folder / "told", *numbered)
    entries = entries_of(store, BEGINNING)
    store.close()
    assert entries is not None
    return told_of(Watch(ROOM), Unheard(), entries, permission, lambda each: b"%d" % each.revision)


def test_what_is_told_is_encoded_in_order(tmp_path: FilePath) -> None:
    elsewhere = commit(3, (at("users"), 1))
    assert told(tmp_path, UNCHANGED, elsewhere, commit(4, (ROOM, 1))) == [b"1", b"3"]


def test_nothing_is_told_on_a_permission_that_may_be_new(tmp_path: FilePath) -> None:
    assert told(tmp_path, UNCHANGED, JOINED) is None


def test_that_nothing_happened_may_always_be_told(tmp_path: FilePath) -> None:
    assert told(tmp_path, OTHER_RULES, commit(4, (at("users"), 1)), JOINED) == []
