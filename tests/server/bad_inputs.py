"""Read the tables of odd and wrong inputs in tests/spec."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.server.live_server import Answer
from treedb.config import DEFAULT_LIMITS, Limits

SPEC = Path(__file__).parent.parent / "spec"
ANSWERS: Final = "answers.json"
OPEN: Final = {"rules": {".read": True, ".write": True}}

Row = dict[str, Any]
Table = dict[str, Any]


def load_table(name: str) -> Table:
    table: Table = json.loads((SPEC / name).read_text())
    return table


def limits_of(row: Row) -> Limits:
    return replace(DEFAULT_LIMITS, **row.get("limits", {}))


def text_of(recipe: Any) -> bytes:
    """Make the bytes that a recipe describes."""
    if isinstance(recipe, str):
        return recipe.encode()
    if isinstance(recipe, list):
        return b"".join(map(text_of, recipe))
    if "hex" in recipe:
        return bytes.fromhex(recipe["hex"])
    if "repeat" in recipe:
        return str(recipe["repeat"]).encode() * int(recipe["times"])
    return ",".join(recipe["members"].replace("{}", name) for name in _names(recipe)).encode()


def _names(recipe: Row) -> Iterator[str]:
    if "words" in recipe:
        return map("".join, product(recipe["words"], repeat=recipe["length"]))
    return map(str, range(recipe["times"]))


# The rows of answers.json, which is in parts: A paths, B bodies, C parameters, D the rest.


def part_of(row: Row) -> str:
    return str(row["id"][0])


def number_of(row: Row) -> int:
    """Return a row's number; one that needs two limits is two rows, such as B55-1 and B55-2."""
    return int(row["id"][1:].partition("-")[0])


def target_of(defaults: Row, step: Row) -> bytes:
    """Return where a step is sent: its target, or its part's place with the step's query."""
    if "target" in step:
        return text_of(step["target"])
    place = str(defaults["target"])
    if "query" in step:
        place += "?" + quote(step["query"], safe="=&")
    return place.encode()


def headers_of(step: Row) -> dict[str, str]:
    return {name: text_of(value).decode() for name, value in step.get("headers", {}).items()}


def facts_of(table: Table, expected: Any) -> Mapping[str, Any]:
    """Return what an answer is, which a step tells by a name of the table or in full."""
    facts: Mapping[str, Any] = table["answers"][expected] if isinstance(expected, str) else expected
    return facts


def check_answer(facts: Mapping[str, Any], answer: Answer) -> None:
    """Hold an answer to what a step expects."""
    assert answer.status == facts["status"], answer
    if "error" in facts:
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.json["error"] == facts["error"], answer
        assert answer.json.keys() <= {"error", "detail"}
    for part in facts.get("details", ()):
        assert part in answer.json["detail"], answer
    if "text" in facts:
        assert answer.text == facts["text"]
    if "json" in facts:
        assert answer.json == facts["json"]
    if "members" in facts:
        assert list(answer.json) == facts["members"]
    for name, value in facts.get("headers", {}).items():
        assert answer.headers[name] == value, answer
    for name in facts.get("absent", ()):
        assert name not in answer.headers, answer
