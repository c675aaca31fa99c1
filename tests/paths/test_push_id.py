"""Push ids are Firebase's, and each is greater than all before it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treedb.paths.keys import key_problem
from treedb.paths.order import sort_keys
from treedb.paths.push_id import PushIds

SPEC = json.loads((Path(__file__).parent.parent / "spec" / "push_ids.json").read_text())
ALPHABET: str = SPEC["alphabet"]
CASES: list[tuple[int, list[int], list[str]]] = [
    (case["time"], case["digits"], case["ids"]) for case in SPEC["cases"]
]
ALL_ONES = 2**72 - 1
times = st.integers(0, 2**47)


def number_of(digits: list[int]) -> int:
    number = 0
    for digit in digits:
        number = number * 64 + digit
    return number


def drawing(*numbers: int) -> Callable[[int], int]:
    """Return a source of random bits that gives these numbers, and no more."""
    left = list(numbers)

    def random_bits(count: int) -> int:
        number = left.pop(0)
        assert number < 1 << count
        return number

    return random_bits


def slowly(time: int, digits: list[int]) -> str:
    """Make an id digit by digit, as the published algorithm does."""
    stamp = [ALPHABET[time // 64**place % 64] for place in range(7, -1, -1)]
    return "".join(stamp) + "".join(ALPHABET[digit] for digit in digits)


@pytest.mark.parametrize(("time", "digits", "expected"), CASES)
def test_the_published_algorithms_ids_are_made(
    time: int, digits: list[int], expected: list[str]
) -> None:
    ids = PushIds(drawing(number_of(digits)))
    assert [ids.next(time) for _ in expected] == expected


@given(times, st.lists(st.integers(0, 63), min_size=12, max_size=12))
def test_the_short_way_is_the_published_one(time: int, digits: list[int]) -> None:
    assert PushIds(drawing(number_of(digits))).next(time) == slowly(time, digits)


def test_a_new_millisecond_draws_anew() -> None:
    ids = PushIds(drawing(5, 1))
    assert ids.next(1) == "-------0-----------4"
    assert ids.next(2) == "-------1-----------0"


def test_a_clock_going_back_counts_on_from_the_last_id() -> None:
    ids = PushIds(drawing(5))
    assert ids.next(9) == "-------8-----------4"
    assert ids.next(3) == "-------8-----------5"
    assert ids.next(9) == "-------8-----------6"


def test_a_used_up_millisecond_moves_on_to_the_next_instead_of_wrapping() -> None:
    ids = PushIds(drawing(ALL_ONES, 7, 2))
    assert ids.next(1) == "-------0zzzzzzzzzzzz"
    assert ids.next(1) == "-------1-----------6"
    assert ids.next(2) == "-------1-----------7"
    assert ids.next(3) == "-------2-----------1"


@given(
    st.lists(st.one_of(times, st.integers(0, 3)), min_size=2, max_size=20),
    st.lists(
        st.one_of(st.integers(0, ALL_ONES), st.integers(ALL_ONES - 2, ALL_ONES)),
        min_size=40,
        max_size=40,
    ),
)
@example([0] * 20, [ALL_ONES] * 40)
def test_ids_are_strictly_increasing_whatever_clock_and_chance_do(
    clock: list[int], numbers: list[int]
) -> None:
    ids = PushIds(drawing(*numbers))
    made = [ids.next(now_ms) for now_ms in clock]
    assert all(re.fullmatch(r"[-0-9A-Z_a-z]{20}", each) for each in made)
    assert made == sorted(set(made))
    assert made == sort_keys(made)
    assert all(key_problem(each) is None for each in made)


@pytest.mark.parametrize("time", [-1, 2**48])
def test_a_time_outside_eight_digits_is_our_own_error(time: int) -> None:
    with pytest.raises(AssertionError, match="no time for a push id"):
        PushIds(drawing(0)).next(time)
