"""Read the tables of odd and wrong inputs in tests/spec."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.server.live_server import Answer
from treedb.config import DEFAULT_LIMITS, Limits

SPEC = Path(__file__).parent.parent / "spec"
PLACE = "/a.json"  # where a table names no other

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


def target_of(table: Table, step: Row) -> bytes:
    """Return where a step is sent: its target, or the table's place with the step's query."""
    if "target" in step:
        return text_of(step["target"])
    place = table.get("place", PLACE)
    if "query" in step:
        place += "?" + quote(step["query"], safe="=&")
    return str(place).encode()


def _names(recipe: Row) -> Iterator[str]:
    if "words" in recipe:
        return map("".join, product(recipe["words"], repeat=recipe["length"]))
    return map(str, range(recipe["times"]))


def check_answer(table: Table, expected: Any, answer: Answer) -> None:
    """Hold an answer to what a step expects, an answer's name or its description."""
    facts = table["answers"][expected] if isinstance(expected, str) else expected
    assert answer.status == facts["status"], answer
    if "error" in facts:
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.json["error"] == facts["error"]
        assert answer.json.keys() <= {"error", "detail"}
    for part in facts.get("details", ()):
        assert part in answer.json["detail"]
    if "text" in facts:
        assert answer.text == facts["text"]
    if "json" in facts:
        assert answer.json == facts["json"]
    if "members" in facts:
        assert list(answer.json) == facts["members"]
    assert facts.get("absent") not in answer.headers
