"""What stands is brought to agree, entry by entry, as the side says that is right."""

import random
from dataclasses import replace

import pytest

from tests.writes.derived_world import (
    COUNTERS,
    MIRRORS,
    SHAPES,
    applied,
    assert_counted,
    assert_mirrored,
    mirror,
    random_patch,
    random_value,
)
from treedb.config import DEFAULT_LIMITS
from treedb.errors import PayloadTooLarge, TreeError
from treedb.paths.path import ROOT, Path
from treedb.rules.derivation import Declaration
from treedb.rules.loader import parse_rules
from treedb.rules.mirror import MirrorValue
from treedb.store.kept_derived import KeptBackfill
from treedb.tree.json_equality import same_json
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, normal_form, with_value_at
from treedb.writes import mend as mend_module
from treedb.writes.counters import count
from treedb.writes.derived_check import check_derived, name_of
from treedb.writes.mend import Side, mend_some, mend_touched
from treedb.writes.mirrors import complete

COPY = mirror("/a/$x", "/b/$x")
TRUE = mirror("/a/$x", "/b/$x", MirrorValue.TRUE)
HISTORIES = 150
RULES = parse_rules("""{"rules": {
    "users": {"$u": {
        "groups": {"$g": {".mirror": "/groups/$g/members/$u"}},
        "follows": {"$v": {".mirror": {"to": "/followers/$v/$u", "value": "true"}}}
    }},
    "groups": {"$g": {"members": {".count": "/groups/$g/count"}}},
    "lists": {"$a": {"$b": {".count": "/sizes/$b/$a"}}}
}}""")


def backfill(declaration: Declaration, side: str, *, is_begun: bool = False) -> KeptBackfill:
    return KeptBackfill(name_of(declaration), side, is_begun)


def brought(
    tree: Value, declaration: Declaration, side: str, *, most: int = 1000, is_begun: bool = False
) -> tuple[Value, list[str]]:
    """Take all steps of a backfill; return the tree after it, and the conflicts."""
    going: KeptBackfill | None = backfill(declaration, side, is_begun=is_begun)
    conflicts: list[str] = []
    while going is not None:
        mended = mend_some(ValueReader(tree), declaration, going, most, DEFAULT_LIMITS)
        tree = applied(tree, Patch(mended.changes))
        conflicts += [str(each) for each in mended.conflicts if str(each) not in conflicts]
        going = mended.backfill
    return tree, conflicts


ENTRIES: list[tuple[str, Declaration, Value, Value, dict[str, tuple[Value, Value] | str]]] = [
    ("only the source", COPY, 1, None, {"source": (1, 1), "target": (None, None), "union": (1, 1)}),
    ("only the target", COPY, None, 1, {"source": (None, None), "target": (1, 1), "union": (1, 1)}),
    ("both alike", COPY, {"s": 1}, {"s": 1}, dict.fromkeys(("source", "target", "union"), ({"s": 1}, {"s": 1}))),
    ("both, and they differ", COPY, 1, 2, {"source": (1, 1), "target": (2, 2), "union": "/b/x differs from /a/x"}),
    ("true beside 1", COPY, 1, True, {"source": (1, 1), "target": (True, True), "union": "/b/x differs from /a/x"}),
    ("detail alone", TRUE, {"s": 1}, None, {"source": ({"s": 1}, True), "target": (None, None), "union": ({"s": 1}, True)}),
    ("true alone", TRUE, None, True, {"source": (None, None), "target": (True, True), "union": (True, True)}),
    ("detail and true", TRUE, {"s": 1}, True, dict.fromkeys(("source", "target", "union"), ({"s": 1}, True))),
    ("1 on the wrong side", TRUE, None, 1, {
        "source": (None, None),
        "target": "/b/x holds more than true, which is all it can hold beside /a/x",
        "union": "/b/x holds more than true, which is all it can hold beside /a/x",
    }),
    ("detail on the wrong side", TRUE, {"s": 1}, {"s": 2}, {
        "source": ({"s": 1}, True),
        "target": "/b/x holds more than true, which is all it can hold beside /a/x",
        "union": "/b/x holds more than true, which is all it can hold beside /a/x",
    }),
]  # fmt: skip


@pytest.mark.parametrize("side", ["source", "target", "union"])
@pytest.mark.parametrize(
    "declaration, here, there, outcomes", [row[1:] for row in ENTRIES], ids=[r[0] for r in ENTRIES]
)
def test_an_entry_becomes_what_the_side_says(
    declaration: Declaration,
    here: Value,
    there: Value,
    outcomes: dict[str, tuple[Value, Value] | str],
    side: str,
) -> None:
    tree = with_value_at(with_value_at(None, ("a", "x"), here), ("b", "x"), there)
    after, conflicts = brought(tree, declaration, side)
    expected = outcomes[side]
    if isinstance(expected, str):
        assert (after, conflicts) == (tree, [expected])
        return
    reader = ValueReader(after)
    assert conflicts == []
    found = reader.get(Path(("a", "x"))), reader.get(Path(("b", "x")))
    assert list(map(repr, found)) == list(map(repr, expected))


COUNTS: list[tuple[str, Value, object]] = [
    ("a count that is missing", {"lists": {"l": {"m": {"p": 1, "q": 1}}}}, 2),
    ("a count that is wrong", {"lists": {"l": {"m": {"p": 1}}}, "sizes": {"m": {"l": 7}}}, 1),
    ("a count of nothing", {"sizes": {"m": {"l": 7}}}, None),
    ("a count with a fraction", {"lists": {"l": {"m": {"p": 1}}}, "sizes": {"m": {"l": 1.5}}}, 1),
    ("something else there", {"lists": {"l": {"m": {"p": 1}}}, "sizes": {"m": {"l": "many"}}}, "conflict"),
    ("an object there", {"lists": {"l": {"m": {"p": 1}}}, "sizes": {"m": {"l": {"x": 1}}}}, "conflict"),
]  # fmt: skip


@pytest.mark.parametrize("tree, expected", [row[1:] for row in COUNTS], ids=[r[0] for r in COUNTS])
def test_a_count_becomes_right_whatever_the_side(tree: Value, expected: object) -> None:
    for side in Side:
        after, conflicts = brought(tree, COUNTERS[1], side.value)
        if expected == "conflict":
            assert after == tree
            assert conflicts == [
                "/sizes/m/l holds something that is not the number of children of /lists/l/m"
            ]
        else:
            assert conflicts == []
            assert ValueReader(after).get(Path(("sizes", "m", "l"))) == expected


def test_a_value_that_would_be_lost_is_a_conflict_until_the_mirror_is_in_force() -> None:
    tree: Value = {"users": {"u": {"groups": {"g": 1}}}, "groups": {"g": "a leaf"}}
    after, conflicts = brought(tree, MIRRORS[0], "source")
    assert after == tree
    assert conflicts == [
        "/groups/g/members/u cannot be written: /groups/g holds a value that would be lost"
    ]
    after, conflicts = brought(tree, MIRRORS[0], "source", is_begun=True)
    assert (after, conflicts) == ({"groups": {"g": "a leaf"}}, [])


def test_what_would_be_too_deep_is_a_conflict() -> None:
    deep = mirror("/a/$x", "/" + "/".join("b" * 31) + "/$x")
    tree: Value = {"a": {"x": {"y": 1}}}
    after, conflicts = brought(tree, deep, "source")
    assert after == tree
    assert conflicts == [
        f"{deep.target.fill({'$x': 'x'})} would reach 33 levels below the root, 32 are allowed"
    ]


def test_a_backfill_goes_on_where_it_was_left() -> None:
    items: Value = {str(number): number for number in range(7)}
    tree: Value = {"a": items}
    first = mend_some(ValueReader(tree), COPY, backfill(COPY, "source"), 3, DEFAULT_LIMITS)
    assert [path for path, _ in first.changes] == [Path(("b", str(number))) for number in range(3)]
    assert first.backfill is not None
    assert (first.backfill.after, first.backfill.entries, first.backfill.changed) == (("2",), 3, 3)
    second = mend_some(ValueReader(tree), COPY, first.backfill, 3, DEFAULT_LIMITS)
    assert [path for path, _ in second.changes] == [Path(("b", str(i))) for i in range(3, 6)]
    assert brought(tree, COPY, "source", most=2)[0] == {"a": items, "b": items}


def test_a_step_ends_early_where_entries_are_large() -> None:
    large = "x" * (mend_module.STEP_BYTES // 2)
    tree: Value = {"a": {str(number): large for number in range(5)}}
    step = mend_some(ValueReader(tree), COPY, backfill(COPY, "source"), 1000, DEFAULT_LIMITS)
    assert len(step.changes) == 2
    assert step.backfill is not None
    assert not step.backfill.is_second


def test_a_write_that_touches_too_many_unmended_entries_is_refused() -> None:
    ruleset = replace(RULES, limits=replace(DEFAULT_LIMITS, fan_out=3))
    tree: Value = {"users": {"u": {"groups": {str(number): 1 for number in range(4)}}}}
    going = [backfill(RULES.mirrors[0], "source", is_begun=True)]
    with pytest.raises(PayloadTooLarge, match="still being brought to agree"):
        mend_touched([(Path(("users",)), None)], ValueReader(tree), ruleset, going)
    few = mend_touched(
        [(Path(("users", "u", "groups", "1")), 2)], ValueReader(tree), ruleset, going
    )
    assert few.changes == ((Path(("groups", "1", "members", "u")), 1),)


def random_tree(dice: random.Random) -> Value:
    tree: Value = None
    for _ in range(dice.randrange(12)):
        keys = tuple(dice.choice("abc") if key == "$" else key for key in dice.choice(SHAPES))
        raw = random_value(dice, 5 - len(keys))
        tree = with_value_at(tree, keys, normal_form(raw, len(keys), DEFAULT_LIMITS).value)
    return tree


@pytest.mark.parametrize("number", range(HISTORIES))
def test_any_tree_without_conflicts_agrees_in_the_end_whatever_is_written_meanwhile(
    number: int, seed: int
) -> None:
    dice = random.Random(seed + number)
    side = dice.choice(list(Side)).value
    tree = random_tree(dice)
    declarations: tuple[Declaration, ...] = (*RULES.mirrors, *RULES.counters)
    going = [backfill(each, side, is_begun=True) for each in declarations]
    for each in declarations:
        if brought(tree, each, side)[1]:
            return  # refused, and tested above
    while going:
        if dice.random() < 0.5:
            tree = written(tree, random_patch(dice), going)
            continue
        declaration = next(each for each in declarations if name_of(each) == going[0].name)
        mended = mend_some(ValueReader(tree), declaration, going[0], 2, DEFAULT_LIMITS)
        assert mended.conflicts == ()
        tree = applied(tree, Patch(mended.changes))
        going[:1] = [mended.backfill] if mended.backfill is not None else []
    faults = [each for each in check_derived(ValueReader(tree), declarations) if each is not None]
    assert faults == []
    assert_mirrored(tree)
    assert_counted(tree)


def written(tree: Value, patch: Patch, going: list[KeptBackfill]) -> Value:
    """Return the tree after a write, as the writer makes it while backfills go on."""
    tree = applied(tree, mend_touched(patch.changes, ValueReader(tree), RULES, going))
    reader = ValueReader(tree)
    try:
        completed = complete(patch, reader, RULES.mirrors, DEFAULT_LIMITS)
        return applied(tree, count(completed, reader, RULES.counters))
    except TreeError:
        return tree


@pytest.mark.parametrize("number", range(HISTORIES))
def test_a_write_does_what_it_would_do_had_the_backfill_come_by_before_it(
    number: int, seed: int
) -> None:
    dice = random.Random(seed + number)
    side = dice.choice(list(Side)).value
    tree = random_tree(dice)
    mended_first = tree
    for each in RULES.mirrors:
        mended_first, conflicts = brought(mended_first, each, side, is_begun=True)
        if conflicts or brought(tree, each, side)[1]:
            return
    going = [backfill(each, side, is_begun=True) for each in RULES.mirrors]
    while going:
        if dice.random() < 0.5:
            # The priority of what is not there yet would be refused.
            patch = Patch(
                tuple(each for each in random_patch(dice).changes if not each[0].is_priority)
            )
            tree = mirrored(tree, patch, going)
            mended_first = mirrored(mended_first, patch, [])
            continue
        declaration = next(each for each in RULES.mirrors if name_of(each) == going[0].name)
        mended = mend_some(ValueReader(tree), declaration, going[0], 2, DEFAULT_LIMITS)
        tree = applied(tree, Patch.of(mended.changes))
        going[:1] = [mended.backfill] if mended.backfill is not None else []
    assert same_json(tree, mended_first)


def mirrored(tree: Value, patch: Patch, going: list[KeptBackfill]) -> Value:
    """Return the tree after a write, without the counts."""
    tree = applied(tree, mend_touched(patch.changes, ValueReader(tree), RULES, going))
    try:
        return applied(tree, complete(patch, ValueReader(tree), RULES.mirrors, DEFAULT_LIMITS))
    except TreeError:
        return tree


def test_mending_what_agrees_changes_nothing() -> None:
    tree: Value = {"a": {"x": 1}, "b": {"x": 1}}
    assert brought(tree, COPY, "union") == (tree, [])
    assert mend_touched([(ROOT, None)], ValueReader(tree), RULES, ()).changes == ()
