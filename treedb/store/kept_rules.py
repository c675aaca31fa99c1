"""The rules of a namespace, kept beside its tree in the same environment."""

from dataclasses import dataclass
from enum import Enum

import lmdb
import msgpack

RULES = b"rules"
RULES_REVISION = b"rules revision"


class Origin(Enum):
    """Where rules came from.

    Rules from the file that the server was started with follow that file; rules that were put by
    an administrator stay until another is put.
    """

    FILE = "file"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class KeptRules:
    """The text of the rules, byte for byte, and the revision since which they are in force."""

    revision: int
    text: str
    origin: Origin


def read_revision(transaction: "lmdb.Transaction[bytes]", meta: "lmdb._Database") -> int:
    """Return since which revision the kept rules are in force, 0 when there are none."""
    return int.from_bytes(transaction.get(RULES_REVISION, b"", db=meta), "big")


def read_rules(transaction: "lmdb.Transaction[bytes]", meta: "lmdb._Database") -> KeptRules | None:
    """Return the kept rules, None when there are none."""
    raw = transaction.get(RULES, db=meta)
    if raw is None:
        return None
    text, origin = msgpack.unpackb(raw)
    return KeptRules(read_revision(transaction, meta), text, Origin(origin))


def put_rules(
    transaction: "lmdb.Transaction[bytes]", meta: "lmdb._Database", rules: KeptRules
) -> None:
    """Keep rules in place of those that were."""
    transaction.put(RULES, msgpack.packb([rules.text, rules.origin.value]), db=meta)
    transaction.put(RULES_REVISION, rules.revision.to_bytes(8, "big"), db=meta)
