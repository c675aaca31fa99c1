"""A `.count` is read and checked with the rules."""

import pytest

from treedb.errors import RulesError
from treedb.rules.loader import parse_rules


def rules_of(count: str, more: str = "") -> str:
    groups = f'"groups": {{"$gid": {{"members": {{".count": {count}}}}}}}'
    return f'{{"rules": {{{groups}{more}}}}}'


def test_a_collection_is_counted_at_another_place() -> None:
    (counter,) = parse_rules(rules_of('"/groups/$gid/memberCount"')).counters
    assert (str(counter.collection), str(counter.place)) == (
        "/groups/$gid/members",
        "/groups/$gid/memberCount",
    )


REFUSED = [
    ("5", "Invalid count. Must be a path."),
    ('"/a//$gid/b#"', "Invalid count. "),
    ('"/counts/all"', "The count's path and its place differ in $gid."),
    ('"/counts/$gid/$other"', "The count's path and its place differ in $other."),
    ('"/groups/$gid/members/count"', "overlaps with its collection"),
    ('"/groups/$gid"', "overlaps with its collection"),
]


@pytest.mark.parametrize("count, message", REFUSED)
def test_a_wrong_count_is_refused(count: str, message: str) -> None:
    with pytest.raises(RulesError) as caught:
        parse_rules(rules_of(count))
    assert message in caught.value.findings[0].message


CLASHES = [
    ', "lists": {"$gid": {"x": {".count": "/counts/$gid"}}}',
    ', "counts": {".count": "/number"}',
    ', "users": {"$gid": {"x": {".mirror": "/counts/$gid"}}}',
]


@pytest.mark.parametrize("more", CLASHES)
def test_nothing_derived_feeds_another(more: str) -> None:
    with pytest.raises(RulesError) as caught:
        parse_rules(rules_of('"/counts/$gid"', more))
    assert "which is kept as well" in caught.value.findings[0].message
