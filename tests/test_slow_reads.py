"""Windows that take long are read a slice at a time, and told of when their snapshot is published."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.follower_world import LIMITS
from tests.listeners import Unheard
from treedb.errors import TreeError
from treedb.paths.path import Path
from treedb.slow_reads import SlowReads
from treedb.store.store import Store
from treedb.sync.view import Member, View
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Chosen, Query
from treedb.tree.query_order import by_child
from treedb.tree.values import Value
from treedb.window_upkeep import WindowUpkeep

LIST = Path(("list",))
LAST = Query(by_child("n"), limit=2, keeps_last=True)
COUNT = 50


class Desk:
    """Slow reads over a list of fifty, ten children in each turn."""

    def __init__(self, folder: FilePath) -> None:
        limits = replace(LIMITS, slice_rows=10, row_bytes=64)
        self.store = Store.open(folder, limits, fsync=False)
        with self.store.transaction() as transaction:
            records: dict[str, Value] = {f"k{number:02}": {"n": number} for number in range(COUNT)}
            transaction.apply(Commit(1, 0, Patch(((LIST, records),)), None, None))
            transaction.commit()
        self.soon: list[Callable[[], None]] = []
        self.ended = 0
        self.given_up: list[View] = []
        upkeep = WindowUpkeep(limits, self._give_up)
        self.reads = SlowReads(self.store, upkeep, self.soon.append, self._count)

    def _count(self) -> None:
        self.ended += 1

    def _give_up(self, view: View, error: TreeError) -> None:
        self.given_up.append(view)

    def view(self) -> View:
        view, listener = View(LIST, LAST), Unheard()
        view.members[listener, 1] = Member(listener, 1, 1)
        return view

    def turns(self) -> int:
        count = 0
        while self.soon:
            self.soon.pop(0)()
            count += 1
        return count


@pytest.fixture
def desk(tmp_path: FilePath) -> Iterator[Desk]:
    opened = Desk(tmp_path / "db")
    yield opened
    opened.reads.close()
    opened.store.close()


def test_a_read_takes_turns_and_ends_with_what_the_query_chooses(desk: Desk) -> None:
    view = desk.view()
    desk.reads.start(view)
    assert desk.turns() >= COUNT // 10
    assert desk.ended
    assert desk.given_up == []
    (done,) = desk.reads.take_done(1)
    assert (done.view, done.revision) == (view, 1)
    assert done.chosen == [("k48", {"n": 48}), ("k49", {"n": 49})]
    assert len(desk.reads) == 0


def test_several_are_read_side_by_side(desk: Desk) -> None:
    for _ in range(3):
        desk.reads.start(desk.view())
    desk.turns()
    assert len(desk.reads.take_done(1)) == 3


def test_a_read_of_what_is_not_published_yet_waits(desk: Desk) -> None:
    desk.reads.start(desk.view())
    desk.turns()
    assert desk.reads.take_done(0) == []
    assert len(desk.reads) == 1
    assert len(desk.reads.take_done(1)) == 1


def test_what_nobody_watches_any_more_is_not_read_on(desk: Desk) -> None:
    view = desk.view()
    desk.reads.start(view)
    view.members.clear()
    assert desk.turns() == 1
    assert (desk.ended, len(desk.reads)) == (0, 0)


def test_a_read_that_fails_is_given_up_and_the_others_go_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = desk.view(), desk.view()
    desk.reads.start(good)
    desk.reads.start(bad)

    def broken() -> Generator[None, None, Chosen | None]:
        yield
        raise ZeroDivisionError

    monkeypatch.setattr(desk.reads._reads[1], "steps", broken())
    desk.turns()
    assert desk.given_up == [bad]
    assert [each.view for each in desk.reads.take_done(1)] == [good]
    assert len(desk.reads) == 0
    assert "ZeroDivisionError" in caplog.text
