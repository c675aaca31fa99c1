"""Database: one namespace, as the servers and tools above see it.

It ties three parts together: the store that keeps the tree, the writer that changes it, and the
hub that knows who hears. The writer's thread hands every group commit to the event loop; there
the *follower* publishes the commits in order and only then answers their senders, so that a
client always has the data of its write before the acknowledgement.

All methods run in the event loop that `start` was called in.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.errors import TooBigToRead, TreeError, Unavailable
from treedb.paths.order import encode_path
from treedb.paths.path import ROOT, Path
from treedb.paths.push_id import PushIds
from treedb.store.assembly import Assembly, JsonAssembly
from treedb.store.cursor import Row
from treedb.store.store import Store
from treedb.store.stored_tree import Inner, StoredTree
from treedb.sync.delivery import Listener
from treedb.sync.hub import Hub
from treedb.tree.arrays import to_plain
from treedb.tree.commit import Commit
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json
from treedb.tree.patch import Patch
from treedb.tree.truncation import truncate
from treedb.tree.values import Value, is_object, leaf_of
from treedb.writes.request import Write
from treedb.writes.writer import Batch, Outcome, Writer, Written

log = logging.getLogger("treedb.database")

# The longest the follower keeps the event loop before it lets others have it.
TURN_SECONDS = 0.005
READER_CHECK_SECONDS = 30.0


class Database:
    """The tree of one namespace: read it, write it, listen to it."""

    def __init__(self, namespace: str, store: Store, limits: Limits, clock: SystemClock) -> None:
        self.namespace = namespace
        self.limits = limits
        self._store = store
        self._clock = clock
        self._hub = Hub()
        self._push_ids = PushIds(clock.random_bits)
        self._writer = Writer(store, clock, self._batch_done)
        self._batches: deque[Batch] = deque()
        self._published = 0
        self._publishing: Iterator[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reader_check: asyncio.TimerHandle | None = None
        self._closing = False

    @classmethod
    def open(
        cls,
        directory: FilePath,
        namespace: str,
        limits: Limits,
        clock: SystemClock,
        *,
        fsync: bool = True,
    ) -> "Database":
        """Open the namespace kept in `directory`, creating it when absent; see Store.open."""
        return cls(namespace, Store.open(directory, limits, fsync=fsync), limits, clock)

    async def start(self) -> None:
        """Begin to take writes and to follow the journal."""
        self._loop = asyncio.get_running_loop()
        with self._store.snapshot() as snapshot:
            self._published = snapshot.revision
        self._writer.start()
        self._check_readers()

    async def close(self) -> None:
        """Finish the writes submitted, publish them, answer their senders, and close the store."""
        if self._loop is None or self._closing:
            return
        self._closing = True
        if self._reader_check is not None:
            self._reader_check.cancel()
        await asyncio.to_thread(self._writer.stop)
        # What the thread handed over last arrived before this: wait until all is published.
        published = self._loop.create_future()
        self._arrived(Batch((), (Outcome(published, Written(self._published, ())),)))
        await published
        self._store.close()

    @property
    def revision(self) -> int:
        """Return the revision of the last commit published to listeners."""
        return self._published

    @property
    def watched_places(self) -> int:
        """Count the places listened to."""
        return len(self._hub)

    def push_id(self) -> str:
        """Make a new push id by the server's clock."""
        return self._push_ids.next(self._clock.now_ms())

    # Reading

    async def get(self, path: Path) -> Value:
        """Return the value at a place in export form, None when there is nothing."""
        with self._store.snapshot() as snapshot:
            slices = snapshot.tree.slices_of(path, self.limits.slice_rows)
            if slices is None:
                return snapshot.tree.get(path)
            assembly = Assembly(encode_path(path.keys))
            for rows in slices:
                assembly.add(rows)
                await asyncio.sleep(0)
            return assembly.value

    async def get_json(self, path: Path, form: Form) -> list[bytes]:
        """Return the value at a place as JSON text, in pieces; TooBigToRead past the limit."""
        with self._store.snapshot() as snapshot:
            slices = snapshot.tree.slices_of(path, self.limits.slice_rows)
            if slices is None:
                return [self._json_of(path, snapshot.tree.get(path), form)]
            return await self._json_of_slices(path, slices, form)

    async def get_truncated(self, path: Path, levels: int) -> Value:
        """Return the value with every object `levels` levels below the place as True.

        With `levels=1` this is Firebase's shallow read: objects become True, leaves stay.
        Nothing below is read, so the answer costs what it holds.
        """
        with self._store.snapshot() as snapshot:
            if snapshot.tree.slices_of(path, 1) is None:
                return truncate(snapshot.tree.get(path), levels)
            return await _Truncation(snapshot.tree, self.limits).read(path, levels)

    # Writing

    async def write(self, write: Write) -> Written:
        """Make a write durable and published; raises the TreeError that refused it."""
        return await self.submit(write)

    def submit(self, write: Write) -> "asyncio.Future[Written]":
        """Queue a write; writes take effect in the order of these calls."""
        assert self._loop is not None, "a database is started before it is used"
        answer: asyncio.Future[Written] = self._loop.create_future()
        if self._closing:
            answer.set_exception(Unavailable("the server is shutting down, try again later"))
        else:
            self._writer.submit(write, answer)
        return answer

    # Listening

    async def listen(self, path: Path, listener: Listener) -> list[bytes]:
        """Join a listener to a place; return the value it starts from as export JSON, in pieces.

        Between that value and the deliveries there is no gap and nothing comes twice. Deliveries
        begin in a later turn of the event loop than the one this returns in, so a caller that
        sends the value before it awaits anything sends it first. Listening to a place again
        starts anew.
        """
        with self._store.snapshot() as snapshot:
            slices = snapshot.tree.slices_of(path, self.limits.slice_rows)
            if slices is None:
                text = self._json_of(path, snapshot.tree.get(path), Form.EXPORT)
                self._hub.join(path, listener, snapshot.revision)
                return [text]
            self._hub.join(path, listener, snapshot.revision, held=True)
            try:
                pieces = await self._json_of_slices(path, slices, Form.EXPORT)
            except BaseException:
                self._hub.leave(path, listener)
                raise
        assert self._loop is not None, "a database is started before it is used"
        self._loop.call_soon(self._release, path, listener)
        return pieces

    def unlisten(self, path: Path, listener: Listener) -> None:
        """Stop a listen; nothing happens when there is none."""
        self._hub.leave(path, listener)

    # Following the journal

    def _batch_done(self, batch: Batch) -> None:
        """Hand a group commit to the event loop; called on the writer's thread."""
        assert self._loop is not None, "the writer starts after the loop is known"
        self._loop.call_soon_threadsafe(self._arrived, batch)

    def _arrived(self, batch: Batch) -> None:
        self._batches.append(batch)
        if self._publishing is None:
            self._publishing = self._publish_all()
            self._take_turn()

    def _take_turn(self) -> None:
        """Publish for at most a turn, then let others have the loop."""
        assert self._loop is not None, "the writer starts after the loop is known"
        assert self._publishing is not None, "a turn is taken while something is published"
        end = self._clock.monotonic() + TURN_SECONDS
        for _ in self._publishing:
            if self._clock.monotonic() > end:
                self._loop.call_soon(self._take_turn)
                return
        self._publishing = None

    def _publish_all(self) -> Iterator[None]:
        """Publish waiting batches and answer their senders; yields where it may pause."""
        while self._batches:
            batch = self._batches.popleft()
            for commit in self._unpublished(batch.commits):
                for delivery, listeners in self._hub.publish(commit):
                    for listener in listeners:
                        listener.deliver(delivery)
                self._published = commit.revision
                yield
            for outcome in batch.outcomes:
                _answer(outcome.ticket, outcome.result)
            yield

    def _unpublished(self, commits: tuple[Commit, ...]) -> Iterator[Commit]:
        """Yield the journal from where this process is, up to and with these commits.

        They are the journal's own entries, handed over in memory; what another process wrote
        before them is read from disk.
        """
        if commits and commits[0].revision > self._published + 1:
            with self._store.snapshot() as snapshot:
                missed = list(snapshot.journal.after(self._published))
                if missed[0].revision > self._published + 1:
                    # Pruned before we read it: the whole tree stands for what is not known.
                    whole = Patch(((ROOT, snapshot.tree.get(ROOT)),))
                    missed = [replace(missed[-1], patch=whole)]
            yield from missed
        yield from (commit for commit in commits if commit.revision > self._published)

    def _release(self, path: Path, listener: Listener) -> None:
        for delivery in self._hub.release(path, listener):
            listener.deliver(delivery)

    def _check_readers(self) -> None:
        assert self._loop is not None, "the timer starts after the loop is known"
        freed = self._store.check_readers()
        if freed:
            log.warning("freed %d reader slots of processes that died", freed)
        self._reader_check = self._loop.call_later(READER_CHECK_SECONDS, self._check_readers)

    # Text

    async def _json_of_slices(
        self, path: Path, slices: Iterator[list[Row]], form: Form
    ) -> list[bytes]:
        assembly = JsonAssembly(encode_path(path.keys), form, self.limits.answer_bytes)
        for rows in slices:
            assembly.add(rows)
            await asyncio.sleep(0)
        return assembly.finish()

    def _json_of(self, path: Path, value: Value, form: Form) -> bytes:
        text = format_json(to_plain(value) if form is Form.PLAIN else value)
        if len(text) > self.limits.answer_bytes:
            raise TooBigToRead(
                f"the value at {path} takes {len(text)} bytes, one answer holds at most "
                f"{self.limits.answer_bytes}"
            )
        return text


class _Truncation:
    """Read the upper levels of a subtree that stands above rows."""

    def __init__(self, tree: StoredTree, limits: Limits) -> None:
        self._tree = tree
        self._limits = limits
        self._count = 0
        self._size = 0

    async def read(self, path: Path, levels: int) -> Value:
        return await self._object(self._tree.children(path), levels)

    async def _object(self, members: "Iterator[tuple[str, Value | Inner]]", levels: int) -> Value:
        result: dict[str, Value] = {}
        for key, child in members:
            result[key] = await self._child(child, levels - 1)
            self._size += len(key)
            if self._size > self._limits.answer_bytes:
                raise TooBigToRead(f"the keys alone pass {self._limits.answer_bytes} bytes")
            self._count += 1
            if self._count % self._limits.slice_rows == 0:
                await asyncio.sleep(0)
        return result or None

    async def _child(self, child: "Value | Inner", levels: int) -> Value:
        if isinstance(child, Inner):
            return await self._object(self._tree.children_of(child), levels) if levels else True
        if not is_object(child):
            return leaf_of(child)
        return truncate(child, levels) if levels else True


def _answer(ticket: object, result: Written | TreeError) -> None:
    """Resolve a sender's future, unless the sender has gone."""
    assert isinstance(ticket, asyncio.Future)
    if ticket.done():
        return
    if isinstance(result, TreeError):
        ticket.set_exception(result)
    else:
        ticket.set_result(result)
