"""The likely reasons behind a denial, each with its way out."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from treedb.errors import RuleBudgetExceeded
from treedb.rules.cascade import along, owner_keys
from treedb.rules.explanation import BELOW_TARGET, Asked, Target
from treedb.rules.rule import RuleNode
from treedb.rules.runtime import split_path
from treedb.rules.scope import NO_QUERY, REALTIME_READ, REST_READ, Scope
from treedb.rules.signatures import Access
from treedb.rules.syntax import Array, Call, Literal, Member, Name, Node, every_part

_MOST = 10
_STEPS = 100_000


def hints_for(root: RuleNode, targets: Sequence[Target], scope: Scope) -> tuple[str, ...]:
    """Return hints for the targets that are denied, each once; looking for them has steps of its own."""
    found: dict[str, None] = {}
    scope.budget.left = _STEPS
    with suppress(RuleBudgetExceeded):
        for target in targets:
            for hint in () if target.allowed else _hints(root, target, scope):
                found[hint] = None
                if len(found) == _MOST:
                    return tuple(found)
    return tuple(found)


def _hints(root: RuleNode, target: Target, scope: Scope) -> Iterator[str]:
    for asked in target.asked:
        if asked.skipped == BELOW_TARGET:
            yield (
                f"{asked.rule.access.value} at {_path(asked)} is below the place asked for and "
                "was not considered: a rule counts for its place and all below it"
            )
        elif not asked.skipped and not asked.result:
            yield from _hints_for_rule(asked, scope)
    yield from _hidden_wildcards(root, target)


def _hints_for_rule(asked: Asked, scope: Scope) -> Iterator[str]:
    rule = asked.rule
    for part in asked.parts:
        if part.error:
            text = " ".join(rule.expression[part.start : part.end].split())
            yield f"{rule.access.value} at {_path(asked)} failed in {text!r}: {part.error}"
    if scope.auth is None and "auth" in rule.variables:
        yield f"{rule.access.value} at {_path(asked)} looks at auth, and nobody is signed in"
    if "query" in rule.variables and scope.query in {NO_QUERY, REALTIME_READ, REST_READ}:
        yield f"{rule.access.value} at {_path(asked)} asks for a query, and there was none"
    missing = _missing_children(asked, scope)
    if missing:
        names = ", ".join(missing)
        yield f"{rule.access.value} at {_path(asked)} wants children that are not there: {names}"


def _missing_children(asked: Asked, scope: Scope) -> list[str]:
    """Return the names in a rule's `newData.hasChildren([...])` that the new value lacks."""
    if asked.rule.access is Access.READ:
        return []
    names = [
        item.value
        for node in every_part(asked.rule.node)
        if isinstance(node, Call) and _is_about_new_data(node.function)
        for argument in node.arguments
        if isinstance(argument, Array)
        for item in argument.items
        if isinstance(item, Literal)
    ]
    return [
        name
        for name in names
        if isinstance(name, str) and not scope.new.exists(asked.at + split_path(name))
    ]


def _is_about_new_data(function: Node) -> bool:
    return (
        isinstance(function, Member)
        and isinstance(function.target, Name)
        and function.target.name == "newData"
    )


def _hidden_wildcards(root: RuleNode, target: Target) -> Iterator[str]:
    keys = owner_keys(target.path)
    for node, place in along(root, keys):
        if len(place) == len(keys) or node.wildcard is None:
            continue
        key = keys[len(place)]
        if key in node.children:
            yield (
                f"the rules for {key!r} at /{'/'.join((*place, key))} hide those of "
                f"{node.wildcard.keys[-1]} beside it"
            )


def _path(asked: Asked) -> str:
    return "/" + "/".join(asked.at)
