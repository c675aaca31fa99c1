"""Spans that hold a position are found, and no others."""

import random

import pytest

from treedb.sync.spans import Spans
from treedb.tree.query_order import Position


def at(number: int) -> Position:
    return (3, number, b""), b""


@pytest.mark.parametrize("from_high", [False, True])
def test_a_span_holds_its_low_end_and_not_its_high_one(*, from_high: bool) -> None:
    spans: Spans[str] = Spans(from_high=from_high)
    spans.put("middle", at(2), at(4))
    spans.put("all", None, None)
    spans.put("low", None, at(3))
    spans.put("high", at(3), None)
    held = {number: sorted(spans.holding(at(number))) for number in (1, 2, 3, 4)}
    assert held == {
        1: ["all", "low"],
        2: ["all", "low", "middle"],
        3: ["all", "high", "middle"],
        4: ["all", "high"],
    }


def test_an_empty_span_holds_nothing() -> None:
    spans: Spans[str] = Spans(from_high=False)
    assert spans.holding(at(1)) == []
    spans.put("inside out", at(5), at(2))
    assert [spans.holding(at(number)) for number in (2, 3, 5)] == [[], [], []]


@pytest.mark.parametrize("from_high", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_found_is_what_asking_each_span_finds(seed: int, *, from_high: bool) -> None:
    dice = random.Random(seed)
    spans: Spans[int] = Spans(from_high=from_high)
    known: dict[int, tuple[int, int]] = {}
    for _ in range(300):
        owner = dice.randrange(20)
        if dice.random() < 0.2:
            known.pop(owner, None)
            spans.remove(owner)
        else:
            low, high = dice.randrange(30), dice.randrange(30)
            if owner in known and dice.random() < 0.8:  # its anchor stays, as windows' anchors do
                low, high = (low, known[owner][1]) if from_high else (known[owner][0], high)
            known[owner] = low, high
            spans.put(owner, at(low), at(high))
        number = dice.randrange(30)
        expected = [each for each, (low, high) in known.items() if low <= number < high]
        assert sorted(spans.holding(at(number))) == sorted(expected)
        assert len(spans) == len(known)
