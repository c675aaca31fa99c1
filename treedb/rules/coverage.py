"""Count what was asked of the rules: how often each rule, and each part of it, came to what.

Counts of several workers, or of several test runs, add up in any order: what is kept of values
is a sum, and beyond a number of distinct ones only their types are.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from treedb.paths.path import Path
from treedb.rules.rule import Evaluation, Rule
from treedb.rules.ruleset import Index, Ruleset
from treedb.rules.runtime import CHILDREN, RuntimeValue
from treedb.rules.scope import Scope
from treedb.rules.signatures import Type
from treedb.rules.syntax import Node, every_part

# Distinct values told of one part, and characters of one of them.
_MOST_VALUES: Final = 10
_MOST_CHARACTERS: Final = 60

_NO_VALUES: Final = frozenset({Type.METHOD, Type.REGEX, Type.ARRAY})
_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    tuple: "snapshot",
    dict: "object",
    list: "list",
}


@dataclass(slots=True)
class PartCount:
    """What one part came to: how often, of which types, and which values unless too many."""

    count: int = 0
    types: Counter[str] = field(default_factory=Counter)
    values: Counter[str] | None = field(default_factory=Counter)

    def add(self, value: RuntimeValue) -> None:
        self.count += 1
        self.types["children" if value is CHILDREN else _TYPES.get(type(value), "query")] += 1
        if self.values is not None and type(value) in {type(None), bool, int, float, str}:
            self.values[_text(value)] += 1
            if len(self.values) > _MOST_VALUES:
                self.values = None


@dataclass(slots=True)
class RuleCount:
    """How often a rule was asked, what it answered, and what its parts came to."""

    results: Counter[bool | None]
    parts: dict[int, PartCount]


class Coverage:
    """The counts of one ruleset. Give `ask` to its checks to have them counted.

    Several threads may count at once; now and then one count is lost by that.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset
        self._rules = {rule: RuleCount(Counter(), {}) for rule in ruleset.rules}
        self._hits: Counter[tuple[tuple[str, ...], str]] = Counter()

    def ask(self, rule: Rule, scope: Scope) -> bool:
        """Ask a rule and count what came of it."""
        evaluation = rule.traced(scope)
        self.add(evaluation)
        return evaluation.result is True

    def add(self, evaluation: Evaluation) -> None:
        """Count a rule that was asked."""
        count = self._rules[evaluation.rule]
        count.results[evaluation.result] += 1
        for index, value in evaluation.trace.values:
            count.parts.setdefault(index, PartCount()).add(value)

    def add_query(self, path: Path, name: str) -> None:
        """Count a query of a place's children that an `.indexOn` name served."""
        node = self._ruleset.root
        for key in path.keys:
            below = node.below(key)
            if below is None:
                return
            node = below
        self._hits[node.keys, name] += 1

    def report(self) -> dict[str, Any]:
        """Return the counts as JSON; reports of one rules text add up with `merge_reports`."""
        rules = [_rule_report(rule, count) for rule, count in self._rules.items()]
        indexes = [
            _index_report(index, self._hits[index.keys, index.name])
            for index in self._ruleset.indexes
        ]
        return {"rules": rules, "indexes": indexes, "totals": _totals(rules, indexes)}


def merge_reports(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Add up reports of the same rules text; there is at least one."""
    first, *others = reports
    rules = [
        _merged_rule(same) for same in zip(*(report["rules"] for report in reports), strict=True)
    ]
    indexes = [
        {**same[0], "hits": sum(index["hits"] for index in same)}
        for same in zip(*(report["indexes"] for report in reports), strict=True)
    ]
    assert all(len(other["rules"]) == len(first["rules"]) for other in others)
    return {"rules": rules, "indexes": indexes, "totals": _totals(rules, indexes)}


def _rule_report(rule: Rule, count: RuleCount) -> dict[str, Any]:
    line, column = rule.position()
    evaluated = count.results.total()
    results = {
        "evaluated": evaluated,
        "true": count.results[True],
        "false": count.results[False],
        "error": count.results[None],
    }
    parts = [
        _part_report(rule, node, count.parts.get(node.span.index, PartCount()), evaluated)
        for node in every_part(rule.node)
        if rule.types[node.span.index] not in _NO_VALUES
    ]
    return {
        "node": rule.pattern,
        "kind": rule.access.value[1:],
        "line": line,
        "col": column,
        "expr": rule.expression,
        **results,
        "status": _status(results),
        "parts": parts,
    }


def _part_report(rule: Rule, node: Node, count: PartCount, evaluated: int) -> dict[str, Any]:
    line, column = rule.position(node.span.start)
    return {
        "span": [node.span.start, node.span.end],
        "line": line,
        "col": column,
        "boolean": rule.types[node.span.index] is Type.BOOLEAN,
        "count": count.count,
        "skipped": evaluated - count.count,
        "types": dict(sorted(count.types.items())),
        "values": None if count.values is None else dict(sorted(count.values.items())),
    }


def _index_report(index: Index, hits: int) -> dict[str, Any]:
    return {
        "node": "/" + "/".join(index.keys),
        "name": index.name,
        "line": index.line,
        "col": index.column,
        "hits": hits,
    }


def _merged_rule(same: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = ("evaluated", "true", "false", "error")
    results = {name: sum(rule[name] for rule in same) for name in names}
    parts = [_merged_part(part) for part in zip(*(rule["parts"] for rule in same), strict=True)]
    return {**same[0], **results, "status": _status(results), "parts": parts}


def _merged_part(same: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values = None
    if all(part["values"] is not None for part in same):
        values = _sum(part["values"] for part in same)
    return {
        **same[0],
        "count": sum(part["count"] for part in same),
        "skipped": sum(part["skipped"] for part in same),
        "types": _sum(part["types"] for part in same),
        "values": None if values is None or len(values) > _MOST_VALUES else values,
    }


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))


def _status(results: dict[str, int]) -> str:
    """Sum up a rule in one word: never asked, always one way, both ways, or it failed."""
    if not results["evaluated"]:
        return "never"
    if results["error"]:
        return "error"
    if results["true"] and results["false"]:
        return "mixed"
    return "allow" if results["true"] else "deny"


def _totals(rules: Sequence[dict[str, Any]], indexes: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Count rules asked, and of every boolean part which of its two outcomes were seen."""
    booleans = [part for rule in rules for part in rule["parts"] if part["boolean"]]
    return {
        "rules": len(rules),
        "rules_evaluated": sum(rule["evaluated"] > 0 for rule in rules),
        "outcomes": 2 * len(booleans),
        "outcomes_seen": sum(len(part["values"]) for part in booleans),
        "indexes": len(indexes),
        "indexes_hit": sum(index["hits"] > 0 for index in indexes),
    }


def _text(value: RuntimeValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
