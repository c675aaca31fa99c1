"""The listens of one client: their first values, their end, and a new beginning for a slow one.

A client that reads more slowly than it is told falls behind: what comes for a listen is dropped
from then on, and when the client has read what is on its way the listen starts anew from a fresh
value. So it misses steps, never the outcome, and what waits for it stays bounded.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from treedb.config import Limits
from treedb.database import Database
from treedb.errors import InvalidQuery, PermissionDenied, TooManyListens, TreeError
from treedb.first_value import Claim, FirstValue
from treedb.rules.authority import Caller
from treedb.rules.query_variables import query_variables
from treedb.server.door import Door
from treedb.server.outbox import Outbox
from treedb.sync.delivery import Watch
from treedb.tree.query import EVERYTHING, Query
from treedb.wire import messages, outgoing
from treedb.wire.ready_frame import ready_frames

NOTHING: Final = [b"null"]

_NO_INDEX: Final = b'{"w":["no_index"]}'
_NO_TAG: Final = 'A listen that chooses among children has a tag "t", an integer; found none.'

log = logging.getLogger("treedb.session")


@dataclass(frozen=True, slots=True)
class _Listen:
    """What a client asked, and the query object it asked it with."""

    query: Query
    sent: Mapping[str, Any]


class Listens:
    """What one client listens to; its `outbox` takes what it is told."""

    def __init__(
        self, database: Database, door: Door, limits: Limits, fell_behind: Callable[[], None]
    ) -> None:
        self._database = database
        self._limits = limits
        self._listens: dict[Watch, _Listen] = {}
        self._joining: Watch | None = None
        self.outbox = Outbox(door, limits, self._cancelled, fell_behind)

    async def listen(self, message: messages.Listen, caller: Caller) -> tuple[bytes, ...]:
        """Begin a listen; return its value and the `ok` that follows."""
        watch, most = watch_of(message), self._limits.listens_per_connection
        if watch.query.is_filtering and watch.tag is None:
            raise InvalidQuery(_NO_TAG)
        if watch not in self._listens and len(self._listens) >= most:
            raise TooManyListens(f"This connection has {most} listens, the limit is {most}.")
        if watch in self._listens:  # listening again starts anew; a failure ends the old one
            self.leave(watch)
            await asyncio.sleep(0)  # the database may still have to release the old one
        self._listens[watch] = _Listen(message.query.query, message.query.sent)
        value = await self._begin(watch, caller, Claim(message.hash, message.compound))
        is_indexed = self._database.is_indexed(watch.place, watch.query.order_by)
        content = b"{}" if is_indexed else _NO_INDEX
        return (*value, ready_frames(outgoing.answer(message.number, "ok", content)))

    def leave(self, watch: Watch) -> None:
        """Stop a listen; nothing happens when there is none."""
        if self._listens.pop(watch, None) is not None:
            self.outbox.forget(watch)
            self._database.unlisten(watch, self.outbox)

    def end(self) -> None:
        """Stop all of them."""
        for watch in list(self._listens):
            self.leave(watch)

    async def catch_up(self, caller: Caller) -> None:
        """Start those anew that missed something, each when the client has read the one before."""
        while (watch := self.outbox.first_missed) is not None:
            await self.outbox.drained()
            if watch in self._listens:
                await self._start_anew(watch, caller)  # what it misses from then on counts anew
            else:
                self.outbox.forget(watch)

    async def _start_anew(self, watch: Watch, caller: Caller) -> None:
        listen = self._listens[watch]
        self._database.unlisten(watch, self.outbox)
        await asyncio.sleep(0)  # the database may still have to release the old one
        try:
            frames = await self._begin(watch, caller, None)
        except TreeError as error:
            log.info("a listen at %s ends as it starts anew: %s", watch, error.reason)
            self.outbox.write_answer(_cancel(watch, listen.sent))  # and what was held meanwhile
            return
        self.outbox.write_answer(*frames)

    async def _begin(self, watch: Watch, caller: Caller, claim: Claim | None) -> tuple[bytes, ...]:
        """Join the listeners of a watch; return the push of its value, unless that is as claimed.

        Without a push an `ok` means that the client's copy is right. A listen that fails is none.
        """
        asking = replace(caller, query=query_variables(self._listens[watch].query))
        self._joining = watch
        try:
            value = await self._database.listen(watch, self.outbox, asking, claim)
            self.outbox.forget(watch)  # whatever it missed is in this value
            if value is None:
                frames: tuple[bytes, ...] = ()
            else:
                size_bytes = sum(map(len, value.pieces))
                frames = (await self.outbox.frame(size_bytes, partial(_push, watch, value)),)
            self._database.confirm(watch, self.outbox)
        except BaseException:
            self.leave(watch)
            raise
        finally:
            self._joining = None
        if watch not in self._listens:
            self._database.unlisten(watch, self.outbox)  # it may have ended before it could join
            raise PermissionDenied  # cancelled while its value was read: nobody may have it now
        return frames

    def _cancelled(self, watch: Watch) -> bytes | None:
        """Forget a listen; return what tells the client: nothing before it has an answer."""
        listen = self._listens.pop(watch, None)
        if listen is None or watch == self._joining:
            return None
        return _cancel(watch, listen.sent)


def watch_of(message: messages.Listen | messages.Unlisten) -> Watch:
    """Return what a listen watches; a query that only orders is answered with the whole place."""
    query = message.query.query
    return Watch(message.path, query if query.is_filtering else EVERYTHING, message.tag)


def _push(watch: Watch, value: FirstValue) -> bytes:
    build = outgoing.range_merge if value.is_merge else outgoing.overwrite
    push = build(watch.place, *value.pieces)
    return push if watch.tag is None else outgoing.tagged(push, watch.tag)


def _cancel(watch: Watch, sent: Mapping[str, Any]) -> bytes:
    return ready_frames(outgoing.cancel(watch.place, sent if watch.query.is_filtering else None))
