"""What one client has asked to be written when it goes, and who it goes as."""

import asyncio

from treedb.auth.identity import Auth
from treedb.database import Database
from treedb.rules.authority import Caller
from treedb.wire import messages
from treedb.writes.request import (
    ActAs,
    CancelOnDisconnect,
    KeepOnDisconnect,
    set_write,
    update_write,
)
from treedb.writes.writer import Written


class SessionEnd:
    """The end of one session, which comes once, whatever ends it.

    All that is asked is submitted as writes are, in the order it comes; `end` comes last, so the
    next session of the client writes after it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._id = database.push_id()
        self._may_wait = False  # whether anything may wait for the end
        self._renamed: asyncio.Future[Written] | None = None

    def request(
        self, message: messages.OnDisconnect, caller: Caller
    ) -> KeepOnDisconnect | CancelOnDisconnect:
        """Build the request for what a client asks, checked as a write is."""
        if message.operation == "cancel":
            return CancelOnDisconnect(self._id, message.path)
        self._may_wait = True
        build = set_write if message.operation == "put" else update_write
        write = build(message.path, message.data, self._database.limits, caller=caller)
        return KeepOnDisconnect(self._id, write)

    def act_as(self, auth: Auth | None) -> None:
        """Let the session end as somebody else; `settled` tells when that is kept."""
        if self._may_wait:
            self._renamed = self._database.submit(ActAs(self._id, auth))
            self._renamed.add_done_callback(asyncio.Future.exception)  # or it would be logged

    async def settled(self) -> None:
        """Wait until who the session ends as is on disk; raises the TreeError that prevents it."""
        if self._renamed is not None:
            await self._renamed

    def end(self) -> None:
        """Have everything written that waits for this."""
        if self._may_wait:
            self._may_wait = False
            self._database.end_session(self._id)
