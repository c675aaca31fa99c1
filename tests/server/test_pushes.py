from typing import Any

import pytest

from tests.wire.dialogue import server_messages
from treedb.paths.path import Path
from treedb.server.pushes import delivery_frames
from treedb.sync.delivery import Change, Delivery, Merge, Overwrite

PLACE = Path(("rooms",))


@pytest.mark.parametrize(
    "change, content",
    [
        (Overwrite(PLACE, None), {"a": "d", "b": {"p": "rooms", "d": None}}),
        (
            Overwrite(Path(("rooms", "x")), {".priority": 1, "a": 2}),
            {"a": "d", "b": {"p": "rooms/x", "d": {".priority": 1, "a": 2}}},
        ),
        (
            Merge(PLACE, ((("x", "y"), 1), (("z",), None), (("x", ".priority"), "p"))),
            {"a": "m", "b": {"p": "rooms", "d": {"x/y": 1, "z": None, "x/.priority": "p"}}},
        ),
    ],
)
def test_a_delivery_becomes_one_push(change: Change, content: Any) -> None:
    ready = delivery_frames(Delivery(PLACE, change, 7), None)
    assert server_messages(ready) == [{"t": "d", "d": content}]


def test_a_large_delivery_is_segmented() -> None:
    ready = delivery_frames(Delivery(PLACE, Overwrite(PLACE, "😀" * 50_000), 7), None)
    assert server_messages(ready)[0]["d"]["b"]["d"] == "😀" * 50_000


def test_a_tag_is_told_with_the_change_which_is_made_json_once() -> None:
    delivery = Delivery(PLACE, Overwrite(PLACE, 5), 7)
    plain, one, other = (delivery_frames(delivery, tag) for tag in (None, 1, 22))
    bodies = [server_messages(ready)[0]["d"]["b"] for ready in (plain, one, other)]
    assert bodies == [{"p": "rooms", "d": 5, **tag} for tag in ({}, {"t": 1}, {"t": 22})]
    assert delivery_frames(delivery, 22) is other
