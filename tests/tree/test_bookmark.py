"""Bookmarks: what is written is read, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.tree.bookmark import BEGINNING, Bookmark

NUMBERS = st.integers(0, 10**18 - 1)


@given(NUMBERS, NUMBERS)
def test_what_is_written_is_read(revision: int, time_ms: int) -> None:
    bookmark = Bookmark(revision, time_ms)
    assert Bookmark.parse(str(bookmark)) == bookmark


def test_it_names_the_revision_first() -> None:
    assert str(Bookmark(12, 1763776890123)) == "12-1763776890123"
    assert str(BEGINNING) == "0-0"


@pytest.mark.parametrize(
    "text",
    [
        "", "12", "12-", "-12", "12-3-4", "012-3", "12-03", "+1-2", "1-2 ", " 1-2", "1 - 2", "1_0-2",
        "a-b", "1.5-2", "²-1", "١-٢", "1-2\n", "9" * 19 + "-1", "1-" + "9" * 19, "\x00",
    ],
)  # fmt: skip
def test_what_is_not_a_bookmark_is_none(text: str) -> None:
    assert Bookmark.parse(text) is None
