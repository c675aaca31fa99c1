"""The page of odd requests says of each what the table of answers says, and no more."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.bad_inputs import ANSWERS, Row, Table, facts_of, load_table
from treedb import errors

ROOT = Path(__file__).parents[2]
TABLE = load_table(ANSWERS)
PAGE = (ROOT / "docs/reference/answers.md").read_text()
ERRORS = (ROOT / "docs/reference/errors.md").read_text()
SHORT = 30  # characters of an answer's body that is told whole


def line_of(table: Table, row: Row) -> str:
    """Write a row as a line of the page: what is sent, what is answered, and why."""
    answered = dict.fromkeys(
        said
        for step in row["steps"]
        if not step.get("aside")
        for each in answers_of(table, step)
        for said in in_words(each)
    )
    cells = (row["id"], row["says"], "; ".join(answered), row.get("why", ""))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def answers_of(table: Table, step: Row) -> Iterator[Mapping[str, Any]]:
    for status, count in step.get("statuses", {}).items():
        yield {"status": f"{status} ({count} times)"}
    for event in step.get("hears", ()):
        yield {"status": f"event `{event}`"}
    for expected in step.get("answers", [step["answer"]] if "answer" in step else []):
        yield facts_of(table, expected)


def in_words(facts: Mapping[str, Any]) -> Iterator[str]:
    """Tell an answer: its status, with its error or its body where that is short."""
    text = facts.get("error", facts.get("text", ""))
    shows_text = "error" in facts or 0 < len(text) < SHORT
    yield f"{facts['status']} `{text}`" if shows_text else str(facts["status"])


def lines_on(page: str) -> dict[str, str]:
    """Find the lines of rows on a page, by the row."""
    found = re.finditer(r"^\| ([A-D][\d-]+) \|.*$", page, re.MULTILINE)
    return {match[1]: match[0] for match in found}


def test_the_page_has_a_line_for_each_row_in_their_order() -> None:
    assert list(lines_on(PAGE)) == [row["id"] for row in TABLE["rows"]]


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: row["id"])
def test_a_line_says_what_the_row_says(row: Row) -> None:
    assert lines_on(PAGE).get(row["id"]) == line_of(TABLE, row)


@pytest.mark.parametrize("part", TABLE["parts"].values(), ids=TABLE["parts"])
def test_each_part_has_its_heading(part: Row) -> None:
    assert f"## {part['title']}\n" in PAGE


def told(table: Table) -> Iterator[Mapping[str, Any]]:
    for row in table["rows"]:
        for step in row["steps"]:
            yield from answers_of(table, step)


OF_ERRORS = {(facts["status"], facts["error"]) for facts in told(TABLE) if "error" in facts}
CLASSES = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, errors.TreeError)
]
KNOWN = {(each.http_status, each.text) for each in CLASSES}


@pytest.mark.parametrize("status, text", sorted(OF_ERRORS))
def test_every_text_is_that_of_an_error(status: int, text: str) -> None:
    """It stands in errors.py, or among the texts of queries on the page of errors."""
    shown = text.replace("limitToLast must", "limitToFirst must")
    is_of_queries = status == errors.InvalidQuery.http_status and f"`{shown}`" in ERRORS
    assert (status, text) in KNOWN or is_of_queries or text.startswith(errors.IndexNotDefined.text)
