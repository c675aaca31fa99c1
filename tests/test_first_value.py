"""What is sent first: nothing where the copy is right, merges where they are less, else all."""

import asyncio
from typing import Any

import orjson
import pytest

from tests.tree.caching_client import compound_hash, merged
from treedb.first_value import (
    COMPARED_BYTES,
    HASHED_BYTES,
    NO_COPY,
    Claim,
    FirstValue,
    FirstValues,
)
from treedb.tree.hashing import node_hash
from treedb.tree.values import Value


def pieces_of(value: Value) -> list[bytes]:
    """Return a value's JSON in two pieces, as reading a large one gives it."""
    text = orjson.dumps(value)
    return [text] if value is None else [text[:3], text[3:]]


def claim_of(copy: Value, *, ranges: bool = False) -> Claim:
    return Claim(node_hash(copy), compound_hash(copy) if ranges else None)


def a_list(count: int, letters: int = 10) -> dict[str, Value]:
    return {f"k{number:05}": {"n": number, "text": "x" * letters} for number in range(count)}


SMALL, LARGE = a_list(100), a_list(2_000)  # compared at once, and on a thread


@pytest.mark.parametrize("value", [None, SMALL, LARGE])
async def test_without_any_claim_the_value_is_sent(value: Value) -> None:
    pieces = pieces_of(value)
    assert await FirstValues().of(pieces, None) == FirstValue(pieces)


@pytest.mark.parametrize("value, is_sent", [(None, False), (SMALL, True), (LARGE, True)])
async def test_who_has_nothing_is_sent_what_there_is(value: Value, is_sent: bool) -> None:
    pieces = pieces_of(value)
    assert await FirstValues().of(pieces, NO_COPY) == (FirstValue(pieces) if is_sent else None)


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("value", [5, SMALL, LARGE])
async def test_a_copy_that_is_right_is_sent_nothing(value: Value, ranges: bool) -> None:
    assert await FirstValues().of(pieces_of(value), claim_of(value, ranges=ranges)) is None


@pytest.mark.parametrize("value", [SMALL, LARGE])
async def test_a_copy_that_is_wrong_is_sent_the_value_or_merges(value: dict[str, Value]) -> None:
    pieces, old = pieces_of(value), {**value, "k00050": "old"}
    assert await FirstValues().of(pieces, claim_of(old)) == FirstValue(pieces)
    found = await FirstValues().of(pieces, claim_of(old, ranges=True))
    assert merged(old, sent(found)) == value


async def test_merges_are_sent_only_when_they_are_less() -> None:
    pieces = pieces_of(SMALL)
    assert await FirstValues().of(pieces, claim_of({"a": 1}, ranges=True)) == FirstValue(pieces)


async def test_a_list_whose_hashes_agree_is_looked_at_as_a_whole() -> None:
    """Hashes of ranges do not tell of the priority of a list of push ids; that of the whole does."""
    value: dict[str, Value] = {f"-K{number:05}": number for number in range(200)}
    prior = {".priority": 1, **value}
    assert await FirstValues().of(pieces_of(value), claim_of(value, ranges=True)) is None
    found = await FirstValues().of(pieces_of(value), claim_of(prior, ranges=True))
    assert sent(found) == [{"s": "-K00199", "e": ".priority", "m": None}]


@pytest.mark.parametrize("size, compared", [(HASHED_BYTES - 100, True), (HASHED_BYTES, False)])
async def test_a_value_is_hashed_up_to_a_size(size: int, compared: bool) -> None:
    value: dict[str, Value] = {"x": "x" * size}
    found = await FirstValues().of(pieces_of(value), claim_of(value))
    assert (found is None) is compared


@pytest.mark.parametrize("size, compared", [(COMPARED_BYTES - 100, True), (COMPARED_BYTES, False)])
async def test_it_is_compared_by_ranges_up_to_a_larger_one(size: int, compared: bool) -> None:
    value: dict[str, Value] = {"a": "a", "x": "x" * size}
    found = await FirstValues().of(pieces_of(value), claim_of({**value, "a": "b"}, ranges=True))
    assert found is not None
    assert found.is_merge is False  # the range is all of it
    assert (
        await FirstValues().of(pieces_of(value), claim_of(value, ranges=True)) is None
    ) is compared


async def test_a_crowd_does_not_wait_for_comparisons() -> None:
    """What is compared at one time is bounded; who comes then is sent the value."""
    values = FirstValues()
    value: dict[str, Value] = {"x": "x" * (COMPARED_BYTES // 4)}
    pieces, claim = pieces_of(value), claim_of(value, ranges=True)
    found = await asyncio.gather(*(values.of(pieces, claim) for _ in range(6)))
    assert found == [None] * 3 + [FirstValue(pieces)] * 3
    assert await values.of(pieces, claim) is None, "and then there is room again"


def sent(found: FirstValue | None) -> Any:
    """Return the merges that are sent."""
    assert found is not None
    assert found.is_merge
    return orjson.loads(b"".join(found.pieces))
