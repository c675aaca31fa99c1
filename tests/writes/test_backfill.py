"""A step of a backfill is a commit with what it wrote, the counts of it, and where it is now."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import SERVER, Authority
from treedb.rules.loader import parse_rules
from treedb.store.kept_derived import KeptBackfill
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.backfill import Backfilled, backfill_some
from treedb.writes.request import set_write
from treedb.writes.rules_in_force import RulesInForce
from treedb.writes.steps import Steps

RULES = parse_rules("""{"rules": {
    "a": {"$x": {".mirror": "/b/$x"}},
    "b": {".count": "/n"}
}}""")
MIRROR = KeptBackfill("mirror (copy) /a/$x /b/$x", "source")
COUNT = KeptBackfill("count /b /n", "source")


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    store = Store.open(tmp_path / "db", replace(DEFAULT_LIMITS, map_bytes=1 << 26), fsync=False)
    tree: Value = {"a": {"k": 1, "l": 1, "m": 1}, "b": {"k": 1}, "n": 1}
    with store.transaction() as transaction:
        transaction.apply(Commit(1, 0, Patch(((ROOT, tree),)), None, None))
        transaction.commit()
    yield store
    store.close()


def steps(store: Store, *backfills: KeptBackfill, most: int = 2) -> list[Backfilled]:
    """Take all steps of backfills, each in a transaction of its own."""
    with store.transaction() as transaction:
        transaction.keep_backfills(backfills)
        transaction.commit()
    taken: list[Backfilled] = []
    while True:
        with store.transaction() as transaction:
            step = backfill_some(transaction, RULES, most, 1700)
            transaction.commit()
        if step is None:
            return taken
        taken.append(step)


def changes(step: Backfilled) -> list[tuple[str, Value]]:
    commit = step.commit
    return [] if commit is None else [(str(path), value) for path, value in commit.patch.changes]


def value_at(store: Store, place: str) -> Value:
    with store.snapshot() as snapshot:
        return snapshot.tree.get(Path.parse(place))


def test_where_nothing_is_to_be_done_there_is_no_step(store: Store) -> None:
    assert steps(store) == []


def test_counts_in_force_go_along_in_the_same_commit(store: Store) -> None:
    taken = steps(store, MIRROR)
    assert [changes(step) for step in taken if step.commit] == [
        [("/b/l", 1), ("/n", 2)],
        [("/b/m", 1), ("/n", 3)],
    ]
    assert [step.is_last for step in taken] == [False] * (len(taken) - 1) + [True]
    commits = [step.commit for step in taken if step.commit is not None]
    assert [(commit.revision, commit.time_ms, commit.derived) for commit in commits] == [
        (2, 1700, (0, 1)),
        (3, 1700, (0, 1)),
    ]


def test_a_count_that_is_still_to_be_counted_is_left_to_that(store: Store) -> None:
    taken = steps(store, MIRROR, COUNT, most=10)
    written = [changes(step) for step in taken if step.commit is not None]
    assert written == [[("/b/l", 1), ("/b/m", 1)], [("/n", 3)]]
    assert value_at(store, "/n") == 3


def test_a_count_that_a_backfill_has_passed_stays_right(store: Store) -> None:
    """The count is of older rules than the mirror, so its backfill is before the mirror's."""
    rules = RulesInForce(Authority.of(RULES, counting=False), counting=False)
    steps_of_requests = Steps(DEFAULT_LIMITS, rules)
    passed = replace(COUNT, is_second=True, after=())
    write = set_write(Path(("a", "l")), 2, DEFAULT_LIMITS, caller=SERVER)
    with store.transaction() as transaction:
        transaction.keep_backfills((passed, MIRROR))
        for plan in (steps_of_requests.prepare, steps_of_requests.plan):
            steps_of_requests.apply(plan(write, transaction, 1700), transaction)
        transaction.commit()
    assert (value_at(store, "/b"), value_at(store, "/n")) == ({"k": 1, "l": 2}, 2)
