import pytest

from treedb.wire.upgrade import END, SWITCH, control_kind

KINDS = [
    (SWITCH.decode(), "a"),
    (END.decode(), "n"),
    ('{"t":"c","d":{"t":"p","d":{}}}', "p"),
    ('{ "d": {"d": null, "t": "n"}, "t": "c" }', "n"),
    ('{"t":"d","d":{"r":1,"a":"s","b":{}}}', None),
    ('{"t":"c"}', None),
    ("0", None),
    ("", None),
    ("no json", None),
    ('{"t":"c","d":{"t":"n","d":"%s"}}' % ("x" * 100), None),
]


@pytest.mark.parametrize("text, kind", KINDS)
def test_control_messages_are_known_by_their_kind(text: str, kind: str | None) -> None:
    assert control_kind(text) == kind
