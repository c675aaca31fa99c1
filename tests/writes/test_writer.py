"""The writer commits in order, together, and never lets one write harm another."""

import queue
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.failing_commits import DISK_BROKEN, DISK_FULL, failing
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import (
    DataStale,
    InsufficientStorage,
    PermissionDenied,
    RulesError,
    StoreError,
    TreeError,
    Unavailable,
)
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Authority
from treedb.rules.loader import parse_rules
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Snapshot, Store, WriteTransaction
from treedb.tree.commit import Commit
from treedb.tree.values import Value
from treedb.writes.request import RulesChange, Write, set_write, update_write
from treedb.writes.rules_in_force import RulesInForce
from treedb.writes.writer import Batch, Writer, Written

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 28)
OPEN = Authority.of(parse_rules('{"rules": {".write": true}}'), counting=False)
LOCKED_RULES = '{"rules": {"open": {".write": true}}}'


class Desk:
    """A writer on a store of its own, with its batches collected."""

    def __init__(self, directory: FilePath, limits: Limits, clock: SystemClock) -> None:
        self.store = Store.open(directory, limits, fsync=False)
        self.batches: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        rules = RulesInForce(OPEN, counting=False)
        self.writer = Writer(self.store, clock, rules, self.batches.put)

    def results(self, count: int) -> dict[object, Written | TreeError]:
        """Wait for this many outcomes."""
        results: dict[object, Written | TreeError] = {}
        while len(results) < count:
            for outcome in self.batches.get(timeout=30).outcomes:
                results[outcome.ticket] = outcome.result
        return results

    def tree(self) -> Value:
        with self.store.snapshot() as snapshot:
            return snapshot.tree.get(ROOT)


@pytest.fixture
def desk(tmp_path: FilePath) -> Iterator[Desk]:
    desk = Desk(tmp_path, LIMITS, SystemClock())
    yield desk
    desk.writer.stop()
    desk.store.close()


def a_set(text: str, raw: object, expected_hash: str | None = None) -> Write:
    return set_write(Path.parse(text), raw, LIMITS, expected_hash=expected_hash)


def test_writes_take_effect_in_the_order_submitted_and_share_commits(desk: Desk) -> None:
    for number in range(600):
        desk.writer.submit(a_set("/n", number), number)
    desk.writer.start()
    results = desk.results(600)
    assert [results[number] for number in range(600)] == [
        Written(number + 1, (number,)) for number in range(600)
    ]
    assert desk.tree() == {"n": 599}


def test_a_batch_holds_at_most_the_limit_and_stops_at_the_end_of_the_queue(desk: Desk) -> None:
    for number in range(LIMITS.write_batch + 1):
        desk.writer.submit(a_set("/n", number), number)
    desk.writer.start()
    assert len(desk.batches.get(timeout=30).outcomes) == LIMITS.write_batch
    assert len(desk.batches.get(timeout=30).outcomes) == 1


def test_a_refused_write_changes_nothing_and_harms_no_neighbour(desk: Desk) -> None:
    desk.writer.submit(a_set("/a", 1), "first")
    desk.writer.submit(a_set("/a", 2, "stale hash"), "stale")
    desk.writer.submit(a_set("/b", 3), "last")
    desk.writer.start()
    results = desk.results(3)
    assert isinstance(results["stale"], DataStale)
    assert results["last"] == Written(2, (3,))
    assert desk.tree() == {"a": 1, "b": 3}


def test_a_write_sees_the_writes_before_it_in_its_batch(desk: Desk) -> None:
    for number in range(100):
        desk.writer.submit(a_set("/n", {".sv": {"increment": 1}}), number)
    desk.writer.start()
    desk.results(100)
    assert desk.tree() == {"n": 100}


def test_an_update_of_nothing_is_no_commit(desk: Desk) -> None:
    desk.writer.submit(update_write(ROOT, {}, LIMITS), "empty")
    desk.writer.start()
    batch = desk.batches.get(timeout=30)
    assert batch.commits == ()
    assert batch.outcomes[0].result == Written(0, ())


def test_timestamps_never_go_back(tmp_path: FilePath) -> None:
    class BackwardsClock(SystemClock):
        times = iter([1000, 500, 2000])

        def now_ms(self) -> int:
            return next(self.times)

    desk = Desk(tmp_path, LIMITS, BackwardsClock())
    for number in range(3):
        desk.writer.submit(a_set("/t", {".sv": "timestamp"}), number)
    desk.writer.start()
    results = desk.results(3)
    desk.writer.stop()
    desk.store.close()
    assert [results[number] for number in range(3)] == [
        Written(1, (1000,)),
        Written(2, (1000,)),
        Written(3, (2000,)),
    ]


def test_the_map_grows_when_it_is_full(tmp_path: FilePath) -> None:
    desk = Desk(tmp_path, replace(LIMITS, map_bytes=1 << 18), SystemClock())
    desk.writer.start()
    big: Value = {str(number): "x" * 900 for number in range(2000)}
    desk.writer.submit(a_set("/big", big), "big")
    assert desk.results(1)["big"] == Written(1, (big,))
    desk.writer.stop()
    desk.store.close()


def test_a_full_disk_refuses_writes_and_passes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(DISK_FULL, 3, monkeypatch)
    desk.writer.submit(a_set("/a", 1), "a")
    desk.writer.submit(a_set("/b", 1), "b")
    desk.writer.start()
    results = desk.results(2)
    assert all(isinstance(result, InsufficientStorage) for result in results.values())
    assert desk.tree() is None
    desk.writer.submit(a_set("/c", 1), "c")
    assert desk.results(1)["c"] == Written(1, (1,))


def test_after_an_io_error_no_write_is_taken(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(DISK_BROKEN, 1, monkeypatch)
    desk.writer.start()
    for ticket in ("first", "later"):
        desk.writer.submit(a_set("/a", 1), ticket)
        result = desk.results(1)[ticket]
        assert isinstance(result, StoreError)
    assert desk.tree() is None


def test_an_unexpected_failure_is_logged_and_only_its_write_fails(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    apply = WriteTransaction.apply

    def fail(transaction: WriteTransaction, commit: Commit, rules: KeptRules | None) -> None:
        if commit.patch.changes[0][1] == "bad":
            raise ZeroDivisionError
        apply(transaction, commit, rules)

    monkeypatch.setattr(WriteTransaction, "apply", fail)
    for ticket in ("a", "bad", "b"):
        desk.writer.submit(a_set(f"/{ticket}", ticket), ticket)
    desk.writer.start()
    results = desk.results(3)
    assert isinstance(results["bad"], Unavailable)
    assert desk.tree() == {"a": "a", "b": "b"}
    assert "ZeroDivisionError" in caplog.text


def test_what_fails_after_the_commit_does_not_write_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(store: Store) -> Snapshot:
        raise Unavailable("no reader")

    desk.writer.takes_snapshots = True
    monkeypatch.setattr(Store, "snapshot", fail)
    desk.writer.submit(RulesChange('{"rules": {".write": true}}', Origin.ADMIN), "rules")
    for number in range(2):
        desk.writer.submit(a_set("/n", {".sv": {"increment": 1}}), number)
    desk.writer.start()
    results = desk.results(3)
    monkeypatch.undo()
    assert [results[0], results[1]] == [Written(2, (1,)), Written(3, (2,))]
    assert desk.tree() == {"n": 2}


def test_rules_bind_from_the_write_after_them_on(desk: Desk) -> None:
    desk.writer.submit(a_set("/before", 1), "before")
    desk.writer.submit(RulesChange(LOCKED_RULES, Origin.ADMIN), "rules")
    desk.writer.submit(a_set("/after", 1), "after")
    desk.writer.submit(a_set("/open", 1), "open")
    desk.writer.start()
    results = desk.results(4)
    assert (results["before"], results["rules"]) == (Written(1, (1,)), Written(2, ()))
    assert isinstance(results["after"], PermissionDenied)
    assert results["open"] == Written(3, (1,))
    with desk.store.snapshot() as snapshot:
        assert snapshot.rules() == KeptRules(2, LOCKED_RULES, Origin.ADMIN)
        assert [commit.rules for commit in snapshot.journal.after(0)] == [None, LOCKED_RULES, None]


def test_wrong_rules_are_refused_and_the_last_good_ones_stay(desk: Desk) -> None:
    desk.writer.submit(RulesChange('{"rules": {".read": 5}}', Origin.ADMIN), "wrong")
    desk.writer.submit(a_set("/a", 1), "a")
    desk.writer.start()
    results = desk.results(2)
    assert isinstance(results["wrong"], RulesError)
    assert results["a"] == Written(1, (1,))


def test_rules_of_a_commit_that_failed_are_forgotten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(DISK_FULL, 1, monkeypatch)
    desk.writer.submit(RulesChange(LOCKED_RULES, Origin.ADMIN), "rules")
    desk.writer.start()
    assert isinstance(desk.results(1)["rules"], InsufficientStorage)
    desk.writer.submit(a_set("/a", 1), "a")
    assert desk.results(1)["a"] == Written(1, (1,))


MIRRORED = """{"rules": {
  "b": {"$x": {".mirror": "/a/$x"}}, "a": {".count": "/n"}, ".write": true
}}"""


def test_a_commit_tells_which_of_its_changes_were_derived_and_so_does_the_journal(
    desk: Desk,
) -> None:
    desk.writer.submit(RulesChange(MIRRORED, Origin.ADMIN), "rules")
    desk.writer.submit(a_set("/b/k", 1), "derives a mirror and a count")
    desk.writer.submit(update_write(ROOT, {"a/k": 2, "b/k": 2, "c": 3}, LIMITS), "names both")
    desk.writer.start()
    desk.results(3)
    with desk.store.snapshot() as snapshot:
        commits = list(snapshot.journal.after(0))
    derived = [[str(each.patch.changes[at][0]) for at in each.derived] for each in commits]
    assert derived == [[], ["/a/k", "/n"], []]
    assert [str(path) for path, _ in commits[1].patch.changes] == ["/a/k", "/b/k", "/n"]
