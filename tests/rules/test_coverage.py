import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from treedb.paths.path import Path
from treedb.rules.coverage import Coverage, merge_reports
from treedb.rules.loader import parse_rules
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value

NOW = 1_700_000_000_000
RULES = parse_rules(
    json.dumps(
        {
            "rules": {
                "a": {
                    ".read": "auth != null && data.child($n).val() > 1".replace("$n", "'n'"),
                    ".indexOn": ["x", "y"],
                    "$k": {".validate": "newData.val() != 0", ".write": True},
                },
                "never": {".read": "auth == null"},
            }
        }
    )
)


def read(coverage: Coverage, auth: Any, data: Value) -> None:
    RULES.check_read(Path(("a",)), ValueReader(data), auth=auth, now_ms=NOW, ask=coverage.ask)


def write(coverage: Coverage, value: Value) -> bool:
    patch = Patch(((Path(("a", "k")), value),))
    before = ValueReader(None)
    after = Overlay(before, patch)
    return RULES.check_write(patch, before, after, auth=None, now_ms=NOW, ask=coverage.ask).allowed


def covered() -> Coverage:
    coverage = Coverage(RULES)
    read(coverage, None, {"a": {"n": 5}})
    read(coverage, {}, {"a": {"n": 5}})
    read(coverage, {}, {"a": {"n": 5}})
    read(coverage, {}, {"a": {"n": "s"}})
    read(coverage, {}, {"a": {"n": 0}})
    return coverage


def rule_report(report: dict[str, Any], node: str, kind: str) -> dict[str, Any]:
    [found] = [one for one in report["rules"] if (one["node"], one["kind"]) == (node, kind)]
    return dict(found)


def test_rules_are_counted_by_what_they_answered() -> None:
    read_rule = rule_report(covered().report(), "/a", "read")
    counts = {name: read_rule[name] for name in ("evaluated", "true", "false", "error")}
    assert counts == {"evaluated": 5, "true": 2, "false": 2, "error": 1}
    assert read_rule["status"] == "error"


def test_parts_are_counted_by_value_and_by_being_passed_over() -> None:
    read_rule = rule_report(covered().report(), "/a", "read")
    parts = {tuple(part["span"]): part for part in read_rule["parts"]}
    text = read_rule["expr"]
    signed_in = parts[0, 12]
    assert text[0:12] == "auth != null"
    assert (signed_in["count"], signed_in["values"]) == (5, {"false": 1, "true": 4})
    value = parts[16, 37]
    assert text[16:37] == "data.child('n').val()"
    assert value["count"] == 4
    assert value["skipped"] == 1
    assert value["values"] == {'"s"': 1, "0": 1, "5": 2}
    assert value["types"] == {"number": 3, "string": 1}
    assert parts[16, 31]["types"] == {"snapshot": 4}


def test_the_status_of_a_rule_is_one_word() -> None:
    coverage = covered()
    assert rule_report(coverage.report(), "/never", "read")["status"] == "never"
    assert write(coverage, 5)
    assert rule_report(coverage.report(), "/a/$k", "validate")["status"] == "allow"
    assert not write(coverage, 0)
    assert rule_report(coverage.report(), "/a/$k", "validate")["status"] == "mixed"
    only_denied = Coverage(RULES)
    write(only_denied, 0)
    assert rule_report(only_denied.report(), "/a/$k", "validate")["status"] == "deny"


def test_totals_count_both_outcomes_of_every_boolean_part() -> None:
    totals = covered().report()["totals"]
    assert totals == {
        "rules": 4,
        "rules_evaluated": 1,
        "outcomes": 12,
        "outcomes_seen": 6,
        "indexes": 2,
        "indexes_hit": 0,
    }


def test_queries_count_for_their_index() -> None:
    coverage = Coverage(RULES)
    coverage.add_query(Path(("a",)), "y")
    coverage.add_query(Path(("a",)), "y")
    coverage.add_query(Path(("nowhere", "else")), "y")
    hits = {index["name"]: index["hits"] for index in coverage.report()["indexes"]}
    assert hits == {"x": 0, "y": 2}
    assert coverage.report()["totals"]["indexes_hit"] == 1


def test_of_many_values_only_the_types_are_kept() -> None:
    coverage = Coverage(RULES)
    for number in range(11):
        write(coverage, f"v{number}")
    validate = rule_report(coverage.report(), "/a/$k", "validate")
    part = validate["parts"][1]
    assert part["values"] is None
    assert part["types"] == {"string": 11}


def test_long_values_are_cut() -> None:
    coverage = Coverage(RULES)
    write(coverage, "x" * 10_000)
    assert len(json.dumps(coverage.report())) < 10_000


values = st.lists(st.integers(0, 15), max_size=8)


@given(st.lists(values, min_size=3, max_size=3))
def test_reports_add_up_in_any_order(shares: list[list[int]]) -> None:
    whole = Coverage(RULES)
    parts = []
    for share in shares:
        coverage = Coverage(RULES)
        for value in share:
            write(coverage, value)
            write(whole, value)
        parts.append(coverage.report())
    first, second, third = parts
    assert merge_reports(parts) == whole.report()
    assert merge_reports([merge_reports([third, first]), second]) == whole.report()
    assert merge_reports([first]) == first
