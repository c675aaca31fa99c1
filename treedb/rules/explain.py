"""Work out an explanation: ask every rule of an operation, not only until the verdict stands.

The verdict stands already when it is explained, and to explain it has steps of its own. The order
is that of the verdict: place by place, first who may write, then what is valid, from the root down.
Rules that are not asked are listed with the reason.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from treedb.errors import RuleBudgetExceeded
from treedb.paths.path import Path
from treedb.rules.cascade import Verdict, along, carried, focus, new_tree, owner_keys
from treedb.rules.derivation import Derivation
from treedb.rules.explanation import (
    ALREADY_GRANTED,
    BELOW_TARGET,
    NO_NEW_VALUE,
    NOT_CARRIED,
    Asked,
    Explanation,
    Target,
    asked_of,
)
from treedb.rules.hints import hints_for
from treedb.rules.rule import Rule, RuleNode
from treedb.rules.scope import Scope
from treedb.rules.signatures import Access
from treedb.rules.trees import Keys
from treedb.tree.patch import Patch
from treedb.tree.values import Value

_MOST_ASKED = 500
_MOST_BELOW = 20
# Every rule is asked, once for each place, and what it saw is looked up again to be shown.
_TIMES_THE_STEPS = 10


@dataclass(slots=True)
class _Log:
    """The rules of one target so far; when there is no more room they count, but are not kept."""

    scope: Scope
    room: int = _MOST_ASKED
    asked: list[Asked] = field(default_factory=list)
    granted_by: Asked | None = None
    invalid: Asked | None = None
    is_cut: bool = False

    def ask(self, rule: Rule, at: Keys) -> Asked:
        self.scope.keys = at
        evaluation = rule.traced(self.scope)
        asked = Asked(rule, at, evaluation.result) if self.is_full else asked_of(evaluation)
        if rule.access is Access.VALIDATE and not asked.result:
            self.invalid = self.invalid or asked
        self.keep(asked)
        return asked

    def keep(self, asked: Asked) -> None:
        if self.is_full:
            self.is_cut = True
        else:
            self.asked.append(asked)

    @property
    def is_full(self) -> bool:
        return len(self.asked) >= self.room

    def skip(self, rule: Rule | None, at: Keys, reason: str) -> None:
        if rule is not None:
            self.keep(Asked(rule, at, skipped=reason))

    def target(self, path: Path, derivation: Derivation | None = None) -> Target:
        return Target(path, derivation, self.granted_by, tuple(self.asked))


def explain_read(root: RuleNode, path: Path, scope: Scope, verdict: Verdict) -> Explanation:
    """Explain the verdict on a read."""
    scope.budget.left *= _TIMES_THE_STEPS
    log = _Log(scope)
    with suppress(RuleBudgetExceeded):
        _ask_for_grant(root, owner_keys(path), Access.READ, log)
    reasons = [_no_grant(path, Access.READ, log)]
    if log.granted_by is not None:
        reasons = [f"granted by {_told(log.granted_by)}"]
    targets = [log.target(path)]
    return Explanation(
        verdict.allowed,
        "read",
        path,
        scope.auth,
        scope.now,
        tuple(targets),
        _OVER_BUDGET if verdict.over_budget else reasons[0],
        () if verdict.allowed else hints_for(root, targets, scope),
        log.is_cut,
    )


def explain_write(
    root: RuleNode,
    patch: Patch,
    named: Sequence[Path],
    scope: Scope,
    verdict: Verdict,
    *,
    derived: Mapping[Path, Derivation],
    asked: tuple[str, Path],
) -> Explanation:
    """Explain the verdict on a patch.

    `named` are the places that the client named, `derived` the others; `asked` is what the client
    called the write, and where.
    """
    scope.budget.left *= _TIMES_THE_STEPS
    values = dict(patch.changes)
    targets: list[Target] = []
    reasons: list[str] = []
    room = _MOST_ASKED
    with suppress(RuleBudgetExceeded):
        for place in dict.fromkeys([*values, *named]):
            derivation = derived.get(place)
            log = _Log(scope, room)
            _explain_place(root, place, values, log, is_named=derivation is None)
            reasons += _denials(place, log, derivation)
            target = log.target(place, derivation)
            tells_something = target.asked or target.derivation or not target.allowed
            if not targets or (room > 0 and tells_something):
                targets.append(target)
                room -= max(len(target.asked), 1)
    if verdict.over_budget:
        reasons = [_OVER_BUDGET]
    return Explanation(
        verdict.allowed,
        *asked,
        scope.auth,
        scope.now,
        tuple(targets),
        reasons[0] if reasons else "every place is granted and valid",
        () if verdict.allowed else hints_for(root, targets, scope),
        room <= 0,
    )


def _explain_place(
    root: RuleNode, path: Path, values: dict[Path, Value], log: _Log, *, is_named: bool
) -> None:
    focus(log.scope, path, values.get(path), is_whole=path in values)
    if is_named:
        _ask_for_grant(root, owner_keys(path), Access.WRITE, log)
    if path in values:
        _ask_for_validity(root, path, values[path], log)


def _ask_for_grant(root: RuleNode, keys: Keys, access: Access, log: _Log) -> None:
    node = root
    for node, place in along(root, keys):
        rule = node.read if access is Access.READ else node.write
        if log.granted_by is not None:
            log.skip(rule, place, ALREADY_GRANTED)
        elif rule is not None:
            asked = log.ask(rule, place)
            if asked.result:
                log.granted_by = asked
    if log.granted_by is None and len(node.keys) == len(keys):
        for rule in rules_below(node, access):
            log.skip(rule, (*keys, *rule.keys[len(keys) :]), BELOW_TARGET)


def _ask_for_validity(root: RuleNode, path: Path, value: Value, log: _Log) -> None:
    keys = owner_keys(path)
    node = root
    for node, place in along(root, keys):
        if node.validate is not None and new_tree(log.scope).exists(place):
            log.ask(node.validate, place)
        else:
            log.skip(node.validate, place, NO_NEW_VALUE)
        if len(place) < len(keys) and not log.is_full:
            for name, child in node.children.items():
                if name != keys[len(place)]:
                    log.skip(child.validate, (*place, name), NOT_CARRIED)
    if type(value) is not dict or path.is_priority or len(node.keys) < len(keys):
        return
    _skip_absent(node, keys, value, log)
    for below, place, child_value in carried(node, keys, value):
        if below.validate is not None:
            new_tree(log.scope).focus_inside(place, child_value)
            log.ask(below.validate, place)
        _skip_absent(below, place, child_value, log)


def _skip_absent(node: RuleNode, place: Keys, value: Value, log: _Log) -> None:
    if log.is_full:
        return
    present = value if isinstance(value, dict) else {}
    for name, child in node.children.items():
        if name not in present:
            log.skip(child.validate, (*place, name), NO_NEW_VALUE)


def rules_below(node: RuleNode, access: Access) -> Iterator[Rule]:
    """Yield the first rules of a kind below a node of the rules."""
    waiting = deque([node])
    found = 0
    while waiting and found < _MOST_BELOW:
        above = waiting.popleft()
        for child in (*above.children.values(), above.wildcard):
            if child is None:
                continue
            waiting.append(child)
            rule = child.read if access is Access.READ else child.write
            if rule is not None:
                found += 1
                yield rule


def _denials(path: Path, log: _Log, derivation: Derivation | None) -> list[str]:
    if derivation is None and log.granted_by is None:
        return [_no_grant(path, Access.WRITE, log)]
    if log.invalid is not None:
        verb = "failed" if log.invalid.result is None else "is false"
        why = "" if derivation is None else f", and {path} is {derivation}"
        return [f"{_told(log.invalid)} {verb}{why}"]
    return []


def _no_grant(path: Path, access: Access, log: _Log) -> str:
    asked = any(not asked.skipped and asked.rule.access is access for asked in log.asked)
    if not asked:
        return f"there is no {access.value} rule on the path to {path}"
    return f"no {access.value} rule on the path to {path} is true"


def _told(asked: Asked) -> str:
    line, column = asked.rule.position()
    return f"{asked.rule.access.value} at /{'/'.join(asked.at)} ({line}:{column})"


_OVER_BUDGET = "the rules take too many steps"
