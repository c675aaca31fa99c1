"""What a window needs is read as it was at its commit, or not at all."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TypeVar

import pytest

from tests.follower_world import LIMITS
from tests.listeners import Unheard
from treedb.errors import TreeError
from treedb.paths.path import Path
from treedb.store.index_definitions import IndexPlace
from treedb.store.reading import end_of
from treedb.store.store import Store
from treedb.sync.delivery import Delivery, Overwrite
from treedb.sync.view import Member, View
from treedb.sync.window import Keys
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, Bound, by_child
from treedb.tree.values import Value
from treedb.window_upkeep import Published, WindowUpkeep

LIST = Path(("list",))
LAST = Query(KEY, limit=2, keeps_last=True)
BY_N = Query(by_child("n"), limit=2, keeps_last=True)
Result = TypeVar("Result")


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    opened = Store.open(tmp_path / "db", LIMITS, fsync=False)
    yield opened
    opened.close()


def write(store: Store, *changes: tuple[str, Value]) -> Commit:
    with store.transaction() as transaction:
        revision = transaction.revision + 1
        patch = Patch.of((Path.parse(place), value) for place, value in changes)
        commit = Commit(revision, 0, patch, None, None)
        transaction.apply(commit)
        transaction.commit()
    return commit


def a_view(store: Store, query: Query) -> View:
    view, listener = View(LIST, query), Unheard()
    with store.snapshot() as snapshot:
        view.members[listener, 1] = Member(listener, 1, snapshot.revision)
        value = snapshot.tree.get(LIST)
        assert isinstance(value, dict)
        assert view.begin(query.select(value.items()), snapshot.revision)
    return view


def refuse(view: View, error: TreeError) -> None:
    raise AssertionError(f"{view.place} was given up: {error}")


UPKEEP = WindowUpkeep(LIMITS, refuse)


def learnt(store: Store, view: View, commits: list[Commit], index: int = 0) -> Delivery | None:
    """Let a view learn of a commit of a batch that ends with the store as it is."""
    commit = commits[index]
    changes: list[tuple[Keys, Value]] = [
        (LIST.relative(path), value) for path, value in commit.patch.changes if LIST.contains(path)
    ]
    with store.snapshot() as snapshot:
        published = Published(snapshot, commits)
        return end_of(UPKEEP.learn(view, changes, commit.revision, published))


def test_a_window_is_filled_up_from_the_batch_s_snapshot(store: Store) -> None:
    write(store, ("/list", {"a": 1, "b": 2, "c": 3}))
    view = a_view(store, LAST)
    told = learnt(store, view, [write(store, ("/list/c", None))])
    assert told is not None
    assert told.change.path == LIST
    assert view.window is not None
    assert view.window.keys() == {"a", "b"}


def test_later_commits_elsewhere_do_not_matter(store: Store) -> None:
    write(store, ("/list", {"a": 1, "b": 2, "c": 3}))
    view = a_view(store, LAST)
    commits = [write(store, ("/list/c", None)), write(store, ("/other", 1))]
    assert learnt(store, view, commits) is not None
    assert view.is_settled


@pytest.mark.parametrize("later", ["/list/a", "/list", "/"])
def test_what_a_later_commit_touched_is_not_read_for_an_earlier_one(
    store: Store, later: str
) -> None:
    write(store, ("/list", {"a": 1, "b": 2, "c": 3}))
    view = a_view(store, LAST)
    commits = [write(store, ("/list/c", None)), write(store, (later, {"list": {"a": 5}}))]
    assert learnt(store, view, commits) is None
    assert view.is_to_be_read


def test_without_the_batch_s_own_snapshot_nothing_is_read(store: Store) -> None:
    write(store, ("/list", {"a": 1, "b": 2, "c": 3}))
    view = a_view(store, LAST)
    commit = write(store, ("/list/c", None))
    write(store, ("/list/a", 7))
    assert learnt(store, view, [commit]) is None
    assert view.is_to_be_read
    missing = Published(None, [commit])
    again = a_view(store, LAST)
    assert end_of(UPKEEP.learn(again, [(("b",), None)], 9, missing)) is None
    assert again.is_to_be_read


def test_without_an_index_a_list_is_not_searched_while_others_wait(store: Store) -> None:
    write(store, ("/list", {key: {"n": number} for number, key in enumerate("abc")}))
    view = a_view(store, BY_N)
    assert learnt(store, view, [write(store, ("/list/c", None))]) is None
    assert view.is_to_be_read
    with store.transaction() as transaction:
        transaction.declare_indexes([IndexPlace(("list",), "n")])
        while not transaction.build_indexes(100).is_last:
            pass
        transaction.commit()
    indexed = a_view(store, BY_N)
    assert learnt(store, indexed, [write(store, ("/list/b", None))]) is not None


def test_of_a_child_that_stays_nothing_is_read_but_where_it_stands(store: Store) -> None:
    many: dict[str, Value] = {str(number): "x" * 100 for number in range(1000)}
    write(store, ("/list", {"a": many, "b": many, "c": many}))
    view = a_view(store, LAST)
    commit = write(store, ("/list/c/5", None))
    with store.snapshot() as snapshot:
        published = Published(snapshot, [commit])
        steps = UPKEEP.learn(view, [(("c", "5"), None)], commit.revision, published)
        told = end_of(steps)
        assert snapshot.tree.rows.reads < 10
    assert told == Delivery(LIST, Overwrite(LIST.join(("c", "5")), None), commit.revision, LAST)


def test_a_window_that_grows_beyond_the_limit_of_results_is_given_up(store: Store) -> None:
    write(store, ("/list", {"a": 1, "b": 1}))
    given_up: list[View] = []
    small = WindowUpkeep(
        replace(LIMITS, query_results=2), lambda view, error: given_up.append(view)
    )
    view = a_view(store, Query(KEY, Bound("a")))
    for number, key in enumerate("bc", 2):
        assert given_up == []
        end_of(small.learn(view, [((key,), 2)], number, Published(None, [])))
    assert given_up == [view]


def test_a_window_that_holds_more_than_may_be_read_is_given_up(store: Store) -> None:
    write(store, ("/list", dict.fromkeys("abcdef", "x" * 500)))
    given_up: list[View] = []
    small = WindowUpkeep(
        replace(LIMITS, answer_bytes=100), lambda view, error: given_up.append(view)
    )
    view = a_view(store, LAST)
    commit = write(store, ("/list/f", None))
    with store.snapshot() as snapshot:
        published = Published(snapshot, [commit])
        assert end_of(small.learn(view, [(("f",), None)], commit.revision, published)) is None
        assert end_of(small.read(view, snapshot)) is None
    assert given_up == [view, view]
