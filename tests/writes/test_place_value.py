"""A place is a value's or a priority's, and takes what stands there."""

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidData
from treedb.paths.path import Path
from treedb.tree.values import Normal
from treedb.writes.place_value import normal_at

PLACES = [
    ("/a", {"b": [1, None]}, Normal({"b": {"0": 1}}, False, 4)),
    ("/a", {".sv": "timestamp"}, Normal({".sv": "timestamp"}, True, 1)),
    ("/a/.priority", 5, Normal(5, False, 1)),
    ("/a/.priority", "p", Normal("p", False, 1)),
    ("/a/.priority", None, Normal(None, False, 1)),
    ("/a/.priority", {".sv": "timestamp"}, Normal({".sv": "timestamp"}, True, 1)),
]


@pytest.mark.parametrize("place, raw, normal", PLACES)
def test_what_stands_at_a_place_is_brought_into_normal_form(
    place: str, raw: object, normal: Normal
) -> None:
    assert normal_at(Path.parse(place, allow_priority=True), raw, DEFAULT_LIMITS) == normal


@pytest.mark.parametrize("raw", [True, {"a": 1}, [1]])
def test_a_priority_is_a_number_or_a_string(raw: object) -> None:
    with pytest.raises(InvalidData):
        normal_at(Path(("a", ".priority")), raw, DEFAULT_LIMITS)
