"""The database against the naive tree: what is read, what is heard, what is kept."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.listeners import follow
from tests.naive_tree import NaiveTree
from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database
from treedb.errors import TooBigToRead, TreeError, Unavailable
from treedb.first_value import FirstValue
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Caller
from treedb.sync.delivery import Delivery, Watch
from treedb.tree.arrays import to_plain
from treedb.tree.commit import Commit
from treedb.tree.forms import Form
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import KEY
from treedb.tree.values import normal_form
from treedb.writes.request import set_write, update_write

# Rows so small that every history splits them, and slices of two rows.
LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 28, row_bytes=48, slice_rows=2)

OPEN = Access('{"rules": {".read": true, ".write": true}}')
ANYBODY = Caller()

NASTY = [
    "a",
    "b",
    "0",
    "1",
    "2",
    "10",
    "07",
    "-0",
    " ",
    'q"\\',
    "é",
    "😀",
    "\ue000",
    "__proto__",
    "ж" * 384,
]
keys = st.sampled_from(NASTY)
places = st.lists(keys, max_size=4).map(tuple)
leaves = st.sampled_from([True, False, 0, -1, 1.5, 1e300, 2**53, "", "text", "\u0000", "😀" * 20])
values = st.recursive(
    st.none() | leaves,
    lambda inner: (
        st.dictionaries(keys, inner, max_size=4)
        | st.lists(inner, max_size=4)
        | st.builds(lambda value: {".value": value, ".priority": 2}, leaves)
        | st.builds(
            lambda members, priority: {**members, ".priority": priority},
            st.dictionaries(keys, inner, max_size=3),
            st.sampled_from([0, 1.5, "p"]),
        )
    ),
    max_leaves=10,
)
sets = st.tuples(st.just("set"), places, values)
removes = st.tuples(st.just("set"), places, st.none())
pushes = st.tuples(st.just("push"), places.filter(lambda place: len(place) < 4), values)
updates = st.tuples(
    st.just("update"),
    places.filter(lambda place: len(place) < 3),
    st.dictionaries(keys, values, max_size=3),
)
listens = st.tuples(st.just("listen"), places, st.none())
histories = st.lists(
    st.one_of(sets, sets, removes, pushes, updates, listens), min_size=1, max_size=12
)


@dataclass(eq=False)
class Mirror:
    """A listener that keeps what it hears of one place, as a client would."""

    place: Path
    tree: NaiveTree = field(default_factory=NaiveTree)
    revisions: list[int] = field(default_factory=list)
    cancelled: list[Path] = field(default_factory=list)

    def start(self, value: FirstValue | None) -> None:
        pieces = [b"null"] if value is None else value.pieces
        self.tree.set(self.place.keys, orjson.loads(b"".join(pieces)))

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        self.revisions.append(delivery.revision)
        follow(self.tree, delivery.change)

    def cancel(self, watch: Watch) -> None:
        self.cancelled.append(watch.place)

    @property
    def value(self) -> object:
        return self.tree.get(self.place.keys)


@asynccontextmanager
async def opened(directory: FilePath, limits: Limits = LIMITS) -> AsyncIterator[Database]:
    database = Database.open(directory, "test", limits, SystemClock(), OPEN, fsync=False)
    await database.start()
    try:
        yield database
    finally:
        await database.close()


async def read_json(database: Database, place: Path, form: Form) -> Any:
    return orjson.loads(b"".join(await database.get_json(place, form, ANYBODY)))


async def act(database: Database, model: NaiveTree, step: tuple[str, tuple[str, ...], Any]) -> None:
    kind, keys_, raw = step
    place = Path(keys_)
    if kind == "push":
        place = place.child(database.push_id())
        kind = "set"
    if kind == "set":
        await database.write(set_write(place, raw, LIMITS))
        model.set(place.keys, normal_form(raw, 0, LIMITS).value)
    elif kind == "update":
        await database.write(update_write(place, raw, LIMITS))
        changes: dict[tuple[str, ...], object] = {
            (key,): normal_form(value, 0, LIMITS).value for key, value in raw.items()
        }
        model.update(place.keys, changes)


async def run_history(history: list[tuple[str, tuple[str, ...], Any]], directory: FilePath) -> None:
    model = NaiveTree()
    mirrors: list[Mirror] = []
    async with opened(directory) as database:
        for step in history:
            if step[0] == "listen":
                mirror = Mirror(Path(step[1]))
                mirror.start(await database.listen(Watch(mirror.place), mirror, ANYBODY))
                mirrors.append(mirror)
            await act(database, model, step)
            await check_place(database, model, Path(step[1]))
        await check_place(database, model, ROOT)
        for mirror in mirrors:
            assert mirror.value == model.get(mirror.place.keys)
            assert mirror.revisions == sorted(set(mirror.revisions))
        revision = database.revision
    async with opened(directory) as database:
        assert database.revision == revision
        await check_place(database, model, ROOT)


async def check_place(database: Database, model: NaiveTree, place: Path) -> None:
    expected: Any = model.get(place.keys)
    assert await database.get(place, ANYBODY) == expected
    assert await read_json(database, place, Form.EXPORT) == expected
    assert await read_json(database, place, Form.PLAIN) == to_plain(expected)
    assert await database.get_truncated(place, 1, ANYBODY) == model.shallow(place.keys)
    assert await database.get_truncated(place, 32, ANYBODY) == without_priorities(expected)


def without_priorities(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if ".value" in value:
        return value[".value"]
    return {key: without_priorities(child) for key, child in value.items() if key != ".priority"}


@settings(max_examples=150, deadline=None)
@given(history=histories)
def test_any_history_is_read_heard_and_kept_as_the_naive_tree_has_it(history: list[Any]) -> None:
    with TemporaryDirectory() as directory:
        asyncio.run(run_history(history, FilePath(directory)))


async def test_a_listener_that_joins_during_a_long_read_misses_nothing(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        big = {f"r{number:03d}": "x" * 60 for number in range(300)}
        await database.write(set_write(ROOT, big, LIMITS))
        mirror = Mirror(ROOT)

        async def join() -> None:
            mirror.start(await database.listen(Watch(ROOT), mirror, ANYBODY))

        writes = [database.write(set_write(Path((f"r{n:03d}",)), n, LIMITS)) for n in range(300)]
        await asyncio.gather(join(), *writes)
        await asyncio.sleep(0.01)
        assert mirror.value == await database.get(ROOT, ANYBODY)
        assert mirror.revisions == sorted(set(mirror.revisions))


async def test_more_than_may_read_at_once_are_served_in_turns(tmp_path: FilePath) -> None:
    limits = replace(LIMITS, reads_at_once=2, readers=8, slice_rows=1)
    async with opened(tmp_path, limits) as database:
        value = {f"r{number}": "x" * 1500 for number in range(9)}
        await database.write(set_write(ROOT, value, limits))
        mirrors = [Mirror(Path((f"r{number % 9}",))) for number in range(50)]
        query = Query(KEY, limit=3)
        window = sorted(value.items())[:3]

        async def join(mirror: Mirror) -> None:
            mirror.start(await database.listen(Watch(mirror.place), mirror, ANYBODY))

        async def choose() -> None:
            watch = Watch(ROOT, query, 1)
            found = await database.listen(watch, Mirror(ROOT), ANYBODY)
            assert found is not None
            assert orjson.loads(b"".join(found.pieces)) == dict(window)

        await asyncio.gather(
            *(join(mirror) for mirror in mirrors),
            *(choose() for _ in range(20)),
            *(check_read(database, value) for _ in range(20)),
        )
        assert {mirror.value for mirror in mirrors} == {"x" * 1500}


async def check_read(database: Database, value: object) -> None:
    assert await database.get(ROOT, ANYBODY) == value
    assert await read_json(database, ROOT, Form.EXPORT) == value


async def test_a_sender_hears_of_its_write_before_it_is_answered(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        mirror = Mirror(Path(("a",)))
        mirror.start(await database.listen(Watch(mirror.place), mirror, ANYBODY))
        for number in range(1, 20):
            written = await database.write(set_write(mirror.place, number, LIMITS))
            assert mirror.revisions[-1] == written.revision
            assert mirror.value == number


async def test_a_refused_write_is_raised_and_leaves_nothing(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        with pytest.raises(TreeError):
            await database.write(set_write(Path(("a",)), 1, LIMITS, expected_hash="stale"))
        assert (await database.get(ROOT, ANYBODY), database.revision) == (None, 0)


async def test_after_unlisten_nothing_is_delivered(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        mirror = Mirror(ROOT)
        mirror.start(await database.listen(Watch(ROOT), mirror, ANYBODY))
        assert database.watched_places == 1
        database.unlisten(Watch(ROOT), mirror)
        await database.write(set_write(ROOT, 1, LIMITS))
        assert (mirror.revisions, database.watched_places) == ([], 0)


def write_elsewhere(database: Database, first: int, last: int) -> None:
    """Commit as another process would, behind the database's back."""
    with database._store.transaction() as transaction:
        for revision in range(first, last + 1):
            patch = Patch(((Path(("theirs",)), revision),))
            transaction.apply(Commit(revision, SystemClock().now_ms(), patch, None, None))
        transaction.commit()


async def test_what_another_process_wrote_is_published_before_our_next_commit(
    tmp_path: FilePath,
) -> None:
    async with opened(tmp_path) as database:
        mirror = Mirror(ROOT)
        mirror.start(await database.listen(Watch(ROOT), mirror, ANYBODY))
        write_elsewhere(database, 1, 3)
        await database.write(set_write(Path(("ours",)), 2, LIMITS))
        assert mirror.revisions == [1, 2, 3, 4]
        assert mirror.value == {"ours": 2, "theirs": 3}


async def test_a_follower_behind_a_pruned_journal_hears_of_the_whole_tree(
    tmp_path: FilePath,
) -> None:
    async with opened(tmp_path, replace(LIMITS, journal_entries=2)) as database:
        mirror = Mirror(Path(("theirs",)))
        mirror.start(await database.listen(Watch(mirror.place), mirror, ANYBODY))
        write_elsewhere(database, 1, 9)
        await database.write(set_write(Path(("ours",)), 2, LIMITS))
        assert (mirror.revisions, mirror.value) == ([10], 9)
        assert database.revision == 10


async def test_closing_finishes_what_was_submitted_and_refuses_the_rest(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        futures = [database.submit(set_write(Path(("n",)), n, LIMITS)) for n in range(50)]
        closing = asyncio.create_task(database.close())
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await database.write(set_write(Path(("n",)), 99, LIMITS))
        await closing
        assert [future.result().revision for future in futures] == list(range(1, 51))
    async with opened(tmp_path) as database:
        assert await database.get(Path(("n",)), ANYBODY) == 49


@pytest.mark.parametrize("value", ["x" * 3000, {str(n): "x" * 40 for n in range(100)}])
async def test_an_answer_past_the_limit_is_refused(tmp_path: FilePath, value: Any) -> None:
    async with opened(tmp_path, replace(LIMITS, answer_bytes=2000)) as database:
        await database.write(set_write(ROOT, value, LIMITS))
        with pytest.raises(TooBigToRead, match="2000"):
            await database.get_json(ROOT, Form.PLAIN, ANYBODY)


async def test_a_long_run_of_commits_lets_the_loop_have_its_turn(tmp_path: FilePath) -> None:
    class SlowClock(SystemClock):
        seconds = 0.0

        def monotonic(self) -> float:
            self.seconds += 1.0
            return self.seconds

    database = Database.open(tmp_path, "test", LIMITS, SlowClock(), OPEN, fsync=False)
    await database.start()
    mirror = Mirror(ROOT)
    mirror.start(await database.listen(Watch(ROOT), mirror, ANYBODY))
    futures = [database.submit(set_write(Path(("n",)), n, LIMITS)) for n in range(100)]
    await asyncio.gather(*futures)
    await database.close()
    assert mirror.revisions == list(range(1, 101))


async def test_push_ids_are_in_order(tmp_path: FilePath) -> None:
    async with opened(tmp_path) as database:
        ids = [database.push_id() for _ in range(100)]
        assert ids == sorted(set(ids))
