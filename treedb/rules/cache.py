"""Rulesets by their text, each parsed once.

A change of rules needs its ruleset in several places: where it is checked, in the writer, and
where reads are asked about. Namespaces that follow one file share one.
"""

from functools import lru_cache
from typing import Final

from treedb.config import DEFAULT_LIMITS, Limits
from treedb.rules.loader import parse_rules
from treedb.rules.ruleset import Ruleset

KEPT: Final = 16


def ruleset_of(text: str, limits: Limits = DEFAULT_LIMITS) -> Ruleset:
    """Return the ruleset of a text; RulesError when it is wrong.

    The largest take half a second to parse, so whoever puts rules in force calls this on a thread
    first, and the event loop finds them parsed.
    """
    return _parsed(text, limits)


@lru_cache(KEPT)
def _parsed(text: str, limits: Limits) -> Ruleset:
    return parse_rules(text, limits)
