"""How a database is guarded while it keeps no rules of its own."""

from treedb.access import Access
from treedb.rules.cache import ruleset_of

OPEN = '{"rules": {".read": true}}'
CLOSED = '{"rules": {}}'


def test_without_a_text_the_default_rules_bind() -> None:
    access = Access(OPEN)
    assert access.authority().ruleset is ruleset_of(OPEN)
    assert access.authority(CLOSED).ruleset is ruleset_of(CLOSED)


def test_use_is_counted_only_where_that_is_asked_for() -> None:
    assert Access(OPEN).authority().coverage is None
    assert Access(OPEN, counts_coverage=True).authority(CLOSED).coverage is not None
