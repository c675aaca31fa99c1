"""A view tells who is to hear of a delivery now, and keeps it for those who are held."""

from treedb.paths.path import ROOT, Path
from treedb.sync.delivery import Delivery, Overwrite
from treedb.sync.view import Member, View


class Silent:
    def deliver(self, delivery: Delivery) -> None:
        raise AssertionError("a view hands out, it does not deliver")

    def cancel(self, place: Path) -> None:
        raise AssertionError("a view cancels nobody")


def delivery(revision: int) -> Delivery:
    return Delivery(ROOT, Overwrite(ROOT, revision), revision)


def test_only_members_that_have_not_seen_the_revision_are_told() -> None:
    new, old, held = Silent(), Silent(), Silent()
    view = View(ROOT)
    view.members = {new: Member(new, 5), old: Member(old, 9), held: Member(held, 5, [])}
    assert view.hand_out(delivery(9)) == [new]
    assert view.members[held].held == [delivery(9)]
    assert view.hand_out(delivery(5)) == []
    assert view.hand_out(delivery(10)) == [new, old]
