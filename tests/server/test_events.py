"""Events as text: their id first, then what happened."""

import pytest

from treedb.paths.path import ROOT, Path
from treedb.server.events import event_of, first_event, keep_alive, plain_text
from treedb.sync.delivery import Change, Delivery, Merge, Overwrite
from treedb.tree.bookmark import Bookmark
from treedb.tree.forms import Form
from treedb.tree.values import Value

PLACE = Path(("a",))
BELOW = PLACE.join(("b", "ü"))
PRIORITY = PLACE.child(".priority")
WITH_PRIORITY: Value = {".value": 1, ".priority": 2}

# A change, and the events in plain form and as an export: name and data, None for no event.
CASES: list[tuple[Change, str | None, str | None]] = [
    (Overwrite(PLACE, None), 'put {"path":"/","data":null}', 'put {"path":"/","data":null}'),
    (Overwrite(BELOW, "ü"), 'put {"path":"/b/ü","data":"ü"}', 'put {"path":"/b/ü","data":"ü"}'),
    (
        Overwrite(PLACE, {"0": "a", "1": "b"}),
        'put {"path":"/","data":["a","b"]}',
        'put {"path":"/","data":{"0":"a","1":"b"}}',
    ),
    (
        Overwrite(PLACE, WITH_PRIORITY),
        'put {"path":"/","data":1}',
        'put {"path":"/","data":{".value":1,".priority":2}}',
    ),
    (Overwrite(PRIORITY, 2), None, 'put {"path":"/.priority","data":2}'),
    (
        Merge(PLACE, ((("x",), 1), (("y", "z"), None))),
        'patch {"path":"/","data":{"x":1,"y/z":null}}',
        'patch {"path":"/","data":{"x":1,"y/z":null}}',
    ),
    (
        Merge(PLACE, ((("x",), 1), (("y", ".priority"), 3))),
        'patch {"path":"/","data":{"x":1}}',
        'patch {"path":"/","data":{"x":1,"y/.priority":3}}',
    ),
    (
        Merge(PLACE, ((("x", ".priority"), 1), (("y", ".priority"), 3))),
        None,
        'patch {"path":"/","data":{"x/.priority":1,"y/.priority":3}}',
    ),
    (Overwrite(PLACE, "a\nb\r\n"), r'put {"path":"/","data":"a\nb\r\n"}', None),
]


@pytest.mark.parametrize(("change", "plain", "export"), CASES)
def test_a_delivery_is_one_event(change: Change, plain: str | None, export: str | None) -> None:
    delivery = Delivery(PLACE, change, 12, time_ms=1012)
    assert event_of(delivery, Form.PLAIN).decode() == text(plain)
    assert event_of(delivery, Form.EXPORT).decode() == text(export or plain)


def text(event: str | None) -> str:
    if event is None:
        return ""
    name, _, data = event.partition(" ")
    return f"id: 12-1012\nevent: {name}\ndata: {data}\n\n"


def test_it_is_encoded_once_for_each_form() -> None:
    delivery = Delivery(ROOT, Overwrite(ROOT, {"a": 1}), 1)
    assert event_of(delivery, Form.PLAIN) is event_of(delivery, Form.PLAIN)


def test_the_first_event_has_the_value() -> None:
    expected = b'id: 3-4\nevent: put\ndata: {"path":"/","data":[1]}\n\n'
    assert first_event(b"[1]", Bookmark(3, 4)) == expected


def test_a_keep_alive_may_have_an_id() -> None:
    assert keep_alive(None) == b"event: keep-alive\ndata: null\n\n"
    assert keep_alive(Bookmark(3, 4)) == b"id: 3-4\nevent: keep-alive\ndata: null\n\n"


def test_the_plain_text_of_an_export_has_no_priorities() -> None:
    export = b'{"a":{".value":1,".priority":2},"b":{"0":1,"1":2}}'
    assert plain_text(export) == b'{"a":1,"b":[1,2]}'
