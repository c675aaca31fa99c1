"""Requests are planned and applied in the transaction that they are part of."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RulesError
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import SERVER, Authority
from treedb.rules.loader import parse_rules
from treedb.store.kept_derived import KeptBackfill, KeptCheck
from treedb.store.kept_rules import Origin
from treedb.store.store import Store, WriteTransaction
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.mend import Side
from treedb.writes.request import KeepCheck, RulesChange, Write, set_write, update_write
from treedb.writes.rules_in_force import RulesInForce
from treedb.writes.steps import Request, Step, Steps, indexes_of

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
NOW = 1_700_000_000_000
MIRROR = "mirror (copy) /users/$u/groups/$g /groups/$g/members/$u"
COUNT = "count /groups/$g/members /groups/$g/count"
MIRRORED = """{"rules": {".write": true,
    "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}}
}}"""
COUNTED = """{"rules": {".write": true,
    "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}},
    "groups": {"$g": {"members": {".count": "/groups/$g/count"}}}
}}"""
OPEN = '{"rules": {".write": true}}'
TREE: Value = {
    "users": {"ann": {"groups": {"a": {"since": 1}, "b": True}}},
    "groups": {"b": {"members": {"ann": {"since": 2}, "bob": True}}},
}


class Desk:
    """A store with data that disagrees, and the steps taken on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        default = Authority.of(parse_rules(OPEN), counting=False)
        self.steps = Steps(LIMITS, RulesInForce(default, counting=False))

    def take(self, request: Request) -> list[Step]:
        """Take a request as the writer does; return what was prepared and what was planned."""
        with self.store.transaction() as transaction:
            taken = []
            for plan in (self.steps.prepare, self.steps.plan):
                step = plan(request, transaction, NOW)
                self.steps.apply(step, transaction)
                taken.append(step)
            transaction.commit()
        return taken

    def tree(self, place: str = "/") -> Value:
        with self.store.snapshot() as snapshot:
            return snapshot.tree.get(Path.parse(place))

    def backfills(self) -> tuple[KeptBackfill, ...]:
        with self.store.snapshot() as snapshot:
            return snapshot.backfills()


@pytest.fixture
def desk(tmp_path: FilePath) -> Iterator[Desk]:
    store = Store.open(tmp_path / "db", LIMITS, fsync=False)
    with store.transaction() as transaction:
        transaction.apply(Commit(1, 0, Patch(((ROOT, TREE),)), None, None))
        transaction.commit()
    yield Desk(store)
    store.close()


def a_set(place: str, value: object) -> Write:
    return set_write(Path.parse(place), value, LIMITS, caller=SERVER)


def test_rules_over_data_that_disagrees_are_refused_with_the_way_out(desk: Desk) -> None:
    with pytest.raises(RulesError) as refused:
        desk.take(RulesChange(MIRRORED, Origin.ADMIN))
    assert [str(each.message) for each in refused.value.findings] == [
        "The data disagrees: /groups/a/members/ann is missing: /users/ann/groups/a is there.",
        "The data disagrees: /groups/b/members/ann differs from /users/ann/groups/b.",
        "The data disagrees: /users/bob/groups/b is missing: /groups/b/members/bob is there.",
    ]
    assert "--mirror-backfill" in str(refused.value.findings[0].hint)


def test_with_a_side_they_are_put_and_a_backfill_is_begun(desk: Desk) -> None:
    _, step = desk.take(RulesChange(COUNTED, Origin.ADMIN, side=Side.SOURCE))
    assert step.commit is not None
    expected = (KeptBackfill(MIRROR, "source"), KeptBackfill(COUNT, "source"))
    assert desk.backfills() == expected


def test_what_the_side_does_not_decide_is_refused(desk: Desk) -> None:
    with pytest.raises(RulesError) as refused:
        desk.take(RulesChange(MIRRORED, Origin.ADMIN, side=Side.UNION))
    (found,) = refused.value.findings
    place = "/groups/b/members/ann differs from /users/ann/groups/b"
    assert found.message == f"The data cannot be brought to agree: {place}."
    assert desk.backfills() == ()


def test_a_backfill_goes_on_under_later_rules_while_they_have_it(desk: Desk) -> None:
    desk.take(RulesChange(MIRRORED, Origin.ADMIN, side=Side.TARGET))
    desk.take(RulesChange(COUNTED, Origin.ADMIN, side=Side.SOURCE))
    expected = (KeptBackfill(MIRROR, "target"), KeptBackfill(COUNT, "source"))
    assert desk.backfills() == expected
    desk.take(RulesChange(MIRRORED, Origin.ADMIN))
    assert desk.backfills() == (KeptBackfill(MIRROR, "target"),)
    desk.take(RulesChange(OPEN, Origin.ADMIN))
    assert desk.backfills() == ()


TOUCHING: list[tuple[str, Write, list[tuple[str, Value]], str, Value]] = [
    ("below an entry", a_set("/users/ann/groups/a/since", 5), [("/groups/a/members/ann", {"since": 1})], "/groups/a/members/ann", {"since": 5}),
    ("below one that differs", a_set("/groups/b/members/ann/x", 1), [("/groups/b/members/ann", True)], "/users/ann/groups/b", {"x": 1}),
    ("at an entry", a_set("/users/ann/groups/a", None), [("/groups/a/members/ann", {"since": 1})], "/groups", {"b": TREE["groups"]["b"]}),  # type: ignore[index]
    ("above", a_set("/users/ann", None), [("/groups/a/members/ann", {"since": 1}), ("/groups/b/members/ann", True)], "/groups", {"b": {"members": {"bob": True}}}),
    ("several", update_write(ROOT, {"users/ann/groups/a": 1, "x": 1}, LIMITS), [("/groups/a/members/ann", {"since": 1})], "/groups/a/members/ann", 1),
    ("elsewhere", a_set("/elsewhere", 1), [], "/elsewhere", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    "write, mended, place, value", [row[1:] for row in TOUCHING], ids=[row[0] for row in TOUCHING]
)
def test_what_a_write_touches_agrees_before_it_is_planned(
    desk: Desk, write: Write, mended: list[tuple[str, Value]], place: str, value: Value
) -> None:
    desk.take(RulesChange(MIRRORED, Origin.ADMIN, side=Side.SOURCE))
    prepared, _ = desk.take(write)
    changes = prepared.commit.patch.changes if prepared.commit is not None else ()
    assert [(str(path), each) for path, each in changes] == mended
    assert desk.tree(place) == value
    if prepared.commit is not None:
        assert prepared.commit.derived == tuple(range(len(mended)))
        assert prepared.commit.author is None


def test_a_count_in_force_follows_what_is_prepared(desk: Desk) -> None:
    desk.take(a_set("/groups", None))
    counting = COUNTED.replace('".mirror": "/groups/$g/members/$u"', '".read": true')
    desk.take(RulesChange(counting, Origin.ADMIN))
    desk.take(RulesChange(COUNTED, Origin.ADMIN, side=Side.SOURCE))
    assert [each.name for each in desk.backfills()] == [MIRROR]
    desk.take(a_set("/users/ann/groups/a/since", 2))
    assert desk.tree("/groups/a") == {"count": 1, "members": {"ann": {"since": 2}}}


def test_without_a_backfill_nothing_is_prepared(desk: Desk) -> None:
    prepared, planned = desk.take(a_set("/users/ann/groups/a", 1))
    assert prepared == Step()
    assert planned.commit is not None
    assert planned.commit.derived == ()


def test_what_is_derived_is_marked_and_no_answer(desk: Desk) -> None:
    desk.take(a_set("/", None))
    desk.take(RulesChange(COUNTED, Origin.ADMIN))
    _, step = desk.take(a_set("/users/ann/groups/a", 1))
    assert step.commit is not None
    assert step.values == (1,)
    derived = [str(step.commit.patch.changes[number][0]) for number in step.commit.derived]
    assert sorted(derived) == ["/groups/a/count", "/groups/a/members/ann"]


def test_a_check_is_kept_and_makes_no_commit(desk: Desk) -> None:
    check = KeptCheck(NOW, 1, ())
    assert [step.commit for step in desk.take(KeepCheck(check))] == [None, None]
    with desk.store.snapshot() as snapshot:
        assert (snapshot.last_check(), snapshot.revision) == (check, 1)


def test_the_indexes_of_rules_are_declared_with_them(desk: Desk) -> None:
    text = '{"rules": {"list": {".indexOn": "n"}}}'
    desk.take(RulesChange(text, Origin.ADMIN))

    def declared(transaction: WriteTransaction) -> set[object]:
        return {progress.place for progress in transaction.index_progress()}

    with desk.store.transaction() as transaction:
        assert declared(transaction) >= set(indexes_of(parse_rules(text)))
