"""The chat's rules file: without findings, and tried both ways by the cases beside it."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from treedb.rules.cases import Outcome, format_outcomes, read_cases, run_cases
from treedb.rules.lint import lint
from treedb.rules.loader import parse_rules
from treedb.rules.rule import Rule
from treedb.rules.source import format_findings
from treedb.writes.derive import derive

ROOT = Path(__file__).parent.parent.parent
RULES = ROOT / "examples" / "chat" / "rules.json"
CASES = ROOT / "examples" / "chat" / "rules.test.json"
MESSAGE_UNITS = 4000


@pytest.fixture(scope="module")
def outcomes() -> tuple[Outcome, ...]:
    ruleset = parse_rules(RULES.read_text())
    return run_cases(ruleset, read_cases(json.loads(CASES.read_text())), derive)


def test_the_file_has_no_findings() -> None:
    findings = lint(parse_rules(RULES.read_text()))
    assert findings == (), format_findings(findings, RULES.name)


def test_every_case_comes_out_as_it_says(outcomes: tuple[Outcome, ...]) -> None:
    assert all(outcome.passed for outcome in outcomes), format_outcomes(outcomes)


def test_every_rule_is_tried_both_ways(outcomes: tuple[Outcome, ...]) -> None:
    """A rule says yes where something is allowed, and no where something is denied."""
    answers: dict[str, set[bool]] = defaultdict(set)
    for outcome in outcomes:
        is_allowed = outcome.explanation.allowed
        for target in outcome.explanation.targets:
            for asked in target.asked:
                if not asked.skipped and bool(asked.result) is is_allowed:
                    answers[_place(asked.rule)].add(is_allowed)
    rules = parse_rules(RULES.read_text()).rules
    expected = {
        _place(rule): {False} if rule.compiled.constant is False else {True, False}
        for rule in rules
    }
    assert answers == expected


def _place(rule: Rule) -> str:
    return f"{rule.pattern} {rule.access.value}"


@pytest.mark.parametrize("units, is_allowed", [(MESSAGE_UNITS, True), (MESSAGE_UNITS + 1, False)])
def test_a_message_is_as_long_as_the_page_lets_it_be(units: int, is_allowed: bool) -> None:
    document: dict[str, Any] = json.loads(CASES.read_text())
    [case] = (case for case in document["tests"] if case["name"] == "a member says something")
    [path] = (path for path in case["value"] if path.startswith("messages/"))
    case["value"][path]["message"] = "m" * units
    cases = read_cases({**document, "tests": [case]})
    [outcome] = run_cases(parse_rules(RULES.read_text()), cases, derive)
    assert outcome.explanation.allowed is is_allowed
    page = (RULES.parent / "index.html").read_text()
    assert f'id="composer-input" rows="1" maxlength="{MESSAGE_UNITS}"' in page


@pytest.mark.parametrize(
    "command", [["check", RULES], ["test", RULES, CASES]], ids=["check", "test"]
)
def test_the_command_line_finds_the_same(command: list[str | Path]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "treedb", "rules", *map(str, command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
