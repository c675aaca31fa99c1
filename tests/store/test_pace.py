"""Work between the writes rests as long as it worked, and tells now and then how far it is."""

import pytest

from tests.follower_world import HandClock
from treedb.store.pace import FAILED_SECONDS, REPORT_SECONDS, Pace


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def test_a_step_is_followed_by_a_rest_as_long_as_it_took(clock: HandClock) -> None:
    pace = Pace(clock)

    def step() -> str:
        clock.seconds += 3
        return "done"

    assert pace.seconds_until_due() == 0
    assert pace.run(step) == "done"
    assert pace.seconds_until_due() == 3
    clock.seconds += 2
    assert pace.run(step) is None
    clock.seconds += 1
    assert pace.run(step) == "done"


def test_a_step_that_failed_is_tried_again_after_a_while(clock: HandClock) -> None:
    pace = Pace(clock)
    with pytest.raises(ZeroDivisionError):
        pace.run(lambda: 1 // 0)
    assert pace.seconds_until_due() == FAILED_SECONDS


def test_a_report_is_due_once_when_steps_have_gone_on_for_long(clock: HandClock) -> None:
    pace = Pace(clock)
    pace.begin_reports()
    pace.run(lambda: None)
    assert not pace.is_report_due()
    clock.seconds += REPORT_SECONDS + 1
    pace.run(lambda: None)
    assert pace.is_report_due()
    assert not pace.is_report_due()
