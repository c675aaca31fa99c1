import json

import pytest

from treedb.errors import RulesError
from treedb.rules.loader import parse_rules
from treedb.rules.mirror import Mirror, MirrorValue

OVERLAP = "The mirror's path {} overlaps with its place /users/$uid/groups/$gid."
SHAPE = "Invalid mirror. Must be a path, or an object with 'to' and 'value'."


def rules_with(declaration: object) -> str:
    return json.dumps(
        {"rules": {"users": {"$uid": {"groups": {"$gid": {".mirror": declaration}}}}}}
    )


def mirror_of(declaration: object) -> Mirror:
    [mirror] = parse_rules(rules_with(declaration)).mirrors
    return mirror


ACCEPTED = [
    ("/groups/$gid/members/$uid", MirrorValue.COPY),
    ("groups/$gid/members/$uid", MirrorValue.COPY),
    ({"to": "/groups/$gid/members/$uid"}, MirrorValue.COPY),
    ({"to": "/groups/$gid/members/$uid", "value": "copy"}, MirrorValue.COPY),
    ({"value": "true", "to": "/groups/$gid/members/$uid"}, MirrorValue.TRUE),
]

REFUSED = [
    (5, SHAPE),
    (True, SHAPE),
    ([], SHAPE),
    ({}, SHAPE),
    ({"to": 5}, SHAPE),
    ({"value": "copy"}, SHAPE),
    ({"to": "/groups/$gid/members/$uid", "kind": "copy"}, SHAPE),
    (
        {"to": "/groups/$gid/members/$uid", "value": "other"},
        "The value of a mirror must be 'copy' or 'true'.",
    ),
    (
        {"to": "/groups/$gid/members/$uid", "value": True},
        "The value of a mirror must be 'copy' or 'true'.",
    ),
    ("/groups/$gid/members", "The mirror's path lacks $uid of its place."),
    ("/groups", "The mirror's path lacks $gid, $uid of its place."),
    ("/groups/$gid/members/$uid/$other", "The mirror's place has no $other."),
    (
        "/users/$uid/groups/$gid",
        OVERLAP.format("/users/$uid/groups/$gid"),
    ),
    (
        "/users/$gid/groups/$uid",
        OVERLAP.format("/users/$gid/groups/$uid"),
    ),
    ("/$gid/$uid", OVERLAP.format("/$gid/$uid")),
]

BAD_PATTERNS = ["/groups/$gid/$gid/$uid", "/a.b/$gid/$uid", "/groups/$/$gid/$uid", "/a/$g-x"]


@pytest.mark.parametrize("declaration, value", ACCEPTED)
def test_a_mirror_has_two_patterns_with_the_same_names(
    declaration: object, value: MirrorValue
) -> None:
    mirror = mirror_of(declaration)
    assert str(mirror.source) == "/users/$uid/groups/$gid"
    assert str(mirror.target) == "/groups/$gid/members/$uid"
    assert mirror.value is value


@pytest.mark.parametrize("declaration, message", REFUSED)
def test_a_wrong_mirror_is_refused(declaration: object, message: str) -> None:
    with pytest.raises(RulesError) as refusal:
        mirror_of(declaration)
    [finding] = refusal.value.findings
    assert finding.message == message
    assert finding.place == "/users/$uid/groups/$gid"


@pytest.mark.parametrize("pattern", BAD_PATTERNS)
def test_a_mirror_to_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(RulesError) as refusal:
        mirror_of(pattern)
    assert refusal.value.findings[0].message.startswith("Invalid mirror. ")


def test_a_mistake_in_a_mirror_is_told_where_it_stands() -> None:
    text = '{"rules": {"a": {"$x": {\n  ".mirror": {"to": "/b/$x",\n    "value": "no"}}}}}'
    with pytest.raises(RulesError) as refusal:
        parse_rules(text)
    assert (refusal.value.findings[0].line, refusal.value.findings[0].column) == (3, 14)


CLASHES = [
    # The same pair, told from both sides.
    {"a": {"$x": {".mirror": "/b/$x"}}, "b": {"$x": {".mirror": "/a/$x"}}},
    # One feeds another.
    {"a": {"$x": {".mirror": "/b/$x"}}, "b": {"$x": {".mirror": "/c/$x"}}},
    # Two write to one place.
    {"a": {"$x": {".mirror": "/c/$x"}}, "b": {"$x": {".mirror": "/c/$x"}}},
    # One inside the other.
    {"a": {"$x": {".mirror": "/b/$x", "c": {".mirror": "/d/$x"}}}},
]


@pytest.mark.parametrize("rules", CLASHES)
def test_no_place_belongs_to_two_mirrors(rules: object) -> None:
    with pytest.raises(RulesError) as refusal:
        parse_rules(json.dumps({"rules": rules}))
    [finding] = refusal.value.findings
    assert "overlaps with" in finding.message


def test_mirrors_of_different_places_stand_together() -> None:
    rules = {"a": {"$x": {".mirror": "/b/$x"}}, "c": {"$x": {"d": {".mirror": "/e/$x"}}}}
    ruleset = parse_rules(json.dumps({"rules": rules}))
    assert [str(mirror.target) for mirror in ruleset.mirrors] == ["/b/$x", "/e/$x"]
    below = ruleset.root.below("a")
    assert below is not None
    assert below.wildcard is not None
    assert below.wildcard.mirror is ruleset.mirrors[0]


def test_the_number_of_mirrors_is_limited() -> None:
    rules = {f"a{number}": {"$x": {".mirror": f"/b{number}/$x"}} for number in range(201)}
    with pytest.raises(RulesError, match="more than 200 mirrors"):
        parse_rules(json.dumps({"rules": rules}))
