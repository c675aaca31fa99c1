"""The answer to "why": every rule of an operation, with what each part of it came to.

It holds plain values only, so it may be kept after the trees it was made from are gone. It is
written as JSON for programs and as text for people.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from treedb.paths.path import Path
from treedb.rules.derivation import Derivation
from treedb.rules.rule import Evaluation, Rule
from treedb.rules.runtime import CHILDREN, RuntimeValue
from treedb.rules.scope import AuthVariable, QueryVariables
from treedb.rules.signatures import Type
from treedb.rules.syntax import Literal, Span, every_part
from treedb.rules.trees import Keys

# Hides what must not be shown: gets a value, returns what to show for it.
Redact: TypeAlias = Callable[[object], object]

ALREADY_GRANTED = "already granted"
NO_NEW_VALUE = "new value is null"
NOT_CARRIED = "not carried by the write"
BELOW_TARGET = "below target"
SHORT_CIRCUIT = "short circuit"
AFTER_ERROR = "after the error"

_NO_VALUES = frozenset({Type.METHOD, Type.REGEX, Type.ARRAY})
_SHOWN_CHARACTERS = 100
_SHOWN_LEVELS = 20


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression: what it came to, why it was not evaluated, or how it failed."""

    start: int
    end: int
    value: object = None
    skipped: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A rule at a place: its result, None when it failed; or why it was not asked."""

    rule: Rule
    at: Keys
    result: bool | None = None
    skipped: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def verdict(self) -> str:
        """Return the outcome as one text."""
        if self.skipped:
            return f"skipped({self.skipped})"
        return "error" if self.result is None else str(self.result).lower()


@dataclass(frozen=True, slots=True)
class Target:
    """One place of an operation; with a `derivation` it is one that the client did not name."""

    path: Path
    derivation: Derivation | None
    granted_by: Asked | None
    asked: tuple[Asked, ...]

    @property
    def is_named(self) -> bool:
        return self.derivation is None

    @property
    def failed(self) -> tuple[Asked, ...]:
        """Return the `.validate` rules that were asked and not true."""
        return tuple(
            asked
            for asked in self.asked
            if asked.rule.access.value == ".validate" and not asked.skipped and not asked.result
        )

    @property
    def allowed(self) -> bool:
        return (self.granted_by is not None or not self.is_named) and not self.failed


@dataclass(frozen=True, slots=True)
class Explanation:
    """An operation, the verdict on it, and how it came about.

    `operation` is "read" or the kind of write; `is_cut` tells that it has more rules than shown.
    """

    allowed: bool
    operation: str
    path: Path
    auth: AuthVariable | None
    now_ms: int
    targets: tuple[Target, ...]
    reason: str
    hints: tuple[str, ...]
    is_cut: bool = False

    def to_json(self, redact: Redact = lambda value: value) -> dict[str, Any]:
        """Return the explanation as plain JSON."""
        return {
            "allowed": self.allowed,
            "operation": self.operation,
            "path": str(self.path),
            "auth": redact(plain(self.auth)),
            "now": self.now_ms,
            "targets": [_target_json(target, self.operation, redact) for target in self.targets],
            "reason": self.reason,
            "hints": list(self.hints),
            "truncated": self.is_cut,
        }

    def to_text(self) -> str:
        """Return the explanation for people, a line for each part of each rule asked."""
        head = "ALLOWED" if self.allowed else "DENIED"
        auth = "nobody (auth is null)" if self.auth is None else _short(plain(self.auth))
        lines = [f"{head} {self.operation} {self.path}", f"  as {auth}", f"  at {self.now_ms}"]
        lines.append(f"  {self.reason}")
        tells_who = any(not target.is_named for target in self.targets)
        for target in self.targets:
            lines += ["", str(target.path)]
            if tells_who:
                lines.append(f"  ({_who_chose(target)})")
            for asked in target.asked:
                lines += _asked_lines(asked)
        if self.is_cut:
            lines += ["", "(more rules were asked than are shown)"]
        if self.hints:
            lines += ["", *(f"hint: {hint}" for hint in self.hints)]
        return "\n".join(lines)


def asked_of(evaluation: Evaluation) -> Asked:
    """Describe an evaluated rule, its values as plain JSON; those of literals go without saying."""
    rule, trace = evaluation.rule, evaluation.trace
    values = dict(trace.values)
    nodes = list(every_part(rule.node))
    failed = next((node.span for node in nodes if node.span.index == trace.failed), None)
    parts = [
        Part(node.span.start, node.span.end, plain(values[node.span.index]))
        if node.span.index in values
        else _unevaluated(node.span, failed, trace.reason)
        for node in nodes
        if rule.types[node.span.index] not in _NO_VALUES and not isinstance(node, Literal)
    ]
    shown = tuple(part for part in parts if part is not None)
    return Asked(rule, evaluation.keys, evaluation.result, parts=shown)


def plain(value: RuntimeValue) -> object:
    """Return a value of a trace as JSON that says what it is."""
    if isinstance(value, tuple):
        tree, keys = value
        shown = "/" + "/".join(key or "(no key)" for key in keys)
        return {"path": shown, "exists": tree.exists(keys)}
    if value is CHILDREN:
        return {"children": True}
    if isinstance(value, QueryVariables):
        return {name: member for name, member in value.members().items() if member is not None}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _cut_claims(value, _SHOWN_LEVELS)


def _cut_claims(value: RuntimeValue, levels: int) -> object:
    """Return claims as plain JSON; those too deep to be shown are cut."""
    if not isinstance(value, Mapping | list):
        return value
    if not levels:
        return "..."
    if isinstance(value, list):
        return [_cut_claims(item, levels - 1) for item in value]
    return {name: _cut_claims(member, levels - 1) for name, member in value.items()}


def _unevaluated(span: Span, failed: Span | None, reason: str) -> Part | None:
    """Tell why a part has no value; None for those that a failure inside them left unfinished."""
    if failed is None:
        return Part(span.start, span.end, skipped=SHORT_CIRCUIT)
    if span == failed:
        return Part(span.start, span.end, error=reason)
    if span.start <= failed.start and failed.end <= span.end:
        return None
    return Part(span.start, span.end, skipped=AFTER_ERROR)


def _who_chose(target: Target) -> str:
    """Tell how a place comes to be in a write, and what is asked there because of it."""
    if target.derivation is None:
        return "named by the client"
    return f"{target.derivation}; only .validate is asked"


def _target_json(target: Target, operation: str, redact: Redact) -> dict[str, Any]:
    granted: dict[str, Any] = {"granted": target.granted_by is not None}
    if target.granted_by is not None:
        granted["by"] = _place_json(target.granted_by)
    shown: dict[str, Any] = {"path": str(target.path)}
    if operation == "read":
        shown["read"] = granted
    elif target.derivation is None:
        shown["write"] = granted
    else:
        shown["derived"] = _derivation_json(target.derivation)
    shown["evaluations"] = [_asked_json(asked, redact) for asked in target.asked]
    if operation != "read":
        failed = [_place_json(asked) for asked in target.failed]
        shown["validate"] = {"ok": not failed, "failed": failed}
    return shown


def _derivation_json(derivation: Derivation) -> dict[str, Any]:
    return {
        "by": derivation.kind,
        "from": str(derivation.origin),
        "line": derivation.line,
        "col": derivation.column,
    }


def _place_json(asked: Asked) -> dict[str, Any]:
    line, column = asked.rule.position()
    return {"node": asked.rule.pattern, "at": _path(asked.at), "line": line, "col": column}


def _asked_json(asked: Asked, redact: Redact) -> dict[str, Any]:
    rule = asked.rule
    shown: dict[str, Any] = {"kind": rule.access.value[1:], **_place_json(asked)}
    shown["bindings"] = {
        name: key for name, key in zip(rule.keys, asked.at, strict=True) if name.startswith("$")
    }
    shown["expr"] = rule.expression
    shown["result"] = asked.verdict if asked.skipped or asked.result is None else asked.result
    if not asked.skipped:
        shown["trace"] = [_part_json(part, rule, redact) for part in asked.parts]
    return shown


def _part_json(part: Part, rule: Rule, redact: Redact) -> dict[str, Any]:
    line, column = rule.position(part.start)
    shown: dict[str, Any] = {"span": [part.start, part.end], "line": line, "col": column}
    if part.error:
        return {**shown, "error": part.error}
    if part.skipped:
        return {**shown, "skipped": part.skipped}
    return {**shown, "value": redact(part.value)}


def _asked_lines(asked: Asked) -> list[str]:
    rule = asked.rule
    line, column = rule.position()
    at = f" at {_path(asked.at)}" if asked.at != rule.keys else ""
    head = f"  {rule.pattern} {rule.access.value}{at} ({line}:{column}) => {asked.verdict}"
    return [head, *(f"      {_part_line(part, rule)}" for part in asked.parts)]


def _part_line(part: Part, rule: Rule) -> str:
    text = " ".join(rule.expression[part.start : part.end].split())
    if part.error:
        return f"{text}  => error: {part.error}"
    if part.skipped:
        return f"{text}  ({part.skipped})"
    return f"{text}  => {_short(part.value)}"


def _short(value: object) -> str:
    if isinstance(value, dict) and value.keys() == {"path", "exists"}:
        return f"{value['path']} ({'exists' if value['exists'] else 'nothing there'})"
    if value == {"children": True}:
        return "{children}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"


def _path(keys: Keys) -> str:
    return "/" + "/".join(keys)
