"""Which rules decide an operation, and how their answers combine.

    read     any `.read` true on the way from the root to the place
    write    for each place named, any `.write` true on the way there; and every `.validate` true
             on the way to each place changed and inside its new value, where there is a value

Rules below a place never grant it. All rules of a write see one tree before and one after it. A
node without a new value is not validated, and neither is what the write does not carry.
Source: Firebase's "Understand Firebase Realtime Database Security Rules".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from treedb.paths.path import Path
from treedb.rules.rule import Rule, RuleNode
from treedb.rules.scope import Scope
from treedb.rules.trees import Keys, NewTree
from treedb.tree.patch import Patch
from treedb.tree.values import Value, children

# How a rule is asked: `Rule.holds`, or something that looks on.
Ask: TypeAlias = Callable[[Rule, Scope], bool]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say of an operation.

    `rule` is the `.read` that grants a read, or the `.validate` that denies a write, and `at` the
    keys of the place where it was asked. `over_budget` tells of a denial because of what the rules
    cost: worth a line in the log.
    """

    allowed: bool
    rule: Rule | None = None
    at: Keys = ()
    over_budget: bool = False


ALLOWED: Final = Verdict(True)
DENIED: Final = Verdict(False)
OVER_BUDGET: Final = Verdict(False, over_budget=True)


def along(root: RuleNode, keys: Keys) -> Iterator[tuple[RuleNode, Keys]]:
    """Yield the rules on the way to a place and the place of each, the root first."""
    yield root, ()
    node: RuleNode | None = root
    for depth, key in enumerate(keys, start=1):
        node = node.below(key) if node else None
        if node is None:
            return
        yield node, keys[:depth]


def carried(node: RuleNode, keys: Keys, value: Value) -> Iterator[tuple[RuleNode, Keys, Value]]:
    """Yield the nodes inside a value that have rules to validate by, depth first in key order."""
    waiting = [(node, keys, children(value))]
    while waiting:
        above, place, members = waiting[-1]
        for key, child in members:
            below = above.below(key)
            if below is None or not below.validates:
                continue
            here = (*place, key)
            yield below, here, child
            if type(child) is dict:
                waiting.append((below, here, children(child)))
                break
        else:
            waiting.pop()


def judge_read(root: RuleNode, keys: Keys, scope: Scope, ask: Ask) -> Verdict:
    """Ask the `.read` rules on the way to a place until one grants."""
    for node, place in along(root, keys):
        rule = node.read
        if rule is not None:
            scope.keys = place
            if ask(rule, scope):
                return Verdict(True, rule, place)
    return DENIED


def judge_write(
    root: RuleNode, patch: Patch, named: Sequence[Path], scope: Scope, ask: Ask
) -> Verdict:
    """Ask for every named place whether it may be written, for every change whether it is valid."""
    ask_above = ask if len(named) + len(patch.changes) <= 2 else _asking_once(ask)
    values = dict(patch.changes)
    for path in named:
        focus(scope, path, values.get(path), is_whole=path in values)
        if not _may_write(root, owner_keys(path), scope, ask_above):
            return DENIED
    for path, value in patch.changes:
        focus(scope, path, value, is_whole=True)
        verdict = _judge_value(root, path, value, scope, (ask_above, ask))
        if not verdict.allowed:
            return verdict
    return ALLOWED


def focus(scope: Scope, path: Path, value: Value, *, is_whole: bool) -> None:
    """Let the new tree answer from a value that a change puts at its place as a whole."""
    new = new_tree(scope)
    if is_whole and not path.is_priority:
        new.focus_on(path.keys, value)
    else:
        new.blur()


def new_tree(scope: Scope) -> NewTree:
    assert isinstance(scope.new, NewTree), "a write has a tree after it"
    return scope.new


def owner_keys(path: Path) -> Keys:
    """Return the keys of a place; of a priority, those of the node that has it."""
    return path.keys[:-1] if path.is_priority else path.keys


def _may_write(root: RuleNode, keys: Keys, scope: Scope, ask: Ask) -> bool:
    for node, place in along(root, keys):
        rule = node.write
        if rule is not None:
            scope.keys = place
            if ask(rule, scope):
                return True
    return False


def _judge_value(
    root: RuleNode, path: Path, value: Value, scope: Scope, asks: tuple[Ask, Ask]
) -> Verdict:
    """Ask the `.validate` rules on the way to a change, then those for what its value holds."""
    ask_above, ask = asks
    new = new_tree(scope)
    keys = owner_keys(path)
    # Whatever lies above a value exists; of a removal or a priority it has to be found out.
    is_certain = value is not None and not path.is_priority
    node = root
    for node, place in along(root, keys):
        rule = node.validate
        if rule is not None and (is_certain or new.exists(place)):
            scope.keys = place
            if not ask_above(rule, scope):
                return Verdict(False, rule, place)
    if type(value) is not dict or len(node.keys) < len(keys):
        return ALLOWED
    for below, place, child in carried(node, keys, value):
        rule = below.validate
        scope.budget.spend(1)
        if rule is not None:
            scope.keys = place
            new.focus_inside(place, child)
            if not ask(rule, scope):
                return Verdict(False, rule, place)
    return ALLOWED


def _asking_once(ask: Ask) -> Ask:
    """Ask each rule once for each place: the changes of an update share what lies above them."""
    known: dict[tuple[Rule, Keys], bool] = {}

    def ask_once(rule: Rule, scope: Scope) -> bool:
        question = rule, scope.keys
        answer = known.get(question)
        if answer is None:
            answer = known[question] = ask(rule, scope)
        return answer

    return ask_once
