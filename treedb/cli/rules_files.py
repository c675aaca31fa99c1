"""What an author does with a rules file: check it, have a verdict explained, run its tests.

Each function returns what there is to tell and the code to end with; nothing is printed here. A
file that cannot be read, or a question that is none, is WrongUse.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any, Final

from treedb.auth.identity import Auth
from treedb.config import DEFAULT_LIMITS
from treedb.errors import Finding, RulesError, TreeError, WrongUse
from treedb.paths.path import Path
from treedb.rules.cases import (
    Case,
    Outcome,
    format_outcomes,
    query_variables,
    read_cases,
    run_cases,
)
from treedb.rules.lint import lint
from treedb.rules.loader import parse_rules
from treedb.rules.ruleset import Ruleset
from treedb.rules.scope import REALTIME_READ, AuthVariable
from treedb.rules.source import format_findings
from treedb.tree.json_text import parse_json
from treedb.tree.server_values import resolve
from treedb.tree.values import Value, normal_form
from treedb.writes.derive import derive

DONE: Final = 0
FAILED: Final = 1
STDIN: Final = "-"
# As the command line calls an operation, and as the rules' tests do. To write is to set a place.
OPERATIONS: Final = {"read": "read", "write": "set", "update": "update"}


@dataclass(frozen=True, slots=True)
class Report:
    """What a command has to tell, and the code it ends with."""

    text: str
    code: int = DONE


@dataclass(frozen=True, slots=True)
class Question:
    """An operation as it stands on the command line; None is what was left out.

    `value` and `query` are JSON, `data` is JSON or a file of it, `auth` is JSON or a user's id.
    """

    operation: str
    path: str
    value: str | None
    data: str | None
    auth: str | None
    query: str | None
    now_ms: int


def check(file: str) -> Report:
    """List all mistakes of a rules file; or what its mirrors and counts mean, and its warnings.

    rules.json:3:20: Unknown variable 'atuh'. (/rooms .read)
        ".read": "atuh != null"
                  ^ did you mean 'auth'?
    rules.json: 1 mistake
    """
    ruleset = load_rules(file)
    if isinstance(ruleset, Report):
        return ruleset
    name = _name_of(file)
    meanings = [f"{name}:{meaning}" for meaning in ruleset.meanings()]
    warnings = [
        replace(finding, message=f"warning: {finding.message}") for finding in lint(ruleset)
    ]
    summary = f"{name}: no mistakes, {_counted(len(warnings), 'warning')}"
    return Report("\n".join([*meanings, *_listed(warnings, name), summary]))


def explain(file: str, question: Question, *, as_json: bool) -> Report:
    """Tell why a rules file allows or denies an operation, with the value of every part."""
    ruleset = load_rules(file)
    if isinstance(ruleset, Report):
        return ruleset
    with _wrong_use():
        [outcome] = run_cases(ruleset, [_case_of(question)], derive)
    explanation = outcome.explanation
    return Report(_json_text(explanation.to_json()) if as_json else explanation.to_text())


def run_tests(file: str, tests: str, *, as_json: bool) -> Report:
    """Run a file of tests against a rules file; those that fail are explained."""
    ruleset = load_rules(file)
    if isinstance(ruleset, Report):
        return ruleset
    outcomes = _outcomes(ruleset, tests)
    code = DONE if all(outcome.passed for outcome in outcomes) else FAILED
    return Report(
        _json_text(_outcomes_json(outcomes)) if as_json else format_outcomes(outcomes), code
    )


def load_rules(file: str) -> Ruleset | Report:
    """Return the rules of a file, or the list of its mistakes."""
    text, name = read_text(file), _name_of(file)
    try:
        return parse_rules(text)
    except RulesError as error:
        count = len(error.findings)
        cut = ", and there may be more" if count >= DEFAULT_LIMITS.rules_findings else ""
        summary = f"{name}: {_counted(count, 'mistake')}{cut}"
        return Report("\n".join([*_listed(error.findings, name), summary]), FAILED)


def read_text(file: str) -> str:
    """Return a file's text as it stands, or that of standard input for `-`."""
    try:
        data = sys.stdin.buffer.read() if file == STDIN else FilePath(file).read_bytes()
        return data.decode()
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WrongUse(f"{_name_of(file)} is not UTF-8 from byte {error.start} on.") from error


def _name_of(file: str) -> str:
    return "stdin" if file == STDIN else file


def _listed(findings: Sequence[Finding], name: str) -> Iterator[str]:
    if findings:
        yield format_findings(findings, name)


def _counted(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


# Questions


def _case_of(question: Question) -> Case:
    _check_parts(question)
    query = question.query
    return Case(
        name=question.operation,
        operation=OPERATIONS[question.operation],
        path=Path.parse(question.path, allow_priority=True),
        value=_value_of(question),
        auth=_auth_of(question.auth),
        query=REALTIME_READ if query is None else query_variables(_object(query, "--query")),
        data=_data_of(question.data, question.now_ms),
        now_ms=question.now_ms,
        allowed=True,
    )


def _check_parts(question: Question) -> None:
    """Raise WrongUse for an operation that is none, or has too little or too much."""
    operation = question.operation
    if operation not in OPERATIONS:
        raise WrongUse(f"there is no operation {operation!r}; allowed: {', '.join(OPERATIONS)}.")
    if operation == "read" and question.value is not None:
        raise WrongUse("a read has no VALUE; leave it out.")
    if operation != "read" and question.value is None:
        raise WrongUse(f"{operation} has no VALUE; give it as JSON, null to remove.")
    if operation != "read" and question.query is not None:
        raise WrongUse("--query is for a read; leave it out.")


def _value_of(question: Question) -> object:
    text = question.value
    if text is None:
        return None
    value = _json(read_text(STDIN) if text == STDIN else text, "VALUE")
    if question.operation == "update" and not isinstance(value, dict):
        raise WrongUse(f"update has the VALUE {text}; give an object of paths and their values.")
    return value


def _auth_of(text: str | None) -> AuthVariable | None:
    """Return what rules see as `auth`: JSON as it stands, or that of a user without claims."""
    if text is None or text == "null":
        return None
    if text.startswith("{"):
        return _object(text, "--auth")
    if not text:
        raise WrongUse("--auth is empty; give a user's id or JSON, or leave it out.")
    return Auth(text, {"sub": text}, is_admin=False, expires_at_ms=None).seen_by_rules


def _data_of(text: str | None, now_ms: int) -> Value:
    """Return the tree that --data names: JSON itself when it begins as an object does."""
    if text is None:
        return None
    raw = text if text.lstrip().startswith("{") else read_text(text)
    normal = normal_form(_json(raw, "--data"), 0, DEFAULT_LIMITS)
    return resolve(normal.value, lambda _: None, now_ms)


def _object(text: str, what: str) -> dict[str, Any]:
    found = _json(text, what)
    if not isinstance(found, dict):
        raise WrongUse(f"{what} is {text}; a JSON object is needed.")
    return found


def _json(text: str, what: str) -> object:
    try:
        return parse_json(text.encode(errors="surrogateescape"))
    except TreeError as error:
        hint = "; a text has quotes of its own, as in '\"hello\"'" if what == "VALUE" else ""
        raise WrongUse(f"{what}: {error.reason}{hint}") from error


# Tests


def _outcomes(ruleset: Ruleset, tests: str) -> tuple[Outcome, ...]:
    name = _name_of(tests)
    document = _json(read_text(tests), name)
    with _wrong_use(f"{name}: "):
        return run_cases(ruleset, read_cases(document), derive)


def _outcomes_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    failed = sum(not outcome.passed for outcome in outcomes)
    return {
        "passed": len(outcomes) - failed,
        "failed": failed,
        "tests": [
            {
                "name": outcome.case.name,
                "expect": "allow" if outcome.case.allowed else "deny",
                "passed": outcome.passed,
                "explanation": outcome.explanation.to_json(),
            }
            for outcome in outcomes
        ],
    }


def _json_text(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2)


@contextmanager
def _wrong_use(prefix: str = "") -> Iterator[None]:
    """Let what an operation is refused for, before rules are asked, end the command as wrong use."""
    try:
        yield
    except WrongUse:
        raise
    except TreeError as error:
        raise WrongUse(f"{prefix}{error.reason}") from error
