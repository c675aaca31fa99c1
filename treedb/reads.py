"""Reads of one database: what a place holds, or what a query chooses there, from one snapshot.

A crowd that comes back reads in turns: there are not as many reader slots as clients. Each read
gives way to the event loop between its slices.

Text that is short is made ready and its snapshot let go. Long text is never held: it is made once
to learn how long it is, for an answer tells that first, and once more while somebody takes it. Both
times it comes from one snapshot, which LMDB cannot free pages under, so it is kept for a bounded
time, and there are turns of their own for such reads. However many there are, one slice of one of
them is made in a turn of the event loop.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass

from treedb.config import Limits
from treedb.errors import TooBigToRead
from treedb.paths.path import Path
from treedb.store.query_reading import read_query
from treedb.store.reading import (
    Result,
    Steps,
    read_json,
    read_truncated,
    read_value,
    too_big,
)
from treedb.store.store import Snapshot, Store
from treedb.store.subtree_json import json_chunks
from treedb.tree.arrays import in_form
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json
from treedb.tree.query import Query, as_window
from treedb.tree.query_order import OrderBy
from treedb.tree.values import Value

INLINE_CHILDREN = 500  # more of them are made JSON on a thread


Permit = Callable[[Snapshot], object]


def _permit_all(_: Snapshot) -> None: ...


@dataclass(frozen=True, slots=True)
class JsonText:
    """JSON text to be taken in chunks while its snapshot is open."""

    size_bytes: int
    chunks: AsyncIterator[bytes]


class Reads:
    """The reads of one namespace; whether one is permitted is asked of the given snapshot.

    `advise` is told of a query that no index covers, `count` of one that an index does.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits,
        is_indexed: Callable[[Path, OrderBy], bool],
        advise: Callable[[Path, OrderBy], None],
        count: Callable[[Path, OrderBy], None],
    ) -> None:
        self._store = store
        self._limits = limits
        self._is_indexed = is_indexed
        self._advise = advise
        self._count = count
        self._turns = asyncio.Semaphore(limits.reads_at_once)
        self._long_turns = asyncio.Semaphore(limits.long_reads_at_once)
        self._slice_turn = asyncio.Lock()  # of long reads

    def snapshot(self, permit: Permit = _permit_all) -> "AbstractAsyncContextManager[Snapshot]":
        """Open a snapshot when it is this read's turn; `permit` raises what forbids it."""
        return _InTurn(self._turns, self._store, permit)

    def long_snapshot(
        self, permit: Permit = _permit_all
    ) -> "AbstractAsyncContextManager[Snapshot]":
        """Open a snapshot likewise, that is kept while somebody takes a long text."""
        return _InTurn(self._long_turns, self._store, permit)

    async def value(self, path: Path, snapshot: Snapshot) -> Value:
        """Return the value at a place in export form, None when there is nothing."""
        return await paced(read_value(snapshot.tree, path, self._limits.slice_rows))

    async def json(
        self, path: Path, form: Form, snapshot: Snapshot, most_bytes: int | None = None
    ) -> list[bytes]:
        """Return the value at a place as JSON text, in pieces; TooBigToRead past a limit.

        That is the limit of an answer, unless another one is given.
        """
        most = self._limits.answer_bytes if most_bytes is None else most_bytes
        return await paced(read_json(snapshot.tree, path, form, self._limits.slice_rows, most))

    async def short_json(self, path: Path, form: Form, snapshot: Snapshot) -> list[bytes] | None:
        """Return the value at a place as JSON text, None when that is long."""
        most = min(self._limits.ready_bytes, self._limits.answer_bytes)
        try:
            return await self.json(path, form, snapshot, most)
        except TooBigToRead:
            return None

    @asynccontextmanager
    async def long_json(
        self, path: Path, form: Form, snapshot: Snapshot
    ) -> AsyncIterator[JsonText]:
        """Give the value at a place as JSON text to be taken in chunks.

        TooBigToRead past the limit of an answer, which is known before the first chunk is made.
        """
        size = 0
        async with aclosing(self._chunks(path, form, snapshot)) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > self._limits.answer_bytes:
                    raise too_big(self._limits.answer_bytes)
        async with aclosing(self._chunks(path, form, snapshot)) as chunks:
            yield JsonText(size, chunks)

    async def _chunks(
        self, path: Path, form: Form, snapshot: Snapshot
    ) -> AsyncGenerator[bytes, None]:
        chunks = json_chunks(snapshot.tree, path, form, self._limits.slice_rows)
        while True:
            async with self._slice_turn:
                chunk = next(chunks, None)
                await asyncio.sleep(0)
            if chunk is None:
                return
            if chunk:
                yield chunk

    async def truncated(self, path: Path, levels: int, snapshot: Snapshot) -> Value:
        """Return the value with every object `levels` levels below the place as True."""
        return await paced(read_truncated(snapshot.tree, path, levels, self._limits))

    async def chosen(self, path: Path, query: Query, snapshot: Snapshot) -> list[tuple[str, Value]]:
        """Return the children that a query chooses, in its order."""
        is_indexed = self._is_indexed(path, query.order_by)
        (self._count if is_indexed else self._advise)(path, query.order_by)
        return await paced(read_query(snapshot.tree, snapshot.indexes, path, query, self._limits))

    async def chosen_json(self, chosen: list[tuple[str, Value]], form: Form) -> bytes:
        """Return chosen children as the JSON text of an object; many of them on a thread."""
        if len(chosen) <= INLINE_CHILDREN:
            return _window_json(chosen, form, self._limits)
        return await asyncio.to_thread(_window_json, chosen, form, self._limits)


class _InTurn:
    """A turn and a snapshot, until the block ends; a generator would be dearer, and reads many."""

    __slots__ = ("_permit", "_snapshot", "_store", "_turns")

    def __init__(self, turns: asyncio.Semaphore, store: Store, permit: Permit) -> None:
        self._turns = turns
        self._store = store
        self._permit = permit
        self._snapshot: Snapshot | None = None

    async def __aenter__(self) -> Snapshot:
        await self._turns.acquire()
        try:
            self._snapshot = self._store.snapshot()
            self._permit(self._snapshot)
        except BaseException:
            self._end()
            raise
        return self._snapshot

    async def __aexit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
        self._turns.release()


async def paced(steps: Steps[Result]) -> Result:
    """Run steps to their end, letting the event loop have its turn between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        await asyncio.sleep(0)


def _window_json(chosen: list[tuple[str, Value]], form: Form, limits: Limits) -> bytes:
    window = as_window(chosen)
    text = format_json(in_form(window, form))
    if len(text) > limits.answer_bytes:
        raise TooBigToRead(
            f"The answer has {len(text)} bytes, one answer holds at most {limits.answer_bytes}; "
            "ask for fewer children."
        )
    return text
