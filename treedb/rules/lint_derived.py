"""Warnings about mirrors and counts: places that nobody reads, and values that never get through.

What is decided here is decided from the text alone. A `.validate` counts for what each part of its
`&&` says plainly about the kind of the value, as `newData.isString()` does; anything else is taken
to accept whatever comes.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from treedb.paths.pattern import Pattern, is_name
from treedb.rules.counter import Counter
from treedb.rules.lint_rules import is_method_of
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.rules.rule import Rule, RuleNode
from treedb.rules.ruleset import Ruleset
from treedb.rules.source import Mistake
from treedb.rules.syntax import Binary, Literal, Logical, Node

Kinds: TypeAlias = frozenset[str]

_BOOLEAN: Final[Kinds] = frozenset({"boolean"})
_NUMBER: Final[Kinds] = frozenset({"number"})
_STRING: Final[Kinds] = frozenset({"string"})
_CHILDREN: Final[Kinds] = frozenset({"children"})
_ANY: Final = _BOOLEAN | _NUMBER | _STRING | _CHILDREN
_NONE: Final[Kinds] = frozenset()
_METHODS: Final = {
    "isBoolean": _BOOLEAN,
    "isNumber": _NUMBER,
    "isString": _STRING,
    "hasChildren": _CHILDREN,
    "hasChild": _CHILDREN,
}


def derived_warnings(ruleset: Ruleset) -> Iterator[Mistake]:
    """Yield a warning for each mirror or count that hardly does what its author meant."""
    for mirror in ruleset.mirrors:
        yield from _unread(ruleset.root, mirror.target, mirror)
        yield from _never_mirrored(ruleset.root, mirror)
    for counter in ruleset.counters:
        yield from _unread(ruleset.root, counter.place, counter)
        yield from _never_counted(ruleset.root, counter)


# Who reads it


def _unread(root: RuleNode, place: Pattern, declared: Mirror | Counter) -> Iterator[Mistake]:
    if not _may_be_read(root, place):
        message = f"No client may read {place}: no .read is above it, at it or below."
        yield Mistake(declared.offset, message, "put one where it is to be read", _place(declared))


def _may_be_read(root: RuleNode, place: Pattern) -> bool:
    """Tell whether a rule may let somebody read a place of a pattern, or a part of it."""
    nodes = [root]
    for key in place.keys:
        if any(_grants(node) for node in nodes):
            return True
        nodes = [below for node in nodes for below in _met_by(node, key)]
    while nodes:
        node = nodes.pop()
        if _grants(node):
            return True
        nodes.extend(_met_by(node, "$any"))
    return False


def _met_by(node: RuleNode, key: str) -> list[RuleNode]:
    """Return the rules that a pattern's key may meet: a name stands for any child."""
    below = [*node.children.values(), node.wildcard] if is_name(key) else [node.below(key)]
    return [each for each in below if each is not None]


def _grants(node: RuleNode) -> bool:
    return node.read is not None and node.read.compiled.constant is not False


# What gets through


def _never_mirrored(root: RuleNode, mirror: Mirror) -> Iterator[Mistake]:
    here, own = _accepted(root, mirror.source)
    there, other = _accepted(root, mirror.target)
    brought = _BOOLEAN if mirror.value is MirrorValue.TRUE and here else here
    if not brought & there:
        message = (
            f"No client can make an entry: no value suits {mirror.source} and {mirror.target}."
        )
        rules = [rule for rule in (own, other) if rule is not None]
        yield Mistake(mirror.offset, message, _asking(rules), _place(mirror))


def _never_counted(root: RuleNode, counter: Counter) -> Iterator[Mistake]:
    accepted, rule = _accepted(root, counter.place)
    if rule is not None and not accepted & _NUMBER:
        message = f"No client can add to {counter.collection}: {counter.place} takes no number."
        yield Mistake(counter.offset, message, _asking([rule]), _place(counter))


def _accepted(root: RuleNode, place: Pattern) -> tuple[Kinds, Rule | None]:
    """Return the kinds of values that may be at a place of a pattern, and the rule that says so."""
    node: RuleNode | None = root
    for key in place.keys:
        if node is None:
            return _ANY, None
        if node.validate is not None and node.validate.compiled.constant is False:
            return _NONE, node.validate
        node = node.wildcard if is_name(key) else node.below(key)
    if node is None or node.validate is None:
        return _ANY, None
    return _kinds_of(node.validate), node.validate


def _kinds_of(rule: Rule) -> Kinds:
    if rule.compiled.constant is not None:
        return _ANY if rule.compiled.constant else _NONE
    whole = rule.node
    parts = whole.operands if isinstance(whole, Logical) and whole.operator == "&&" else (whole,)
    kinds = _ANY
    for part in parts:
        kinds &= _kinds_in(part)
    return kinds


def _kinds_in(part: Node) -> Kinds:
    for method, kinds in _METHODS.items():
        if is_method_of(part, "newData", method):
            return kinds
    if isinstance(part, Binary) and part.operator == "==":
        for one, other in ((part.left, part.right), (part.right, part.left)):
            if is_method_of(one, "newData", "val") and isinstance(other, Literal):
                return _kind_of(other)
    return _ANY


def _kind_of(literal: Literal) -> Kinds:
    match literal.value:
        case bool():
            return _BOOLEAN
        case str():
            return _STRING
        case int() | float():
            return _NUMBER
        case _:
            return _NONE  # null: nothing is there then


def _asking(rules: list[Rule]) -> str:
    places = ["{}:{}".format(*rule.position()) for rule in rules]
    return f"see the .validate at {' and '.join(places)}"


def _place(declared: Mirror | Counter) -> str:
    if isinstance(declared, Mirror):
        return f"{declared.source} .mirror"
    return f"{declared.collection} .count"
