"""What is kept of derived data: how far a backfill is, and what the last check found.

A backfill brings data that is there to agree with a mirror or a count that rules brought. Where it
stands is kept in the transaction of what it wrote, so whatever ends it, it goes on from there.
"""

from dataclasses import astuple, dataclass
from typing import Any

import lmdb
import msgpack

BACKFILLS = b"backfills"
LAST_CHECK = b"derived check"


@dataclass(frozen=True, slots=True)
class KeptBackfill:
    """How far the data agrees with a declaration of the rules, which `name` identifies.

    `side` says which side is right where they differ. With `is_begun` the declaration is in force,
    so that writes keep to it already. The entries of one pattern are gone through before
    those of the other; `after` is what the names stood for in the last one seen.
    """

    name: str
    side: str
    is_begun: bool = True
    is_second: bool = False
    after: tuple[str, ...] | None = None
    entries: int = 0
    changed: int = 0
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class CheckedDeclaration:
    """How many entries a declaration had at a check, how many were wrong, and the first of them."""

    name: str
    entries: int
    faults: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptCheck:
    """When all derived data was last held against the tree, and what was found."""

    time_ms: int
    revision: int
    declarations: tuple[CheckedDeclaration, ...]


def read_backfills(
    transaction: "lmdb.Transaction[bytes]", meta: "lmdb._Database"
) -> tuple[KeptBackfill, ...]:
    """Return the backfills that are not done, in the order they are done."""
    raw = transaction.get(BACKFILLS, db=meta)
    return () if raw is None else tuple(_backfill(*each) for each in msgpack.unpackb(raw))


def put_backfills(
    transaction: "lmdb.Transaction[bytes]",
    meta: "lmdb._Database",
    backfills: tuple[KeptBackfill, ...],
) -> None:
    """Keep backfills in place of those that were."""
    if backfills:
        transaction.put(BACKFILLS, msgpack.packb([astuple(each) for each in backfills]), db=meta)
    else:
        transaction.delete(BACKFILLS, db=meta)


def read_check(transaction: "lmdb.Transaction[bytes]", meta: "lmdb._Database") -> KeptCheck | None:
    """Return what the last check found, None when there was none."""
    raw = transaction.get(LAST_CHECK, db=meta)
    if raw is None:
        return None
    time_ms, revision, declarations = msgpack.unpackb(raw)
    return KeptCheck(
        time_ms,
        revision,
        tuple(_checked(*each) for each in declarations),
    )


def put_check(
    transaction: "lmdb.Transaction[bytes]", meta: "lmdb._Database", check: KeptCheck
) -> None:
    """Keep what a check found in place of what was found before."""
    transaction.put(LAST_CHECK, msgpack.packb(astuple(check)), db=meta)


def _backfill(*members: Any) -> KeptBackfill:
    name, side, is_begun, is_second, after, *counts = members
    seen = None if after is None else tuple(after)
    return KeptBackfill(name, side, is_begun, is_second, seen, *counts)


def _checked(name: str, entries: int, faults: int, examples: list[str]) -> CheckedDeclaration:
    return CheckedDeclaration(name, entries, faults, tuple(examples))
