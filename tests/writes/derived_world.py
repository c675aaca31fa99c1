"""Random trees, rules and writes for what is derived: mirrors and counts."""

import random

from treedb.config import DEFAULT_LIMITS
from treedb.errors import ConflictingPaths
from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.tree.patch import Patch
from treedb.tree.values import Value, child_keys, normal_form, value_at, with_value_at


def mirror(source: str, target: str, value: MirrorValue = MirrorValue.COPY) -> Mirror:
    return Mirror(Pattern.parse(source), Pattern.parse(target), value, 0)


def counter(collection: str, place: str) -> Counter:
    return Counter(Pattern.parse(collection), Pattern.parse(place), 0)


MIRRORS = (
    mirror("/users/$u/groups/$g", "/groups/$g/members/$u"),
    mirror("/users/$u/follows/$v", "/followers/$v/$u", MirrorValue.TRUE),
)
COUNTERS = (
    counter("/groups/$g/members", "/groups/$g/count"),
    counter("/lists/$a/$b", "/sizes/$b/$a"),
)
SHAPES = (
    ("users", "$", "groups", "$"),
    ("groups", "$", "members", "$"),
    ("groups", "$", "count"),
    ("users", "$", "follows", "$"),
    ("followers", "$", "$"),
    ("lists", "$", "$", "$"),
    ("sizes", "$", "$"),
    ("users", "$", "groups", "$", "since"),
    ("groups", "$", "members", "$", "since"),
)
INNER = ("a", "b", "groups", "members", "follows", "count")


def applied(tree: Value, patch: Patch) -> Value:
    for path, value in patch.changes:
        tree = with_value_at(tree, path.keys, value)
    return tree


def entries(pattern: Pattern, tree: Value) -> dict[tuple[tuple[str, str], ...], Value]:
    """Find a pattern's entries in the plainest way, each with its value."""
    found: dict[tuple[tuple[str, str], ...], Value] = {(): tree}
    for key in pattern.keys:
        found = {
            (*names, (key, each)) if key.startswith("$") else names: value_at(value, (each,))
            for names, value in found.items()
            for each in (child_keys(value) if key.startswith("$") else [key])
        }
    return {tuple(sorted(names)): value for names, value in found.items() if value is not None}


def assert_mirrored(tree: Value) -> None:
    for each in MIRRORS:
        here, there = entries(each.source, tree), entries(each.target, tree)
        assert here.keys() == there.keys(), each
        for names, value in here.items():
            if each.value is MirrorValue.TRUE:
                assert there[names] is True
            else:
                assert repr(value) == repr(there[names]), names


def assert_counted(tree: Value) -> None:
    for each in COUNTERS:
        collections = entries(each.collection, tree)
        counted = {
            names: len(child_keys(value))
            for names, value in collections.items()
            if child_keys(value)
        }
        assert entries(each.place, tree) == counted, each


def random_value(dice: random.Random, depth: int) -> object:
    if depth <= 0 or dice.random() < 0.35:
        return dice.choice([True, True, 1, None, "x", {"since": dice.randrange(3)}])
    return {dice.choice(INNER): random_value(dice, depth - 1) for _ in range(dice.randrange(1, 4))}


def random_patch(dice: random.Random) -> Patch:
    """Make a patch of one or a few changes, most at or near places that are derived."""
    while True:
        pairs: dict[Path, Value] = {}
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            keys = [dice.choice("abc") if key == "$" else key for key in dice.choice(SHAPES)]
            if dice.random() < 0.4:
                keys = keys[: dice.randrange(0, len(keys) + 1)]
            if keys and dice.random() < 0.05:
                pairs[Path((*keys, ".priority"))] = dice.choice([None, 1])
            elif len(keys) > 1 or dice.random() < 0.2:
                raw = random_value(dice, 5 - len(keys)) if dice.random() < 0.75 else None
                pairs[Path(tuple(keys))] = normal_form(raw, len(keys), DEFAULT_LIMITS).value
        try:
            return Patch.of(pairs.items())
        except ConflictingPaths:
            continue
