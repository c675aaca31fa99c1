"""Listening: how a listener begins, with the value at its place or with what it has missed there.

It joins the follower *after a snapshot's revision*. What was committed up to there is in the value
that is read from the snapshot, or in what the snapshot's journal tells; what is committed later
waits until the listener has been sent that. So there is no gap, and nothing comes twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from treedb.errors import TooBigToRead
from treedb.first_value import Claim, FirstValue, FirstValues
from treedb.follower import Follower
from treedb.paths.path import Path
from treedb.reads import Reads, paced
from treedb.resumption import Encode, Permission, deliveries_of, entries_since, told_of
from treedb.rules.authority import Caller
from treedb.schedule import Schedule
from treedb.store.journal import JournalEntry
from treedb.store.store import Snapshot
from treedb.sync.delivery import Listener, Watch
from treedb.tree.bookmark import Bookmark
from treedb.tree.forms import Form
from treedb.writes.writer import Writer

KIB: Final = 1024
RESUMED_AT_ONCE: Final = 4  # each holds what it reads of the journal; the others wait
INLINE_BYTES: Final = 64 * KIB  # more of the journal is decoded on a thread
# So much is told without a look at what the value would be: reading that costs, too.
SMALL_BYTES: Final = 64 * KIB

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Missed:
    """What a listener missed, encoded and in order, and up to where that goes."""

    texts: list[bytes]
    bookmark: Bookmark


class Listening:
    """The ways into one database's follower."""

    def __init__(
        self, reads: Reads, follower: Follower, writer: Writer, schedule: Schedule
    ) -> None:
        self.follower = follower
        self._reads = reads
        self._writer = writer
        self._schedule = schedule
        self._first_values = FirstValues()
        self._resumptions = asyncio.Semaphore(RESUMED_AT_ONCE)

    async def begin(
        self, watch: Watch, listener: Listener, caller: Caller, claim: Claim | None
    ) -> FirstValue | None:
        """Join a listener, and return what it is sent first; see `Database.listen`."""
        with self._leaving_on_error(watch, listener):
            if watch.query.is_filtering:
                pieces, bookmark = await self._first_window(watch, listener, caller)
            else:
                pieces, bookmark = await self._whole_value(watch, listener, caller)
            value = await self._first_values.of(pieces, claim)
        self._release_soon(watch, listener)
        return None if value is None else replace(value, bookmark=bookmark)

    async def resume(
        self, watch: Watch, listener: Listener, caller: Caller, since: Bookmark, encode: Encode
    ) -> Missed | None:
        """Join a listener, and return what it missed; see `Database.resume`."""
        with self._leaving_on_error(watch, listener):
            async with self._resumptions:
                missed = await self._missed(watch, listener, caller, since, encode)
        if missed is None:
            self.follower.leave(watch, listener)
        else:
            self._release_soon(watch, listener)
        return missed

    @contextmanager
    def _leaving_on_error(self, watch: Watch, listener: Listener) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.follower.leave(watch, listener)
            raise

    def _release_soon(self, watch: Watch, listener: Listener) -> None:
        self._schedule.soon(partial(self.follower.release, watch, listener))

    @asynccontextmanager
    async def _joined(
        self, watch: Watch, listener: Listener, caller: Caller
    ) -> AsyncIterator[Snapshot]:
        """Open a snapshot after which the listener hears of what comes, once it is released."""
        async with self._reads.snapshot() as snapshot:
            self.follower.join(watch, listener, snapshot, caller, held=True)
            yield snapshot

    # The value

    async def _whole_value(
        self, watch: Watch, listener: Listener, caller: Caller
    ) -> tuple[list[bytes], Bookmark]:
        async with self._joined(watch, listener, caller) as snapshot:
            pieces = await self._reads.json(watch.place, Form.EXPORT, snapshot)
            return pieces, snapshot.bookmark()

    async def _first_window(
        self, watch: Watch, listener: Listener, caller: Caller
    ) -> tuple[list[bytes], Bookmark]:
        # From now on each batch comes with the snapshot that its windows may need.
        self._writer.takes_snapshots = True
        has_begun = False
        while not has_begun:  # again when another listener's window began at a later revision
            async with self._joined(watch, listener, caller) as snapshot:
                chosen = await self._reads.chosen(watch.place, watch.query, snapshot)
                has_begun = self.follower.begin(watch, chosen, snapshot.revision)
                bookmark = snapshot.bookmark()
        return [await self._reads.chosen_json(chosen, Form.EXPORT)], bookmark

    # What was missed

    async def _missed(
        self, watch: Watch, listener: Listener, caller: Caller, since: Bookmark, encode: Encode
    ) -> Missed | None:
        if watch.query.is_filtering:
            return await self._missed_window(watch, listener, caller, since)
        place = watch.place
        async with self._joined(watch, listener, caller) as snapshot:
            depends_on = self.follower.permit(place, snapshot, caller)
            permission = Permission.of(place, caller, self.follower.authority.ruleset, depends_on)
            entries = await paced(entries_since(snapshot.journal, since))
            bookmark = snapshot.bookmark()
        if entries is None:
            return None
        work = partial(told_of, watch, listener, entries, permission, encode)
        texts = await _worked(entries, work)
        if texts is None:
            return None
        size = sum(map(len, texts))
        is_worth_it = size <= SMALL_BYTES or await self._is_longer(place, size)
        return Missed(texts, bookmark) if is_worth_it else None

    async def _missed_window(
        self, watch: Watch, listener: Listener, caller: Caller, since: Bookmark
    ) -> Missed | None:
        """Return that nothing changed, or None: what a window was before is not known."""
        if not await self._is_unchanged(watch, listener, since):
            return None  # found out before the window is read
        _, bookmark = await self._first_window(watch, listener, caller)
        unchanged = await self._is_unchanged(watch, listener, since)
        return Missed([], bookmark) if unchanged else None

    async def _is_unchanged(self, watch: Watch, listener: Listener, since: Bookmark) -> bool:
        async with self._reads.snapshot() as snapshot:
            entries = await paced(entries_since(snapshot.journal, since))
        if entries is None:
            return False

        def work() -> bool:
            commits = (entry.commit() for entry in entries)
            return next(deliveries_of(watch.place, listener, commits), None) is None

        return await _worked(entries, work)

    async def _is_longer(self, place: Path, size_bytes: int) -> bool:
        """Tell whether the JSON text of a place is longer; no more of it is read."""
        async with self._reads.snapshot() as snapshot:
            try:
                await self._reads.json(place, Form.EXPORT, snapshot, size_bytes)
            except TooBigToRead:
                return True
        return False


async def _worked(entries: list[JournalEntry], work: Callable[[], Result]) -> Result:
    """Do work on journal entries: here when they are small, else on a thread."""
    is_small = sum(len(entry.raw) for entry in entries) <= INLINE_BYTES
    return work() if is_small else await asyncio.to_thread(work)
