import logging

import pytest

from tests.follower_world import HandClock
from treedb.index_advice import MOST_PLACES, QUIET_SECONDS, IndexAdvice
from treedb.paths.path import Path
from treedb.tree.query_order import VALUE, OrderBy, by_child

ROOMS = Path(("rooms",))
TS = by_child("ts")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def advice(clock: HandClock) -> IndexAdvice:
    return IndexAdvice(clock)


def given(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "treedb.indexes"]


@pytest.mark.parametrize(
    "place, order_by, line",
    [
        (ROOMS, TS, 'a query of /rooms in namespace n looks at every child; add ".indexOn": "ts"'),
        (Path(()), VALUE, "a query of / in namespace n looks at every child; add "),
        (ROOMS, VALUE, 'add ".indexOn": ".value" there, to the rules'),
        (ROOMS, by_child("dim", "h"), 'add ".indexOn": "dim/h" there'),
        (Path(("房间 é",)), TS, "a query of /房间 é in"),
        (Path(("a\x9b2J\u202eb",)), by_child("\u2028"), r"a query of /a\x9b2J\u202eb in"),
        (ROOMS, by_child("\u2028"), r'add ".indexOn": "\u2028" there'),
    ],
)
def test_the_missing_index_is_named(
    advice: IndexAdvice,
    caplog: pytest.LogCaptureFixture,
    place: Path,
    order_by: OrderBy,
    line: str,
) -> None:
    advice.give("n", place, order_by)
    assert line in given(caplog)[0]
    assert caplog.records[0].levelno == logging.WARNING


def test_the_same_is_said_again_only_after_a_while(
    advice: IndexAdvice, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    counts = []
    for seconds in (0, 1, QUIET_SECONDS - 2, 2, 1):
        clock.seconds += seconds
        advice.give("n", ROOMS, TS)
        counts.append(len(given(caplog)))
    assert counts == [1, 1, 1, 2, 2]


def test_places_and_orders_are_told_apart(
    advice: IndexAdvice, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        for place in (ROOMS, ROOMS.child("a")):
            for order_by in (TS, VALUE):
                advice.give("n", place, order_by)
    assert len(given(caplog)) == 4


def test_many_places_at_once_are_not_all_named(
    advice: IndexAdvice, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(MOST_PLACES + 50):
        advice.give("n", Path((str(number),)), TS)
    assert len(given(caplog)) == MOST_PLACES
    clock.seconds += QUIET_SECONDS + 1
    advice.give("n", ROOMS, TS)
    assert len(given(caplog)) == MOST_PLACES + 1
