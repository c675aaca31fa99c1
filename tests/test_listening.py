"""How a listener begins: with the value, or with what it missed; then what comes, all of it once."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

import orjson
import pytest

from tests.listeners import follow
from tests.naive_tree import NaiveTree
from treedb import listening
from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database
from treedb.errors import PermissionDenied
from treedb.listening import Missed
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import NOBODY
from treedb.store.kept_rules import Origin
from treedb.sync.delivery import Delivery, Watch
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.query import Query
from treedb.tree.query_order import KEY
from treedb.writes.request import Write, set_write, update_write

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 28, row_bytes=60, slice_rows=2)
OPEN = '{"rules": {".read": true, ".write": true}}'
PLACE = Path(("a",))
WATCH = Watch(PLACE)
LAST_TWO = Watch(PLACE, Query(KEY, limit=2, keeps_last=True))


@dataclass(eq=False)
class Client:
    """A listener that keeps a tree by what it is told, as a client does that comes and goes."""

    watch: Watch = WATCH
    tree: NaiveTree = field(default_factory=NaiveTree)
    bookmark: Bookmark = BEGINNING
    revisions: list[int] = field(default_factory=list)
    missed: list[Delivery] = field(default_factory=list)
    is_cancelled: bool = False

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        self.revisions.append(delivery.revision)
        self.bookmark = delivery.bookmark
        follow(self.tree, delivery.change)

    def cancel(self, watch: Watch) -> None:
        self.is_cancelled = True

    def encode(self, delivery: Delivery) -> bytes:
        self.missed.append(delivery)
        return b"%d" % delivery.revision

    async def listen(self, database: Database) -> None:
        first = await database.listen(self.watch, self, NOBODY, None)
        assert first is not None
        self.tree.set(PLACE.keys, orjson.loads(b"".join(first.pieces)))
        self.bookmark = first.bookmark

    async def resume(self, database: Database, since: Bookmark | None = None) -> Missed | None:
        self.missed.clear()
        since = self.bookmark if since is None else since
        found = await database.resume(self.watch, self, NOBODY, since, self.encode)
        if found is not None:
            for delivery in self.missed:
                self.deliver(delivery, None)
            self.bookmark = found.bookmark
        return found

    def leave(self, database: Database) -> None:
        database.unlisten(self.watch, self)

    @property
    def value(self) -> object:
        return self.tree.get(PLACE.keys)


@asynccontextmanager
async def opened(folder: FilePath, limits: Limits = LIMITS) -> AsyncIterator[Database]:
    database = Database.open(folder, "test", limits, SystemClock(), Access(OPEN), fsync=False)
    await database.start()
    try:
        yield database
    finally:
        await database.close()


async def put(database: Database, value: object, *keys: str) -> None:
    await database.write(set_write(Path(keys), value, LIMITS))


# The value


async def test_the_value_comes_with_its_bookmark(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        for watch in (WATCH, LAST_TWO):
            await put(database, {"x": 1}, "a")
            client = Client(watch)
            await client.listen(database)
            assert client.bookmark == database.bookmark
            assert client.value == {"x": 1}


# What was missed


async def test_what_was_missed_comes_first_and_then_what_comes(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        client = Client()
        await client.listen(database)
        await put(database, 1, "a", "x")  # heard
        client.leave(database)
        await put(database, 2, "a", "y")
        await put(database, 3, "b")
        await put(database, {"a": {"z": 4}})
        missed = await client.resume(database)
        assert missed == Missed([b"2", b"4"], database.bookmark)
        await put(database, 5, "a", "w")
        assert client.revisions == [1, 2, 4, 5]
        assert client.value == {"w": 5, "z": 4}


async def test_nobody_missed_anything_of_a_place_where_nothing_happened(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        assert await Client().resume(database) == Missed([], BEGINNING)
        await put(database, 1, "b")
        assert await Client().resume(database) == Missed([], database.bookmark)


async def test_any_history_with_gaps_is_heard_as_the_naive_tree_has_it(
    tmp_path: FilePath, seed: int
) -> None:
    choice, tree, expected = random.Random(seed), NaiveTree(), 0
    keys = ("a", "b", "c")
    async with opened(tmp_path) as database:
        client = Client()
        await client.listen(database)
        is_listening = True
        for number in range(1, 400):
            if choice.random() < 0.2:
                if is_listening:
                    client.leave(database)
                else:
                    assert await client.resume(database) is not None
                is_listening = not is_listening
            if choice.random() < 0.3:
                places = [tuple(choice.choices(keys, k=2)) for _ in range(2)]
                changes = {place: choice.choice((None, number)) for place in places}
                await database.write(
                    update_write(ROOT, {"/".join(k): v for k, v in changes.items()}, LIMITS)
                )
                tree.update((), changes)
                expected += any(place[0] == "a" for place in places)
            else:
                place = tuple(choice.choices(keys, k=choice.randint(0, 3)))
                value = choice.choice((None, number, {"a": {"x": number}, "b": number}))
                await put(database, value, *place)
                tree.set(place, value)
                expected += place[:1] in ((), ("a",))
        if not is_listening:
            assert await client.resume(database) is not None
        assert client.value == tree.get(PLACE.keys)
        assert client.revisions == sorted(set(client.revisions))
        assert len(client.revisions) == expected


async def test_nothing_is_lost_or_heard_twice_while_others_write(
    tmp_path: FilePath, seed: int
) -> None:
    choice = random.Random(seed)
    async with opened(tmp_path) as database:
        client = Client()
        await client.listen(database)
        writing = asyncio.gather(*(database.submit(_count(number)) for number in range(300)))
        while not writing.done():
            client.leave(database)
            for _ in range(choice.randint(0, 3)):
                await asyncio.sleep(0)
            assert await client.resume(database) is not None
            for _ in range(choice.randint(0, 3)):
                await asyncio.sleep(0)
        await asyncio.sleep(0)  # so that it is released
        assert client.revisions == list(range(1, 301))


def _count(number: int) -> Write:
    return set_write(PLACE.child(str(number)), number, LIMITS)


async def test_a_restart_is_no_gap(tmp_path: FilePath) -> None:
    client = Client()
    async with opened(tmp_path) as database:
        await client.listen(database)
        await put(database, 1, "a", "x")
        client.leave(database)
        await put(database, 2, "a", "y")
    async with opened(tmp_path) as database:
        assert await client.resume(database) == Missed([b"2"], database.bookmark)


# When only the value will do


async def resumes(database: Database, client: Client, since: Bookmark | None = None) -> bool:
    """Tell whether a client resumes; if not, hold the database to it that nobody listens."""
    resumed = await client.resume(database, since) is not None
    assert database.watched_places == int(resumed)
    return resumed


async def test_a_bookmark_of_another_database_is_not_resumed(tmp_path: FilePath) -> None:
    client = Client()
    async with opened(tmp_path / "old") as database:
        await put(database, 1, "a")
        await client.listen(database)
    async with opened(tmp_path / "new") as database:
        assert not await resumes(database, client)
        await put(database, 1, "a")
        await put(database, 2, "a")
        assert not await resumes(database, client)


async def test_commits_that_the_journal_has_lost_are_not_resumed(tmp_path: FilePath) -> None:
    async with opened(tmp_path, replace(LIMITS, journal_entries=4)) as database:
        client = Client()
        await client.listen(database)
        client.leave(database)
        for number in range(4):
            await put(database, number, "b")
        lately = database.bookmark
        for number in range(3):
            await put(database, number, "a", "x")
        assert not await resumes(database, client)
        assert await resumes(database, client, lately)


async def test_rules_that_were_put_meanwhile_make_the_value_needed(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        client = Client()
        await client.listen(database)
        client.leave(database)
        await put(database, "secret", "a")
        await put(database, None, "a")
        await database.put_rules(OPEN, Origin.ADMIN)
        assert not await resumes(database, client)
        assert await resumes(database, client, database.bookmark)


async def test_who_may_not_read_any_more_is_refused(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        client = Client()
        await database.put_rules('{"rules": {}}', Origin.ADMIN)
        with pytest.raises(PermissionDenied):
            await client.resume(database)
        assert database.watched_places == 0


async def test_what_is_longer_than_the_value_is_not_told(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "SMALL_BYTES", 2)
    monkeypatch.setattr(listening, "INLINE_BYTES", 20)
    async with opened(tmp_path) as database:
        client = Client()
        await client.listen(database)
        client.leave(database)
        await put(database, 1, "a")  # "1" is told: shorter than what is small
        assert await resumes(database, client)
        client.leave(database)
        for number in range(2, 12):  # "2", "3", ... "11" are longer than "11"
            await put(database, number, "a")
        assert not await resumes(database, client)
        await put(database, {str(number): "x" * 20 for number in range(100)}, "a")
        await client.listen(database)
        client.leave(database)
        for number in range(10):
            await put(database, number, "a", "x")
        assert await resumes(database, client)


# Queries


async def test_a_query_is_resumed_where_nothing_happened(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        await put(database, {"x": 1, "y": 2}, "a")
        client = Client(LAST_TWO)
        await client.listen(database)
        client.leave(database)
        await put(database, 1, "b")
        assert await client.resume(database) == Missed([], database.bookmark)
        await put(database, 3, "a", "z")
        assert client.value == {"y": 2, "z": 3}
        client.leave(database)
        await put(database, 4, "a", "z")
        assert not await resumes(database, client)
        assert not await resumes(database, client, Bookmark(1, 1))


async def test_a_query_in_whose_window_something_happens_meanwhile_is_read_anew(
    tmp_path: FilePath,
) -> None:
    async with opened(tmp_path) as database:
        await put(database, {str(number): number for number in range(200)}, "a")
        client = Client(LAST_TWO)
        await client.listen(database)
        client.leave(database)
        resuming = asyncio.create_task(client.resume(database))
        writing = [database.submit(_count(number)) for number in range(200, 260)]
        if await resuming is None:
            await client.listen(database)
        await asyncio.gather(*writing)
        assert client.value == {"258": 258, "259": 259}
