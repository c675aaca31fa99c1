from dataclasses import replace

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RulesError
from treedb.rules.cache import KEPT, ruleset_of


def text(number: int) -> str:
    return f'{{"rules": {{"n{number}": {{".read": true}}}}}}'


def test_a_text_is_parsed_once() -> None:
    assert ruleset_of(text(0)) is ruleset_of(text(0), DEFAULT_LIMITS)
    assert ruleset_of(text(0)).text == text(0)
    assert ruleset_of(text(0)) is not ruleset_of(text(0) + " ")


def test_other_limits_are_another_question() -> None:
    ruleset_of(text(0))
    with pytest.raises(RulesError, match="more than 1 nodes"):
        ruleset_of(text(0), replace(DEFAULT_LIMITS, rules_nodes=1))


def test_what_is_wrong_stays_wrong() -> None:
    for _ in range(2):
        with pytest.raises(RulesError):
            ruleset_of("{}")


def test_the_texts_asked_for_last_are_kept() -> None:
    first = ruleset_of(text(0))
    for number in range(1, KEPT):
        ruleset_of(text(number))
    assert ruleset_of(text(0)) is first
    for number in range(1, KEPT + 1):
        ruleset_of(text(number))
    assert ruleset_of(text(0)) is not first
