import pytest

from treedb.wire.fields import is_filtering, kind_of


@pytest.mark.parametrize(
    "raw, kind",
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "text"),
        ({}, "an object"),
        ([], "an array"),
    ],
)
def test_kinds_are_named_for_people(raw: object, kind: str) -> None:
    assert kind_of(raw) == kind


@pytest.mark.parametrize(
    "query, is_one",
    [({}, False), ({"i": ".key"}, False), ({"l": 2}, True), ({"i": "x", "ep": None}, True)],
)
def test_an_order_alone_filters_nothing(query: dict[str, object], *, is_one: bool) -> None:
    assert is_filtering(query) is is_one
