"""Measure mirrors: a membership against two writes by the client, a large fan-out, a backfill.

The floor is what a client would have to do without them: name both sides itself, in one update.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from benchmarks.measure import Row, durations
from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.database import Database
from treedb.paths.path import ROOT, Path
from treedb.store.kept_rules import Origin
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.mend import Side
from treedb.writes.request import Write, set_write, update_write

GROUPS = 1_000
WRITES = 3_200
WRITE_RUNS = 9
CROWD = 10_000
CROWD_RUNS = 5
PAIRS = 1_000_000
PAIRS_OF_A_USER = 100
USERS_AT_ONCE = 500
LOOK_SECONDS = 0.1

_Seconds: TypeAlias = tuple[float, float]
_WALL, _CPU = 0, 1


async def measure_mirrors(directory: FilePath, limits: Limits) -> list[Row]:
    """Measure all of it, each database in a folder of its own."""
    rows = await _memberships(directory, limits)
    rows += await _deletion(directory, limits)
    rows += await _backfill(directory / "backfill", limits)
    return rows


def _rules(*, mirrored: bool, counted: bool = False) -> str:
    mirror = {".mirror": "/groups/$g/members/$u"} if mirrored else {}
    count = {".count": "/groups/$g/memberCount"} if counted else {}
    rules: dict[str, Any] = {
        ".read": True,
        ".write": True,
        "users": {"$u": {"groups": {"$g": mirror}}},
        "groups": {"$g": {"members": count}},
    }
    return json.dumps({"rules": rules})


async def _database(directory: FilePath, limits: Limits, rules: str) -> Database:
    database = Database.open(directory, "bench", limits, SystemClock(), Access(rules))
    await database.start()
    return database


# One membership


async def _memberships(directory: FilePath, limits: Limits) -> list[Row]:
    mirrored = await _database(directory / "mirrored", limits, _rules(mirrored=True))
    bare = await _database(directory / "bare", limits, _rules(mirrored=False))
    rows = []
    for in_flight, count in ((1, WRITES // 8), (64, WRITES)):
        for what, make in (("join", _joining), ("leave", _leaving)):
            seconds: tuple[list[_Seconds], list[_Seconds]] = ([], [])
            for run in range(WRITE_RUNS):
                prefix = f"{in_flight}-{run}"
                for database, own in zip((mirrored, bare), seconds, strict=True):
                    if make is _leaving:
                        await _write(database, 64, count, _writes(_joining, database, prefix))
                    own.append(
                        await _write(database, in_flight, count, _writes(make, database, prefix))
                    )
            name = f"{what} a group, {in_flight} in flight"
            floor = "a write; floor: both sides in one update, without a mirror"
            rows += [
                durations(name, _medians(seconds, count, _WALL), f"durable, {floor}"),
                durations(f"{name}, CPU", _medians(seconds, count, _CPU), f"CPU-time of {floor}"),
            ]
    await mirrored.close()
    await bare.close()
    return rows


def _medians(
    seconds: tuple[list[_Seconds], list[_Seconds]], count: int, kind: int
) -> tuple[float, float]:
    """Return the median seconds of one write, ours and the floor's."""
    ours, floor = (statistics.median(each[kind] for each in own) / count for own in seconds)
    return ours, floor


def _joining(user: str, group: str, limits: Limits, *, mirrored: bool) -> Write:
    return _membership(user, group, True, limits, mirrored=mirrored)


def _leaving(user: str, group: str, limits: Limits, *, mirrored: bool) -> Write:
    return _membership(user, group, None, limits, mirrored=mirrored)


def _membership(user: str, group: str, value: Value, limits: Limits, *, mirrored: bool) -> Write:
    if mirrored:
        return set_write(Path(("users", user, "groups", group)), value, limits)
    both = {f"users/{user}/groups/{group}": value, f"groups/{group}/members/{user}": value}
    return update_write(ROOT, both, limits)


def _writes(make: Callable[..., Write], database: Database, prefix: str) -> Callable[[int], Write]:
    """Return what makes the write of a number: its user joins or leaves one of the groups."""
    mirrored = bool(database.ruleset.mirrors)

    def write(number: int) -> Write:
        user, group = f"u{prefix}-{number // 10}", f"g{number * 7 % GROUPS}"
        return make(user, group, database.limits, mirrored=mirrored)

    return write


async def _write(
    database: Database, in_flight: int, count: int, write: Callable[[int], Write]
) -> _Seconds:
    numbers = iter(range(count))

    async def sender() -> None:
        for number in numbers:
            await database.write(write(number))

    start, cpu_start = time.perf_counter(), time.process_time()
    await asyncio.gather(*(sender() for _ in range(in_flight)))
    return time.perf_counter() - start, time.process_time() - cpu_start


# A user in many groups


async def _deletion(directory: FilePath, limits: Limits) -> list[Row]:
    """Delete a user of 10,000 groups, with a mirror, with counts too, and by naming all places."""
    everywhere = {f"g{number}": True for number in range(CROWD)}
    named = {"users/mchen": None, **{f"groups/{group}/members/mchen": None for group in everywhere}}
    both = {"users/mchen/groups": everywhere} | {
        f"groups/{group}/members/mchen": True for group in everywhere
    }
    whole = {"/users/mchen/groups": everywhere}
    user = Path(("users", "mchen"))

    def deletion() -> Write:
        return set_write(user, None, limits)

    def naming() -> Write:
        return update_write(ROOT, named, limits)

    kinds: list[tuple[str, str, dict[str, Any], Callable[[], Write]]] = [
        ("mirrored", _rules(mirrored=True), whole, deletion),
        ("counted", _rules(mirrored=True, counted=True), whole, deletion),
        ("bare", _rules(mirrored=False), both, naming),
    ]
    seconds = []
    databases = [
        await _database(directory / f"crowd-{kind}", limits, rules) for kind, rules, *_ in kinds
    ]
    for database in databases:
        names = {group: {"name": group} for group in everywhere}
        await database.write(set_write(Path(("groups",)), names, limits))
    for _ in range(CROWD_RUNS):
        turn = []
        for database, (_, _, joined, leave) in zip(databases, kinds, strict=True):
            await database.write(update_write(ROOT, joined, limits))
            turn.append(await _timed(database, leave))
        seconds.append(turn)
    for database in databases:
        await database.close()
    mirrored, counted, bare = (statistics.median(each) for each in zip(*seconds, strict=True))
    remark = f"one commit; floor: {CROWD + 1:,} places named by the client"
    return [
        durations(f"delete a user of {CROWD:,} groups", (mirrored, bare), remark),
        durations("the same with a count in each group", (counted, bare), remark),
    ]


async def _timed(database: Database, make: Callable[[], Write]) -> float:
    start = time.perf_counter()
    await database.write(make())
    return time.perf_counter() - start


# A backfill


async def _backfill(directory: FilePath, limits: Limits) -> list[Row]:
    """Bring a mirror over a million entries that have no other side yet."""
    _load(directory, limits)
    database = await _database(directory, limits, _rules(mirrored=False))
    before = _anonymous_mib()
    most = before
    start = time.perf_counter()
    await database.put_rules(_rules(mirrored=True), Origin.ADMIN, Side.UNION)
    looked = time.perf_counter() - start
    while database.backfills():
        await asyncio.sleep(LOOK_SECONDS)
        most = max(most, _anonymous_mib())
    seconds = time.perf_counter() - start - looked
    await database.close()
    rate = f"{PAIRS / seconds / 1e3:.1f}k pairs/s"
    memory = f"{most:.0f} MiB"
    return [
        Row(f"look at {PAIRS:,} entries before the rules are put", f"{looked:.1f} s"),
        Row(f"backfill of {PAIRS:,} pairs", rate, remark=f"{seconds:.0f} s, half of it resting"),
        Row(
            "most memory during it", memory, f"{before:.0f} MiB", remark="anonymous; floor: before"
        ),
    ]


def _load(directory: FilePath, limits: Limits) -> None:
    """Write one side of the pairs straight into a store."""
    store = Store.open(directory, limits, fsync=False)
    users = PAIRS // PAIRS_OF_A_USER
    for first in range(0, users, USERS_AT_ONCE):
        changes = tuple(
            (Path(("users", f"u{user}")), _user(user))
            for user in range(first, first + USERS_AT_ONCE)
        )
        with store.transaction() as transaction:
            transaction.apply(Commit(transaction.revision + 1, 0, Patch(changes), None, None))
            transaction.commit()
    store.close()


def _user(user: int) -> Value:
    """Return a user in groups that are spread over all there are."""
    groups = sorted(f"g{(user * 37 + each * 101) % 10_000:05d}" for each in range(PAIRS_OF_A_USER))
    return {"groups": dict.fromkeys(groups, True), "name": f"user {user}"}


def _anonymous_mib() -> float:
    """Return this process's memory but for mapped files, which the system takes back as it likes."""
    for line in FilePath("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise AssertionError
