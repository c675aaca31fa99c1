"""Warn of rules that load but hardly say what their author meant.

A warning is no error: such a file loads. What is looked for stands in `lint_rules`, one expression
at a time, in `lint_nodes`, a node and its children, and in `lint_derived`, mirrors and counts; what
needs the way from the root is here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treedb.errors import Finding
from treedb.rules.lint_derived import derived_warnings
from treedb.rules.lint_nodes import NODE_CHECKS, WRITABLE_NODE_CHECKS, remark_on
from treedb.rules.lint_rules import RULE_CHECKS
from treedb.rules.rule import RuleNode
from treedb.rules.ruleset import Ruleset
from treedb.rules.signatures import Access
from treedb.rules.source import Mistake, findings_of

_MOST_WARNINGS: Final = 200


def lint(ruleset: Ruleset) -> tuple[Finding, ...]:
    """Return warnings about a ruleset, in the order of its file."""
    mistakes = [*_rule_warnings(ruleset), *_node_warnings(ruleset), *derived_warnings(ruleset)]
    return findings_of(ruleset.source, mistakes, _MOST_WARNINGS)


def _rule_warnings(ruleset: Ruleset) -> Iterator[Mistake]:
    for rule in ruleset.rules:
        place = f"{rule.pattern} {rule.access.value}"
        for check in RULE_CHECKS:
            for index, message, hint in check(rule):
                yield Mistake(rule.text.offset(index), message, hint, place)


@dataclass(frozen=True, slots=True)
class _Above:
    """What the rules above a node mean for it: what they always grant, and if they may grant."""

    granted: frozenset[Access] = frozenset()
    is_writable: bool = False


def _node_warnings(ruleset: Ruleset) -> Iterator[Mistake]:
    depth = ruleset.limits.depth
    waiting = [(ruleset.root, _Above())]
    while waiting:
        node, above = waiting.pop()
        yield from _unreachable(node, above.granted)
        here = _with_rules_of(node, above)
        for check in NODE_CHECKS:
            yield from check(node)
        if here.is_writable:
            for check in WRITABLE_NODE_CHECKS:
                yield from check(node)
        if len(node.keys) == depth + 1:
            yield remark_on(node, f"Data is at most {depth} levels deep: nothing is ever here.", "")
            continue
        children = [*node.children.values(), *([node.wildcard] if node.wildcard else [])]
        waiting.extend((child, here) for child in children)


def _with_rules_of(node: RuleNode, above: _Above) -> _Above:
    rules = [rule for rule in (node.read, node.write) if rule is not None]
    always = {rule.access for rule in rules if rule.compiled.constant is True}
    may_write = node.write is not None and node.write.compiled.constant is not False
    return _Above(above.granted | always, above.is_writable or may_write)


def _unreachable(node: RuleNode, granted: frozenset[Access]) -> Iterator[Mistake]:
    for rule in (node.read, node.write):
        if rule is not None and rule.access in granted:
            message = f"This rule is never asked: a {rule.access.value} above it is always true."
            yield Mistake(rule.text.offset(0), message, "", f"{rule.pattern} {rule.access.value}")
