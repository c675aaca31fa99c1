"""Reads come from one snapshot, in turns; long ones are made while somebody takes them."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

import orjson
import pytest

from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import TooBigToRead
from treedb.paths.path import ROOT, Path
from treedb.reads import Reads, paced
from treedb.store.store import Store
from treedb.tree.arrays import to_plain
from treedb.tree.commit import Commit
from treedb.tree.forms import Form
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, OrderBy, by_child
from treedb.tree.values import Value

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 28, row_bytes=60, slice_rows=5, ready_bytes=2_000)
PEOPLE: dict[str, Value] = {f"p{n:03d}": {"name": "Mary", "n": n} for n in range(200)}
TREE: dict[str, Value] = {"list": {"0": "x", "1": "y"}, "people": PEOPLE}
PEOPLE_PATH = Path(("people",))


@dataclass
class World:
    """A store with reads of it, and who was advised to index what."""

    store: Store
    limits: Limits
    advised: list[tuple[Path, OrderBy]] = field(default_factory=list)
    counted: list[tuple[Path, OrderBy]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reads = Reads(
            self.store,
            self.limits,
            lambda _, order_by: order_by == KEY,
            lambda path, order_by: self.advised.append((path, order_by)),
            lambda path, order_by: self.counted.append((path, order_by)),
        )

    def put(self, path: Path, value: Value) -> None:
        with self.store.transaction() as transaction:
            patch = Patch(((path, value),))
            transaction.apply(Commit(transaction.revision + 1, 0, patch, None, None))
            transaction.commit()


@contextmanager
def opened(folder: FilePath, **changed: int) -> Iterator[World]:
    limits = replace(LIMITS, **changed)
    store = Store.open(folder, limits, fsync=False)
    world = World(store, limits)
    world.put(ROOT, TREE)
    yield world
    store.close()


@pytest.fixture
def world(tmp_path: FilePath) -> Iterator[World]:
    with opened(tmp_path) as world:
        yield world


async def text_of(world: World, path: Path, form: Form) -> bytes:
    async with (
        world.reads.long_snapshot() as snapshot,
        world.reads.long_json(path, form, snapshot) as text,
    ):
        chunks = [chunk async for chunk in text.chunks]
        assert sum(map(len, chunks)) == text.size_bytes
        assert all(chunks)
        return b"".join(chunks)


# Short reads


async def test_a_value_is_read_whole(world: World) -> None:
    async with world.reads.snapshot() as snapshot:
        assert await world.reads.value(ROOT, snapshot) == TREE
        assert await world.reads.value(Path(("none",)), snapshot) is None


async def test_json_is_the_value_in_its_form(world: World) -> None:
    async with world.reads.snapshot() as snapshot:
        for form, expected in ((Form.EXPORT, TREE), (Form.PLAIN, to_plain(TREE))):
            assert orjson.loads(b"".join(await world.reads.json(ROOT, form, snapshot))) == expected


async def test_json_past_a_given_limit_is_refused(world: World) -> None:
    async with world.reads.snapshot() as snapshot:
        with pytest.raises(TooBigToRead) as refused:
            await world.reads.json(ROOT, Form.PLAIN, snapshot, 100)
    assert refused.value.detail == (
        "the answer passes 100 bytes; read a deeper place, or use shallow=true or depth=N"
    )


async def test_truncated_objects_are_true(world: World) -> None:
    async with world.reads.snapshot() as snapshot:
        assert await world.reads.truncated(ROOT, 1, snapshot) == {"list": True, "people": True}


async def test_a_query_with_an_index_is_counted_and_one_without_is_advised_one(
    world: World,
) -> None:
    async with world.reads.snapshot() as snapshot:
        by_n = Query(by_child("n"), limit=2, keeps_last=True)
        chosen = await world.reads.chosen(PEOPLE_PATH, by_n, snapshot)
        assert [key for key, _ in chosen] == ["p198", "p199"]
        assert await world.reads.chosen(PEOPLE_PATH, Query(KEY, limit=1), snapshot)
    assert world.advised == [(PEOPLE_PATH, by_child("n"))]
    assert world.counted == [(PEOPLE_PATH, KEY)]


@pytest.mark.parametrize("count", [2, 600])
async def test_chosen_children_are_an_object_or_an_array(world: World, count: int) -> None:
    chosen: list[tuple[str, Value]] = [(str(n), {"n": n}) for n in range(count)]
    as_object = orjson.loads(await world.reads.chosen_json(chosen, Form.EXPORT))
    assert as_object == dict(chosen)
    as_array = orjson.loads(await world.reads.chosen_json(chosen, Form.PLAIN))
    assert as_array == [value for _, value in chosen]


async def test_chosen_children_past_the_limit_are_refused(tmp_path: FilePath) -> None:
    with opened(tmp_path, answer_bytes=10) as world, pytest.raises(TooBigToRead) as refused:
        await world.reads.chosen_json([("a", "x" * 20)], Form.EXPORT)
    assert refused.value.detail == (
        "The answer has 28 bytes, one answer holds at most 10; ask for fewer children."
    )


async def test_reads_take_turns(tmp_path: FilePath) -> None:
    with opened(tmp_path, reads_at_once=1) as world:
        async with world.reads.snapshot():
            other = asyncio.ensure_future(revision_of(world))
            await asyncio.sleep(0)
            assert not other.done()
        assert await other == 1


async def revision_of(world: World) -> int:
    async with world.reads.snapshot() as snapshot:
        return snapshot.revision


async def test_steps_let_the_event_loop_have_its_turn() -> None:
    turns: list[str] = []

    def steps() -> Generator[None, None, None]:
        turns.append("step")
        yield
        turns.append("step")
        yield

    asyncio.get_running_loop().call_soon(turns.append, "turn")
    await paced(steps())
    assert turns == ["step", "turn", "step"]


# Long reads


async def test_only_a_short_text_is_ready(world: World) -> None:
    async with world.reads.snapshot() as snapshot:
        assert await world.reads.short_json(PEOPLE_PATH, Form.PLAIN, snapshot) is None
        short = await world.reads.short_json(Path(("list",)), Form.PLAIN, snapshot)
    assert short is not None
    assert b"".join(short) == b'["x","y"]'


async def test_a_text_that_nobody_may_have_is_not_ready_either(tmp_path: FilePath) -> None:
    with opened(tmp_path, answer_bytes=100) as world:
        async with world.reads.snapshot() as snapshot:
            assert await world.reads.short_json(PEOPLE_PATH, Form.PLAIN, snapshot) is None


@pytest.mark.parametrize("path", [ROOT, PEOPLE_PATH, Path(("list",)), Path(("none",))])
@pytest.mark.parametrize("form", Form)
async def test_a_long_text_is_the_short_one_in_chunks(world: World, path: Path, form: Form) -> None:
    async with world.reads.snapshot() as snapshot:
        expected = b"".join(await world.reads.json(path, form, snapshot))
    assert await text_of(world, path, form) == expected


async def test_text_past_the_limit_is_refused_before_its_first_chunk(tmp_path: FilePath) -> None:
    refused = pytest.raises(TooBigToRead, match="the answer passes 2000 bytes")
    with opened(tmp_path, answer_bytes=2_000) as world, refused:
        await text_of(world, ROOT, Form.PLAIN)


async def test_a_write_beside_a_long_read_does_not_show_in_it(world: World) -> None:
    async with (
        world.reads.long_snapshot() as snapshot,
        world.reads.long_json(PEOPLE_PATH, Form.EXPORT, snapshot) as text,
    ):
        taken = [await anext(text.chunks)]
        world.put(PEOPLE_PATH, {"p199": "somebody else"})
        taken += [chunk async for chunk in text.chunks]
    assert orjson.loads(b"".join(taken)) == PEOPLE


async def test_a_long_read_that_is_given_up_lets_its_snapshot_go(world: World) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async with (
            world.reads.long_snapshot() as snapshot,
            world.reads.long_json(PEOPLE_PATH, Form.EXPORT, snapshot) as text,
        ):
            await anext(text.chunks)
            begun.set()
            await asyncio.Event().wait()

    reading = asyncio.ensure_future(read())
    await begun.wait()
    assert not world.store.grow(), "a transaction is open"
    reading.cancel()
    await asyncio.wait((reading,))
    assert world.store.grow()


async def test_one_slice_of_all_long_reads_is_made_in_a_turn(world: World) -> None:
    """Eight readers at once take as many turns of the loop as eight one after the other."""
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(count)

    async def turns_of(readers: int) -> int:
        before = turns
        await asyncio.gather(*(text_of(world, PEOPLE_PATH, Form.PLAIN) for _ in range(readers)))
        return turns - before

    count()
    alone = await turns_of(1)
    assert alone >= 2 * len(PEOPLE) // LIMITS.slice_rows
    assert await turns_of(8) >= 8 * (alone - 2)


async def test_long_reads_have_turns_of_their_own(tmp_path: FilePath) -> None:
    with opened(tmp_path, long_reads_at_once=1) as world:
        async with world.reads.long_snapshot():
            other = asyncio.ensure_future(text_of(world, PEOPLE_PATH, Form.PLAIN))
            async with world.reads.snapshot() as snapshot:
                assert await world.reads.value(PEOPLE_PATH, snapshot) == PEOPLE
            assert not other.done()
        assert orjson.loads(await other) == PEOPLE
