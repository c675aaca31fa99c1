"""Run the cases an author writes down for a ruleset: what must be allowed, and what denied.

    {
      "data": {"rooms": {"r1": {"open": true}}},
      "users": {"zoe": {"uid": "zoe", "token": {"plan": "pro"}}},
      "tests": [
        {"name": "strangers cannot read", "read": "/rooms/r1", "expect": "deny"},
        {"as": "zoe", "set": "/rooms/r1/open", "value": false, "expect": "allow"},
        {"as": "zoe", "update": "/", "value": {"rooms/r2/open": true}, "expect": "deny"},
        {"as": {"uid": "max"}, "remove": "/rooms/r1", "expect": "deny"}
      ]
    }

`as` is a name among `users`, an object that is `auth` itself, or null. Every test starts from
`data`, or from its own, at the time `now`, or its own. To the data and to every write is added
what mirrors and counts derive, as the server does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final, TypeAlias

from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidData, TreeError
from treedb.paths.path import ROOT, Path
from treedb.rules.explanation import Explanation
from treedb.rules.ruleset import Ruleset
from treedb.rules.scope import REALTIME_READ, AuthVariable, QueryVariables
from treedb.rules.signatures import QUERY_MEMBERS
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader, ValueReader
from treedb.tree.server_values import resolve_at
from treedb.tree.values import Value, normal_form

NOW: Final = 1_700_000_000_000

_OPERATIONS: Final = ("read", "set", "update", "remove")
_EXPECTED: Final = {"allow": True, "deny": False}
_FILE_MEMBERS: Final = frozenset({"data", "users", "now", "tests"})
_CASE_MEMBERS: Final = frozenset({"name", "as", "value", "query", "data", "now", "expect"})
_QUERY_FIELDS: Final = dict(
    zip(QUERY_MEMBERS, (field.name for field in fields(QueryVariables)), strict=True)
)


# Adds what mirrors and counts derive, as the server does; given, because it is no part of the rules.
Derive: TypeAlias = Callable[[Patch, Reader, Ruleset], Patch]


@dataclass(frozen=True, slots=True)
class Case:
    """One operation on some data, and whether it is to be allowed."""

    name: str
    operation: str
    path: Path
    value: object
    auth: AuthVariable | None
    query: QueryVariables
    data: Value
    now_ms: int
    allowed: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case and what the rules said."""

    case: Case
    explanation: Explanation

    @property
    def passed(self) -> bool:
        return self.explanation.allowed is self.case.allowed


def read_cases(document: object) -> tuple[Case, ...]:
    """Return the cases of a parsed file; InvalidData tells which test is wrong, and how."""
    whole = _object(document, "the file")
    _refuse_unknown(whole, _FILE_MEMBERS, "the file")
    tests = whole.get("tests")
    if not isinstance(tests, list):
        raise InvalidData('the file has no "tests": they are an array of objects')
    cases = []
    for number, raw in enumerate(tests, start=1):
        try:
            cases.append(_case(_object(raw, "the test"), whole, number))
        except TreeError as error:
            raise InvalidData(f"test {number}: {error.reason}") from error
    return tuple(cases)


def run_cases(ruleset: Ruleset, cases: Sequence[Case], derive: Derive) -> tuple[Outcome, ...]:
    """Ask the rules about every case; InvalidData for a write that is none."""
    return tuple(Outcome(case, _explain(ruleset, case, derive)) for case in cases)


def format_outcomes(outcomes: Sequence[Outcome]) -> str:
    """Write a line for each case, an explanation for each that failed, and the sums."""
    lines = []
    for number, outcome in enumerate(outcomes, start=1):
        lines.append(f"{'ok' if outcome.passed else 'FAILED'} {number} {outcome.case.name}")
        if not outcome.passed:
            expected = "allowed" if outcome.case.allowed else "denied"
            lines.append(f"    expected to be {expected}")
            lines += [f"    {line}".rstrip() for line in outcome.explanation.to_text().split("\n")]
    failed = sum(not outcome.passed for outcome in outcomes)
    lines.append(f"{len(outcomes) - failed} passed, {failed} failed")
    return "\n".join(lines)


def query_variables(members: Mapping[str, Any]) -> QueryVariables:
    """Return the query that names like `orderByChild` describe; without an order, by priority."""
    unknown = members.keys() - QUERY_MEMBERS.keys()
    if unknown:
        raise InvalidData(f"a query has no {min(unknown)!r}")
    named = {_QUERY_FIELDS[name]: value for name, value in members.items()}
    has_order = any(name.startswith("orderBy") for name in members)
    return QueryVariables(**named if has_order else {**named, "order_by_priority": True})


def _case(raw: dict[str, Any], whole: dict[str, Any], number: int) -> Case:
    named = [operation for operation in _OPERATIONS if operation in raw]
    if len(named) != 1:
        raise InvalidData(f"it has one of {', '.join(_OPERATIONS)}, with a path")
    [operation] = named
    _refuse_unknown(raw, _CASE_MEMBERS | {operation}, "the test")
    if raw.get("expect") not in _EXPECTED:
        raise InvalidData('"expect" is "allow" or "deny"')
    if not isinstance(raw[operation], str):
        raise InvalidData(f"the path of {operation!r} is a string")
    if operation in {"set", "update"} and "value" not in raw:
        raise InvalidData('it has no "value"')
    path = Path.parse(raw[operation], allow_priority=True)
    now_ms = raw.get("now", whole.get("now", NOW))
    if type(now_ms) is not int:
        raise InvalidData('"now" is a whole number of milliseconds')
    query = raw.get("query")
    return Case(
        raw.get("name") or f"{operation} {path} #{number}",
        operation,
        path,
        raw.get("value"),
        _auth(raw.get("as"), whole),
        REALTIME_READ if query is None else query_variables(_object(query, "the query")),
        _value(raw.get("data", whole.get("data")), Path(()), ValueReader(None), now_ms),
        now_ms,
        _EXPECTED[raw["expect"]],
    )


def _auth(raw: object, whole: dict[str, Any]) -> AuthVariable | None:
    if raw is None:
        return None
    if not isinstance(raw, str):
        return _object(raw, '"as"')
    users = _object(whole.get("users", {}), '"users"')
    if raw not in users:
        raise InvalidData(f'there is no {raw!r} among the "users"')
    user = users[raw]
    return None if user is None else _object(user, f"the user {raw!r}")


def _explain(ruleset: Ruleset, case: Case, derive: Derive) -> Explanation:
    before = _tree_of(case, ruleset, derive)
    if case.operation == "read":
        return ruleset.explain_read(
            case.path, before, auth=case.auth, now_ms=case.now_ms, query=case.query
        )
    named = _patch(case, before)
    explain = partial(
        ruleset.explain_write,
        before=before,
        auth=case.auth,
        now_ms=case.now_ms,
        named=[path for path, _ in named.changes],
        operation=case.operation,
        path=case.path,
    )
    try:
        patch = derive(named, before, ruleset)
    except TreeError as refusal:
        # As on the server, the rules are asked first: the refusal tells something of the tree.
        found = explain(named, after=Overlay(before, named))
        reason = f"the server refuses it: {refusal.reason}" if found.allowed else found.reason
        return replace(found, allowed=False, reason=reason)
    return explain(patch, after=Overlay(before, patch))


def _tree_of(case: Case, ruleset: Ruleset, derive: Derive) -> Reader:
    """Return the case's data with what is derived of it; InvalidData where it contradicts itself."""
    if case.data is None:
        return ValueReader(None)
    whole = Patch(((ROOT, case.data),))
    try:
        [(_, value)] = derive(whole, ValueReader(None), ruleset).changes
    except TreeError as error:
        raise InvalidData(f"the data: {error.reason}") from error
    return ValueReader(value)


def _patch(case: Case, before: Reader) -> Patch:
    if case.operation != "update":
        raw = None if case.operation == "remove" else case.value
        return Patch(((case.path, _value(raw, case.path, before, case.now_ms)),))
    members = _object(case.value, f"the value of {case.name!r}")
    paths = {
        case.path.join(Path.parse(key, allow_priority=True).keys): raw
        for key, raw in members.items()
    }
    return Patch.of((path, _value(raw, path, before, case.now_ms)) for path, raw in paths.items())


def _value(raw: object, path: Path, before: Reader, now_ms: int) -> Value:
    if path.is_priority and isinstance(raw, dict | list | bool):
        raise InvalidData(f"{path} is a number, a string or null")
    normal = normal_form(raw, path.depth, DEFAULT_LIMITS)
    return resolve_at(path, normal.value, before, now_ms)


def _object(raw: object, what: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise InvalidData(f"{what} is an object")
    return raw


def _refuse_unknown(raw: dict[str, Any], known: frozenset[str], what: str) -> None:
    unknown = sorted(raw.keys() - known)
    if unknown:
        raise InvalidData(f"{what} has no {unknown[0]!r}")
