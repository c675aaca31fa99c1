"""A view tells who is to hear of a delivery now, and keeps it for those who are held."""

import pytest

from tests.listeners import Unheard
from treedb.paths.path import ROOT, Path
from treedb.sync.delivery import Delivery, Listener, Merge, Overwrite
from treedb.sync.view import Member, View
from treedb.sync.window import Changes, Need
from treedb.tree.query import Query
from treedb.tree.query_order import KEY
from treedb.tree.values import Value


def delivery(revision: int) -> Delivery:
    return Delivery(ROOT, Overwrite(ROOT, revision), revision)


def told(view: View, revision: int) -> list[Listener]:
    return [member.listener for member in view.hand_out(delivery(revision))]


def test_only_members_that_have_not_seen_the_revision_are_told() -> None:
    new, old, held = Unheard(), Unheard(), Unheard()
    view = View(ROOT)
    view.members = {
        (new, None): Member(new, None, 5),
        (old, None): Member(old, None, 9),
        (held, None): Member(held, None, 5, []),
    }
    assert told(view, 9) == [new]
    assert view.members[held, None].held == [delivery(9)]
    assert told(view, 5) == []
    assert told(view, 10) == [new, old]


LIST = Path(("list",))
LAST = Query(KEY, limit=2, keeps_last=True)


def a_window(chosen: list[tuple[str, Value]], *joined_at: int) -> View:
    view = View(LIST, LAST)
    for revision in joined_at:
        listener = Unheard()
        view.members[listener, 1] = Member(listener, 1, revision)
    assert view.begin(chosen, joined_at[0])
    return view


def test_a_view_of_everything_tells_the_change_as_it_is() -> None:
    view = View(LIST)
    assert view.learn([(("a", "n"), 1)], 5) == Delivery(
        LIST, Overwrite(LIST.join(("a", "n")), 1), 5
    )
    several: Changes = ((("a",), 1), (("b",), None))
    assert view.learn(several, 6) == Delivery(LIST, Merge(LIST, several), 6)
    assert view.is_settled


def test_a_window_tells_what_enters_and_leaves_in_one_change() -> None:
    view = a_window([("a", 1), ("b", 2)], 1)
    told = view.learn([(("c",), 3)], 2)
    assert told == Delivery(LIST, Merge(LIST, ((("c",), 3), (("a",), None))), 2, LAST)
    assert view.learn([(("0",), 3)], 3) is None


def test_the_first_read_begins_a_window_and_an_older_one_has_to_be_read_again() -> None:
    view = View(LIST, LAST)
    assert view.begin([("a", 1)], 5)
    assert not view.begin([], 4)
    assert view.begin([("a", 1)], 5)
    assert view.begin([("b", 1)], 9), "the window has heard of all between"
    assert view.window is not None
    assert view.window.keys() == {"a"}


def test_what_is_touched_while_the_window_begins_unsettles_it() -> None:
    view = View(LIST, LAST)
    listener = Unheard()
    view.members[listener, 1] = Member(listener, 1, 5)
    assert view.learn([(("a",), 1)], 5) is None
    assert view.is_settled, "the members have seen that"
    assert view.learn([(("a",), 2)], 6) is None
    assert view.begin([("a", 1)], 5)
    view.start_reading()
    assert view.finish_reading([("a", 2)], 6) == Delivery(
        LIST, Overwrite(LIST.child("a"), 2), 6, LAST
    )
    assert view.is_settled


def test_a_need_that_is_not_filled_unsettles_until_the_reset() -> None:
    view = a_window([("b", 1), ("c", 1)], 1)
    changes: Changes = ((("c",), None),)
    assert isinstance(view.learn(changes, 2), Need)
    view.unsettle(changes, 2)
    assert view.learn([(("d",), 1)], 3) is None, "it waits for the reset"
    assert view.is_to_be_read
    view.start_reading()
    told = view.finish_reading([("b", 1), ("d", 1)], 3)
    assert told == Delivery(LIST, Merge(LIST, ((("d",), 1), (("c",), None))), 3, LAST)


def test_what_is_touched_while_a_window_is_read_is_for_the_next_time() -> None:
    view = a_window([("b", 1), ("c", 1)], 1)
    view.unsettle([(("c",), None)], 2)
    view.start_reading()
    assert view.learn([(("b",), 5)], 4) is None
    told = view.finish_reading([("b", 1)], 3)
    assert told == Delivery(LIST, Overwrite(LIST.child("c"), None), 3, LAST)
    assert view.is_to_be_read
    view.start_reading()
    told = view.finish_reading([("b", 5)], 4)
    assert told == Delivery(LIST, Overwrite(LIST.child("b"), 5), 4, LAST)
    assert view.is_settled


def test_a_read_that_is_given_up_is_still_to_be_made_with_what_was_touched_since() -> None:
    view = a_window([("b", 1), ("c", 1)], 1)
    view.unsettle([(("c",), None)], 2)
    view.start_reading()
    view.learn([(("b",), 5)], 4)
    view.stop_reading()
    assert view.is_to_be_read
    view.start_reading()
    told = view.finish_reading([("b", 5)], 4)
    assert told == Delivery(LIST, Merge(LIST, ((("b",), 5), (("c",), None))), 4, LAST)
    assert view.is_settled


@pytest.mark.parametrize("joined_at, gets_all", [(1, False), (2, True), (3, True), (4, False)])
def test_who_joined_between_makes_a_reset_tell_the_whole(joined_at: int, *, gets_all: bool) -> None:
    view = a_window([("b", 1), ("c", 1)], 1, joined_at)
    view.learn([(("bb",), 1)], 2)
    view.unsettle([(("c",), None)], 2)
    view.start_reading()
    told = view.finish_reading([("b", 1), ("bb", 1)], 4)
    assert told is not None
    assert (told.change == Overwrite(LIST, {"b": 1, "bb": 1})) is gets_all


def test_a_whole_change_needs_nothing_and_a_commit_that_was_seen_tells_nothing() -> None:
    view = a_window([("a", 1)], 5)
    assert view.learn([(("a",), 2)], 5) is None
    whole = Delivery(LIST, Overwrite(LIST, {"x": 1, "y": 1}), 6, LAST)
    assert view.learn([((), {"0": 1, "x": 1, "y": 1})], 6) == whole


PARTS: list[tuple[str, list[tuple[tuple[str, ...], Value]], bool]] = [
    ("a held child and a part of another", [(("b",), None), (("z", "n"), 1)], True),
    ("parts of both", [(("b", "n"), 1), (("z", "n"), 1)], True),
    ("a held child and another as a whole", [(("b",), None), (("z",), {"n": 1})], False),
    ("a part of another alone", [(("z", "n"), 1)], False),
    ("parts of a held one", [(("b", "n"), 1), (("b", "m"), 1)], False),
    ("a held child and a removal in another", [(("b",), None), (("z", "n"), None)], False),
]


@pytest.mark.parametrize(
    "changes, is_whole", [case[1:] for case in PARTS], ids=[c[0] for c in PARTS]
)
def test_what_may_leave_a_fragment_at_its_sender_is_told_as_a_whole(
    changes: list[tuple[tuple[str, ...], Value]], *, is_whole: bool
) -> None:
    view = a_window([("b", {"n": 1}), ("c", {"n": 1})], 1)
    view.learn(changes, 2)
    assert view.is_to_be_read is is_whole
    if is_whole:
        view.start_reading()
        told = view.finish_reading([("c", {"n": 1}), ("z", {"n": 1})], 2)
        assert told == Delivery(LIST, Overwrite(LIST, {"c": {"n": 1}, "z": {"n": 1}}), 2, LAST)
