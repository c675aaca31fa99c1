"""Sessions with something to write when they end, kept until they have ended.

What waits is on disk before the client is told so. It leaves in the transaction that writes it,
so it happens once, whatever dies in between; what a dead process left is found by the next one.

Key: the session's id. Value: msgpack of `[auth, [[path, value], ...]]`, auth being null or
`[uid, token, is_admin, variable]`, values in export form with their server values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import lmdb
import msgpack

from treedb.auth.identity import Auth
from treedb.paths.path import Path
from treedb.tree.values import Value

Entries: TypeAlias = Mapping[Path, Value]


@dataclass(frozen=True, slots=True)
class KeptSession:
    """Who a client is, and what it asked to be written at its end; None removes.

    The credential's expiry is not kept: it counts while the client is connected.
    """

    auth: Auth | None
    entries: Entries


def encode_session(session: KeptSession) -> bytes:
    """Return a session as it is kept."""
    auth = session.auth
    who = None if auth is None else [auth.uid, auth.token, auth.is_admin, auth.variable]
    entries = [[path.keys, value] for path, value in session.entries.items()]
    raw: bytes = msgpack.packb([who, entries])
    return raw


def decode_session(raw: bytes) -> KeptSession:
    """Return the session that was kept so."""
    who, entries = msgpack.unpackb(raw)
    auth = None
    if who is not None:
        uid, token, is_admin, variable = who
        auth = Auth(uid, token, is_admin, None, variable)
    return KeptSession(auth, {Path(tuple(keys)): value for keys, value in entries})


@dataclass(frozen=True, slots=True)
class SessionReader:
    """Read the kept sessions as one transaction sees them."""

    transaction: "lmdb.Transaction[bytes]"
    database: "lmdb._Database"

    def ids(self) -> list[str]:
        """Return the ids of all kept sessions, in order."""
        cursor = self.transaction.cursor(self.database)
        return [key.decode() for key in cursor.iternext(keys=True, values=False)]

    def get(self, session_id: str) -> KeptSession | None:
        """Return a kept session, None when nothing of it waits."""
        raw = self.transaction.get(session_id.encode(), db=self.database)
        return None if raw is None else decode_session(raw)
