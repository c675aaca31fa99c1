"""What a listener is sent first: the value, what differs from the copy it has, or nothing.

A client that comes back tells what it has kept, by the hash of the whole and, when that is large
and the client can merge, by the hashes of its ranges. Comparing costs time on a thread: so it is
done up to a size, and for so many at once that a crowd that comes back does not wait for it.
"""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.hashing import matches_hash
from treedb.tree.json_text import parse_json
from treedb.tree.range_hash import CompoundHash
from treedb.tree.range_merge import RangeMerge, compare
from treedb.wire.outgoing import range_merges

MIB: Final = 1024 * 1024
# A value is hashed at some 5 MB a second: up to here that is a fifth of one.
HASHED_BYTES: Final = MIB
# By ranges it is twice as quick. All that is compared at one time, or waits for it, is as much as
# this; who comes then is sent the value.
COMPARED_BYTES: Final = 16 * MIB
INLINE_BYTES: Final = 16 * 1024  # more is compared on a thread


@dataclass(frozen=True, slots=True)
class Claim:
    """What a listener says it has: the hash of its copy, "" for none, and those of its ranges."""

    hash: str = ""
    compound: CompoundHash | None = None


@dataclass(frozen=True, slots=True)
class FirstValue:
    """JSON in pieces: a value, or with `is_merge` the ranges in which the listener's copy differs.

    `bookmark` is that of who has seen it.
    """

    pieces: list[bytes]
    is_merge: bool = False
    bookmark: Bookmark = BEGINNING


NO_COPY: Final = Claim()


class FirstValues:
    """What the listeners of one database are sent first."""

    def __init__(self) -> None:
        self._compared_bytes = 0

    async def of(self, pieces: list[bytes], claim: Claim | None) -> FirstValue | None:
        """Return what to send of a value to who claims to have it; None for nothing.

        Without a claim, not even to have nothing, that is the value.
        """
        whole = FirstValue(pieces)
        if claim is None:
            return whole
        if not claim.hash:
            return None if pieces == [b"null"] else whole
        size = sum(map(len, pieces))
        if size > (HASHED_BYTES if claim.compound is None else COMPARED_BYTES):
            return whole
        if size <= INLINE_BYTES:
            return _compared(whole, claim, size)
        if self._compared_bytes + size > COMPARED_BYTES:
            return whole
        self._compared_bytes += size
        try:
            return await asyncio.to_thread(partial(_compared, whole, claim, size))
        finally:
            self._compared_bytes -= size


def _compared(whole: FirstValue, claim: Claim, size: int) -> FirstValue | None:
    value: Any = parse_json(b"".join(whole.pieces))  # our own text, so it is in normal form
    found = None if claim.compound is None else compare(value, claim.compound)
    if found is not None and not found.differs and not found.merges:
        return None
    # The hash of the whole tells of what those of ranges do not cover; it is not needed where
    # they differ, and where it costs too much a few merges say the same.
    is_unsure = found is None or not found.differs
    if is_unsure and size <= HASHED_BYTES and matches_hash(value, claim.hash):
        return None
    if found is None:
        return whole
    return _shorter(whole, found.merges, size)


def _shorter(whole: FirstValue, merges: tuple[RangeMerge, ...], size: int) -> FirstValue:
    text = range_merges(merges)
    return FirstValue([text], is_merge=True) if len(text) < size else whole
