"""The scenario and loading tables of tests/spec, run on the evaluator alone."""

import json
from pathlib import Path as File
from typing import Any

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RulesError
from treedb.paths.path import Path
from treedb.rules.loader import parse_rules
from treedb.rules.scope import REALTIME_READ, QueryVariables
from treedb.rules.signatures import QUERY_MEMBERS
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.server_values import resolve
from treedb.tree.values import Value, normal_form

NOW = 1_700_000_000_000
SPEC = File(__file__).parents[1] / "spec"
RULES = json.loads((SPEC / "rules.json").read_text())
SCENARIOS, LOADING = RULES["scenarios"], RULES["loading"]


def value_of(raw: object, depth: int = 0) -> Value:
    return resolve(normal_form(raw, depth, DEFAULT_LIMITS).value, lambda _: None, NOW)


def query_of(members: dict[str, Any]) -> QueryVariables:
    names = dict(zip(QUERY_MEMBERS, QueryVariables.__match_args__, strict=True))
    return QueryVariables(**{names[name]: value for name, value in members.items()})


def patch_of(scenario: dict[str, Any]) -> Patch:
    base = Path.parse(scenario["path"])
    raw = scenario["value"]
    pairs = (
        {base: raw}
        if scenario["operation"] == "set"
        else {base.join(Path.parse(key).keys): member for key, member in raw.items()}
    )
    return Patch.of((path, value_of(member, path.depth)) for path, member in pairs.items())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda row: f"{row['number']} {row['why']}")
def test_scenario_is_decided_as_the_table_says(scenario: dict[str, Any]) -> None:
    rules = parse_rules(json.dumps({"rules": scenario["rules"]}))
    before = ValueReader(value_of(scenario["data"]))
    if scenario["operation"] == "read":
        query = query_of(scenario["query"]) if "query" in scenario else REALTIME_READ
        path = Path.parse(scenario["path"])
        verdict = rules.check_read(path, before, auth=scenario["auth"], now_ms=NOW, query=query)
    else:
        patch = patch_of(scenario)
        after = Overlay(before, patch)
        verdict = rules.check_write(patch, before, after, auth=scenario["auth"], now_ms=NOW)
    assert verdict.allowed is scenario["allowed"]


@pytest.mark.parametrize("case", LOADING, ids=lambda case: case["text"])
def test_text_loads_or_is_refused_with_the_message(case: dict[str, Any]) -> None:
    text = case["text"]
    if case["kind"] != "file":
        text = json.dumps({"rules": {"w": {"$k": {case["kind"]: text}}}})
    if case["message"] is None:
        parse_rules(text)
        return
    with pytest.raises(RulesError) as refusal:
        parse_rules(text)
    [finding] = refusal.value.findings
    expected = case["message"]
    if expected.endswith("..."):
        assert finding.message.startswith(expected.removesuffix("..."))
    else:
        assert finding.message == expected
