"""A backfill takes its steps between writes, tells how far it is, and goes on where it was."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.follower_world import HandClock
from treedb import background_backfill
from treedb.background_backfill import BackgroundBackfill
from treedb.config import DEFAULT_LIMITS
from treedb.errors import InsufficientStorage
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Authority
from treedb.rules.loader import parse_rules
from treedb.store.kept_derived import KeptBackfill
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.pace import FAILED_SECONDS, REPORT_SECONDS
from treedb.store.store import Store, WriteTransaction
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.rules_in_force import RulesInForce

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
TEXT = """{"rules": {
    "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}},
    "groups": {"$g": {"members": {".count": "/groups/$g/count"}}}
}}"""
MIRROR = "mirror (copy) /users/$u/groups/$g /groups/$g/members/$u"
COUNT = "count /groups/$g/members /groups/$g/count"
USERS = 25
TREE: Value = {"users": {f"u{number:02}": {"groups": {"g": True}} for number in range(USERS)}}


class WorkClock(HandClock):
    """A clock that a step takes a quarter of a second of."""

    step = 0.25


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(background_backfill, "STEP_ENTRIES", 10)
    caplog.set_level(logging.INFO, "treedb.mirrors")


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    store = Store.open(tmp_path / "db", LIMITS, fsync=False)
    with store.transaction() as transaction:
        transaction.apply(Commit(1, 0, Patch(((ROOT, TREE),)), None, None))
        rules = Commit(2, 0, Patch(()), None, None, TEXT)
        transaction.apply(rules, KeptRules(2, TEXT, Origin.ADMIN))
        transaction.keep_backfills((KeptBackfill(MIRROR, "source"), KeptBackfill(COUNT, "source")))
        transaction.commit()
    yield store
    store.close()


def begun(store: Store, clock: HandClock) -> BackgroundBackfill:
    default = Authority.of(parse_rules('{"rules": {}}'), counting=False)
    work = BackgroundBackfill(store, clock, RulesInForce(default, counting=False))
    work.look()
    return work


def to_the_end(work: BackgroundBackfill, clock: HandClock) -> list[Commit]:
    commits: list[Commit] = []
    while (seconds := work.seconds_until_due()) is not None:
        clock.seconds += seconds
        commits += work.step_if_due()
    return commits


def members(store: Store) -> Value:
    with store.snapshot() as snapshot:
        return snapshot.tree.get(Path(("groups", "g")))


def test_entries_come_to_agree_in_commits_that_nobody_named(store: Store) -> None:
    clock = HandClock()
    commits = to_the_end(begun(store, clock), clock)
    assert [len(commit.patch.changes) for commit in commits] == [10, 10, 5, 1]
    assert [commit.revision for commit in commits] == [3, 4, 5, 6]
    assert all(
        (commit.author, commit.derived) == (None, tuple(range(len(commit.patch.changes))))
        for commit in commits
    )
    everybody = {f"u{number:02}": True for number in range(USERS)}
    assert members(store) == {"count": USERS, "members": everybody}
    with store.snapshot() as snapshot:
        assert snapshot.backfills() == ()
        assert list(snapshot.journal.after(2)) == commits


def test_it_rests_as_long_as_it_worked(store: Store) -> None:
    clock = WorkClock()
    work = begun(store, clock)
    assert work.step_if_due()
    clock.step = 0.0
    assert work.seconds_until_due() == WorkClock.step
    assert work.step_if_due() == ()


def test_another_process_goes_on_where_it_was(store: Store, tmp_path: FilePath) -> None:
    clock = HandClock()
    begun(store, clock).step_if_due()
    with store.snapshot() as snapshot:
        first, second = snapshot.backfills()
    assert (first.after, first.entries, first.changed) == (("u09", "g"), 10, 10)
    assert second == KeptBackfill(COUNT, "source")
    commits = to_the_end(begun(store, clock), clock)
    assert [len(commit.patch.changes) for commit in commits] == [10, 5, 1]


def test_a_full_disk_is_waited_for(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    work = begun(store, clock)

    def fail(transaction: WriteTransaction) -> None:
        raise InsufficientStorage("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(WriteTransaction, "commit", fail)
        with pytest.raises(InsufficientStorage):
            work.step_if_due()
    assert work.seconds_until_due() == FAILED_SECONDS
    assert "waits for room: the disk is full" in caplog.text
    assert len(to_the_end(work, clock)) == 4


def test_the_log_tells_of_the_beginning_the_progress_and_the_end(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    work = begun(store, clock)
    clock.seconds += REPORT_SECONDS + 1
    to_the_end(work, clock)
    beginning = f"namespace db, {MIRROR}: "
    messages = [record.getMessage() for record in caplog.records]
    assert [each.removeprefix(beginning) for each in messages if each.startswith(beginning)] == [
        "data is brought to agree, source is right (0 entries seen, 0 places written, 0 conflicts)",
        "data is being brought to agree (10 entries seen, 10 places written, 0 conflicts)",
        "data agrees now (50 entries seen, 25 places written, 0 conflicts)",
    ]


def test_nothing_is_due_where_nothing_is_kept(store: Store) -> None:
    clock = HandClock()
    to_the_end(begun(store, clock), clock)
    work = begun(store, clock)
    assert work.seconds_until_due() is None
    assert work.step_if_due() == ()
