"""The hub finds the views a commit touches, and cuts the commit to each."""

import pytest

from tests.listeners import Recorder
from treedb.paths.path import Path
from treedb.sync.delivery import Change, Delivery, Merge, Overwrite, Watch
from treedb.sync.hub import Hub
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import Bound, by_child
from treedb.tree.values import Value


def path(text: str) -> Path:
    return Path.parse(text, allow_priority=True)


def commit(revision: int, changes: dict[str, Value]) -> Commit:
    patch = Patch.of((path(text), value) for text, value in changes.items())
    return Commit(revision, 0, patch, None, None)


def publish(hub: Hub, revision: int, changes: dict[str, Value]) -> None:
    for view, learnt in hub.touched(commit(revision, changes)):
        delivery = view.learn(learnt, revision)
        assert isinstance(delivery, Delivery)
        for member in view.hand_out(delivery):
            member.deliver(delivery)


LEARNS = [
    ("at the place", "/a", {"/a": 1}, Overwrite(path("/a"), 1)),
    ("below", "/a", {"/a/b/c": 1}, Overwrite(path("/a/b/c"), 1)),
    ("above, cut to the place", "/a/b", {"/a": {"b": {"c": 1}, "d": 2}}, Overwrite(path("/a/b"), {"c": 1})),
    ("above, where nothing is left", "/a/b", {"/a": {"d": 2}}, Overwrite(path("/a/b"), None)),
    ("above, where a leaf is now", "/a/b", {"/a": "leaf"}, Overwrite(path("/a/b"), None)),
    ("the root", "/", {"/a/b": 1}, Overwrite(path("/a/b"), 1)),
    ("from the root", "/a", {"/": {"a": 1}}, Overwrite(path("/a"), 1)),
    ("several places", "/a", {"/a/b": 1, "/a/c/d": 2}, Merge(path("/a"), ((("b",), 1), (("c", "d"), 2)))),
    ("its share of several", "/a", {"/a/b": 1, "/z": 2}, Overwrite(path("/a/b"), 1)),
    ("a priority", "/a", {"/a/b/.priority": 5}, Overwrite(path("/a/b/.priority"), 5)),
]  # fmt: skip


@pytest.mark.parametrize(("place", "changes", "learnt"), [row[1:] for row in LEARNS], ids=[row[0] for row in LEARNS])  # fmt: skip
def test_a_view_learns_its_part(place: str, changes: dict[str, Value], learnt: Change) -> None:
    hub, recorder = Hub(), Recorder()
    hub.join(Watch(path(place)), recorder, 0)
    publish(hub, 1, changes)
    assert recorder.changes == [learnt]


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        ("/a", {"/b": 1}),
        ("/a/b", {"/a/c": 1}),
        ("/a/b", {"/a/bb": 1}),
        ("/a/b", {"/a/.priority": 1}),
    ],
)
def test_a_view_elsewhere_learns_nothing(place: str, changes: dict[str, Value]) -> None:
    hub, recorder = Hub(), Recorder()
    hub.join(Watch(path(place)), recorder, 0)
    publish(hub, 1, changes)
    assert recorder.deliveries == []


def test_commits_up_to_the_joined_revision_are_skipped() -> None:
    hub, recorder = Hub(), Recorder()
    hub.join(Watch(path("/a")), recorder, 2)
    for revision in (1, 2, 3, 4):
        publish(hub, revision, {"/a": revision})
    assert recorder.revisions == [3, 4]


def test_a_held_member_gets_what_waited_in_order_and_then_the_rest_directly() -> None:
    hub, recorder = Hub(), Recorder()
    hub.join(Watch(path("/a")), recorder, 0, held=True)
    publish(hub, 1, {"/a": 1})
    publish(hub, 2, {"/a": 2})
    assert recorder.deliveries == []
    assert [delivery.revision for delivery in hub.release(Watch(path("/a")), recorder)] == [1, 2]
    publish(hub, 3, {"/a": 3})
    assert recorder.revisions == [3]
    assert hub.release(Watch(path("/a")), recorder) == []


def test_all_listeners_of_a_place_share_one_delivery_and_its_encoding() -> None:
    hub = Hub()
    recorders = [Recorder() for _ in range(3)]
    for recorder in recorders:
        hub.join(Watch(path("/a")), recorder, 0)
    publish(hub, 1, {"/a": 1})
    calls: list[int] = []

    def encode() -> bytes:
        calls.append(1)
        return b"text"

    texts = [recorder.deliveries[0].encoded("form", encode) for recorder in recorders]
    assert texts == [b"text"] * 3
    assert len(calls) == 1


def test_who_left_hears_nothing_and_an_empty_view_is_dropped() -> None:
    hub, recorder = Hub(), Recorder()
    hub.join(Watch(path("/a")), recorder, 0)
    hub.leave(Watch(path("/a")), recorder)
    hub.leave(Watch(path("/a")), recorder)
    publish(hub, 1, {"/a": 1})
    assert recorder.deliveries == []
    assert len(hub) == 0


def test_a_listener_that_leaves_during_a_delivery_disturbs_nobody() -> None:
    hub, other = Hub(), Recorder()

    class Leaver(Recorder):
        def deliver(self, delivery: Delivery, tag: int | None) -> None:
            super().deliver(delivery, tag)
            hub.leave(Watch(path("/a")), self)

    leaver = Leaver()
    hub.join(Watch(path("/a")), leaver, 0)
    hub.join(Watch(path("/a")), other, 0)
    publish(hub, 1, {"/a": 1})
    publish(hub, 2, {"/a": 2})
    assert len(leaver.deliveries) == 1
    assert len(other.deliveries) == 2


def test_of_a_thousand_windows_on_a_list_those_are_met_that_a_commit_concerns() -> None:
    hub = Hub()
    for number in range(1000):
        owner = Bound(f"u{number}")
        watch = Watch(path("/list"), Query(by_child("owner"), owner, owner, limit=50), number)
        hub.join(watch, Recorder(), 0)
        view = hub.view(watch)
        assert view is not None
        view.begin([], 0)
        hub.refresh(view)
    concerned = list(hub.touched(commit(1, {"/list/a": {"owner": "u77"}})))
    assert [view.query.low for view, _ in concerned] == [Query(by_child("owner"), Bound("u77")).low]
    assert list(hub.touched(commit(2, {"/list/b": {"owner": "nobody"}}))) == []
