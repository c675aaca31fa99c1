"""What waits for the end of a session is durable, shares commits with writes, and happens once."""

import queue
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.failing_commits import DISK_BROKEN, DISK_FULL, failing
from treedb.auth.identity import Auth
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import (
    InsufficientStorage,
    PayloadTooLarge,
    PermissionDenied,
    StoreError,
    TreeError,
)
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import NOBODY, Authority, Caller
from treedb.rules.loader import parse_rules
from treedb.store.kept_rules import Origin
from treedb.store.store import Store
from treedb.tree.values import Value
from treedb.writes.request import (
    ActAs,
    CancelOnDisconnect,
    EndSession,
    KeepOnDisconnect,
    RulesChange,
    set_write,
    update_write,
)
from treedb.writes.rules_in_force import RulesInForce
from treedb.writes.steps import Request
from treedb.writes.writer import Batch, Writer, Written

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 28)
NOW = 1_700_000_000_000
RULES = """{"rules": {
  "open": {".write": true, "$x": {".validate": "newData.val() !== 'bad'"}},
  "own": {"$uid": {".write": "auth.uid === $uid"}}
}}"""
ANN = Caller(Auth("ann", {}, False, None))


class Clock(SystemClock):
    """Tells a time of the test's own."""

    now = NOW

    def now_ms(self) -> int:
        return self.now


class Desk:
    """A writer on a store of its own; `ask` waits for the outcome of each request."""

    def __init__(self, directory: FilePath, limits: Limits = LIMITS) -> None:
        self.clock = Clock()
        self.store = Store.open(directory, limits, fsync=False)
        self.batches: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        rules = RulesInForce(Authority.of(parse_rules(RULES), counting=False), counting=False)
        self.writer = Writer(self.store, self.clock, rules, self.batches.put)

    def results(self, count: int) -> list[Written | TreeError]:
        found: list[Written | TreeError] = []
        while len(found) < count:
            found += [outcome.result for outcome in self.batches.get(timeout=30).outcomes]
        return found

    def ask(self, *requests: Request) -> list[Written | TreeError]:
        for request in requests:
            self.writer.submit(request, None)
        return self.results(len(requests))

    def tree(self) -> Value:
        with self.store.snapshot() as snapshot:
            return snapshot.tree.get(ROOT)

    def sessions(self) -> list[str]:
        with self.store.snapshot() as snapshot:
            return snapshot.sessions()

    def close(self) -> None:
        self.writer.stop()
        self.store.close()


@pytest.fixture
def desk(tmp_path: FilePath) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    desk.writer.start()
    yield desk
    desk.close()


def keep(text: str, raw: Any, caller: Caller = NOBODY, session_id: str = "s") -> KeepOnDisconnect:
    return KeepOnDisconnect(session_id, set_write(Path.parse(text), raw, LIMITS, caller=caller))


def keep_update(text: str, raw: Any) -> KeepOnDisconnect:
    return KeepOnDisconnect("s", update_write(Path.parse(text), raw, LIMITS))


END = EndSession("s")


def test_keeping_is_no_commit_and_ending_is_one(desk: Desk) -> None:
    assert desk.ask(keep("/open/a", 1), keep_update("/open", {"b": 2, "c/d": 3})) == [
        Written(0, ()),
        Written(0, ()),
    ]
    assert (desk.sessions(), desk.tree()) == (["s"], None)
    assert desk.ask(END) == [Written(1, (1, 2, 3))]
    assert (desk.sessions(), desk.tree()) == ([], {"open": {"a": 1, "b": 2, "c": {"d": 3}}})


def test_a_session_ends_once(desk: Desk) -> None:
    count = {".sv": {"increment": 1}}
    desk.ask(keep("/open/n", count))
    assert desk.ask(END, END) == [Written(1, (1,)), Written(1, ())]
    assert desk.ask(END) == [Written(1, ())]
    assert desk.tree() == {"open": {"n": 1}}


def test_all_in_one_batch_takes_effect_in_order(desk: Desk) -> None:
    requests: list[Request] = [
        keep("/open/a", 1),
        keep("/open/b", 1),
        CancelOnDisconnect("s", Path.parse("/open/a")),
        END,
        set_write(Path.parse("/open/b"), "online", LIMITS),
    ]
    for request in requests:
        desk.writer.submit(request, None)
    desk.results(5)
    assert desk.tree() == {"open": {"b": "online"}}


def test_sessions_do_not_see_each_other(desk: Desk) -> None:
    desk.ask(keep("/open/a", 1), keep("/open/a", 2, session_id="t"))
    desk.ask(CancelOnDisconnect("t", ROOT), EndSession("t"))
    assert desk.tree() is None
    desk.ask(END)
    assert desk.tree() == {"open": {"a": 1}}


def test_what_was_cancelled_is_forgotten(desk: Desk) -> None:
    cancel = CancelOnDisconnect("s", Path.parse("/open"))
    assert desk.ask(cancel) == [Written(0, ())]
    desk.ask(keep("/open/a", 1), cancel)
    assert desk.sessions() == []
    assert desk.ask(END) == [Written(0, ())]
    assert desk.tree() is None


def test_what_may_not_be_written_now_is_refused_and_the_rest_stays(desk: Desk) -> None:
    desk.ask(keep("/open/a", 1))
    answers = desk.ask(keep("/own/ann", 1), keep_update("/open", {"a": 2, "b": "bad"}))
    assert [type(answer) for answer in answers] == [PermissionDenied, PermissionDenied]
    desk.ask(END)
    assert desk.tree() == {"open": {"a": 1}}


def test_what_may_not_be_written_at_the_end_is_left_out(desk: Desk) -> None:
    desk.ask(keep("/own/ann", 1, ANN), keep("/open/a", 1, ANN), keep("/open/b", "late", ANN))
    desk.ask(RulesChange(RULES.replace("'bad'", "'late'"), Origin.ADMIN), ActAs("s", None))
    assert desk.ask(END) == [Written(2, (1,))]
    assert desk.tree() == {"open": {"a": 1}}


def test_a_session_of_which_nothing_may_be_written_ends_without_a_commit(desk: Desk) -> None:
    desk.ask(keep("/own/ann", 1, ANN), ActAs("s", None))
    assert desk.ask(END) == [Written(0, ())]
    assert desk.sessions() == []


def test_who_the_client_is_at_the_end_counts_and_is_the_author(desk: Desk) -> None:
    desk.ask(keep("/open/a", 1), ActAs("s", ANN.auth), END)
    desk.ask(keep("/own/ann", 1, ANN), END)
    with desk.store.snapshot() as snapshot:
        assert [commit.author for commit in snapshot.journal.after(0)] == ["ann", "ann"]
    assert desk.tree() == {"open": {"a": 1}, "own": {"ann": 1}}


def test_nothing_is_kept_of_who_has_nothing_to_write(desk: Desk) -> None:
    assert desk.ask(ActAs("s", ANN.auth)) == [Written(0, ())]
    assert desk.sessions() == []


def test_server_values_are_those_of_the_end(desk: Desk) -> None:
    desk.ask(keep("/open/at", {".sv": "timestamp"}), keep("/open/n", {".sv": {"increment": 1}}))
    desk.ask(set_write(Path.parse("/open/n"), 10, LIMITS))
    desk.clock.now = NOW + 5000
    desk.ask(END)
    assert desk.tree() == {"open": {"at": NOW + 5000, "n": 11}}


def test_more_than_may_wait_is_refused(tmp_path: FilePath) -> None:
    desk = Desk(tmp_path, replace(LIMITS, on_disconnects_per_connection=2))
    desk.writer.start()
    desk.ask(keep("/open/a", 1), keep("/open/b", 1))
    [answer] = desk.ask(keep("/open/c", 1))
    assert isinstance(answer, PayloadTooLarge)
    desk.ask(END)
    assert desk.tree() == {"open": {"a": 1, "b": 1}}
    desk.close()


def test_a_commit_that_fails_leaves_the_session_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.ask(keep("/open/a", 1))
    failing(DISK_FULL, 2, monkeypatch)
    answers = [*desk.ask(keep("/open/b", 1)), *desk.ask(END)]
    assert [type(answer) for answer in answers] == [InsufficientStorage, InsufficientStorage]
    assert (desk.sessions(), desk.tree()) == (["s"], None)
    desk.ask(END)
    assert (desk.sessions(), desk.tree()) == ([], {"open": {"a": 1}})


def test_what_a_dead_process_kept_is_ended_by_the_next(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    desk.writer.start()
    desk.ask(keep("/own/ann", {".sv": {"increment": 1}}, ANN), keep("/open/a", 1, ANN))
    failing(DISK_BROKEN, 1, monkeypatch)  # died in the commit of the end
    [answer] = desk.ask(END)
    assert isinstance(answer, StoreError)
    desk.close()
    desk = Desk(tmp_path)
    desk.writer.start()
    assert desk.ask(END, END) == [Written(1, (1, 1)), Written(1, ())]
    assert (desk.sessions(), desk.tree()) == ([], {"own": {"ann": 1}, "open": {"a": 1}})
    desk.close()


def test_the_map_grows_and_everything_of_the_batch_is_there(tmp_path: FilePath) -> None:
    desk = Desk(tmp_path, replace(LIMITS, map_bytes=1 << 18))
    requests: list[Request] = [
        keep(f"/open/{number}", "x" * 30_000, session_id=f"s{number}") for number in range(20)
    ]
    requests += [EndSession(f"s{number}") for number in range(0, 20, 2)]
    for request in requests:
        desk.writer.submit(request, None)
    desk.writer.start()
    assert all(isinstance(result, Written) for result in desk.results(30))
    assert desk.sessions() == sorted(f"s{number}" for number in range(1, 20, 2))
    found = desk.tree()
    assert isinstance(found, dict)
    assert isinstance(found["open"], dict)
    assert sorted(found["open"]) == sorted(str(number) for number in range(0, 20, 2))
    desk.close()


def test_what_a_session_left_is_named_and_what_comes_of_it_is_derived(desk: Desk) -> None:
    mirrored = RULES.replace('".write": true', '".write": true, ".count": "/many"')
    desk.ask(RulesChange(mirrored, Origin.ADMIN), keep("/open/x", 1), keep("/open/y", 2), END)
    with desk.store.snapshot() as snapshot:
        *_, commit = snapshot.journal.after(0)
    changes = [str(path) for path, _ in commit.patch.changes]
    assert (changes, commit.derived) == (["/many", "/open/x", "/open/y"], (0,))
