from typing import Any

import pytest

from tests.wire.dialogue import server_messages
from treedb.paths.path import Path
from treedb.server.pushes import encode_delivery
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
    ready = encode_delivery(Delivery(PLACE, change, 7))
    assert server_messages(ready) == [{"t": "d", "d": content}]


def test_a_large_delivery_is_segmented() -> None:
    ready = encode_delivery(Delivery(PLACE, Overwrite(PLACE, "😀" * 50_000), 7))
    assert server_messages(ready)[0]["d"]["b"]["d"] == "😀" * 50_000
