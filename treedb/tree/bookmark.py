"""Bookmark: up to where somebody has followed a journal.

A revision alone does not tell. A database that was made anew, or restored from a copy, counts on
from a smaller number, and its commit 700 is another one than the commit 700 that a client saw. So
a bookmark also has the time of its commit, which the other one does not share.

    12-1763776890123    everything up to commit 12, which was made in this millisecond
    0-0                 nothing: the empty tree that every database begins with
"""

import re
from dataclasses import dataclass
from typing import Final

_pattern: Final = re.compile(r"(0|[1-9][0-9]{0,17})-(0|[1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A revision, and the time of its commit in milliseconds."""

    revision: int
    time_ms: int

    @classmethod
    def parse(cls, text: str) -> "Bookmark | None":
        """Read what `str` wrote; None for anything else."""
        found = _pattern.fullmatch(text)
        return None if found is None else cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.revision}-{self.time_ms}"


BEGINNING: Final = Bookmark(0, 0)
