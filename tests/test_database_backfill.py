"""Data that is there is brought to agree with new mirrors while the database goes on."""

import asyncio
import sys
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.listeners import Recorder
from tests.server.opened_database import opened_database, write
from tests.waiting import until
from treedb import background_backfill
from treedb.database import Database
from treedb.errors import RulesError
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import SERVER
from treedb.store.kept_derived import CheckedDeclaration
from treedb.store.kept_rules import Origin
from treedb.sync.delivery import Overwrite, Watch
from treedb.writes.mend import Side

OPEN = '{"rules": {".read": true, ".write": true}}'
MIRRORED = """{"rules": {".read": true, ".write": true,
    "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}},
    "groups": {"$g": {"members": {".count": "/groups/$g/count"}}}
}}"""
USERS = {f"u{number:03}": {"groups": {"a": True, "b": {"since": number}}} for number in range(100)}
MIRROR = "mirror (copy) /users/$u/groups/$g /groups/$g/members/$u"
COUNT = "count /groups/$g/members /groups/$g/count"
# What another process does: it knows the folder, and nothing of this one.
OTHER_PROCESS = """
import sys
from pathlib import Path
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path as Place
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch

store = Store.open(Path(sys.argv[1]), DEFAULT_LIMITS)
with store.transaction() as transaction:
    patch = Patch(((Place(("from", "another")), "process"),))
    transaction.apply(Commit(transaction.revision + 1, 0, patch, None, None))
    transaction.commit()
store.close()
"""


async def assert_agrees(database: Database) -> None:
    check = await database.check_derived()
    assert [(each.name, each.faults, each.examples) for each in check.declarations] == [
        (MIRROR, 0, ()),
        (COUNT, 0, ()),
    ]


async def test_what_is_missing_is_written_and_heard_of_while_others_write(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_backfill, "STEP_ENTRIES", 7)
    async with opened_database(tmp_path, rules=OPEN) as database:
        await write(database, "/users", USERS)
        await database.put_rules(MIRRORED, Origin.ADMIN, Side.SOURCE)
        assert [each.name for each in database.backfills()] == [MIRROR, COUNT]
        heard = Recorder()
        await database.listen(Watch(Path.parse("/groups/b/members/u099")), heard, SERVER)
        await write(database, "/users/u050/groups/b/since", 7)
        await write(database, "/users/u051", None)
        await write(database, "/groups/c/members/new", True)
        await until(lambda: not database.backfills())
        groups: Any = await database.get(Path(("groups",)), SERVER)
        await assert_agrees(database)
    assert groups["b"]["members"]["u050"] == {"since": 7}
    assert "u051" not in groups["b"]["members"]
    assert (groups["a"]["count"], groups["b"]["count"], groups["c"]["count"]) == (99, 99, 1)
    place = Path.parse("/groups/b/members/u099")
    assert heard.changes == [Overwrite(place, {"since": 99})]


async def test_it_goes_on_after_a_restart(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_backfill, "STEP_ENTRIES", 1)
    async with opened_database(tmp_path, rules=OPEN) as database:
        await write(database, "/users", USERS)
        await database.put_rules(MIRRORED, Origin.ADMIN, Side.UNION)
    async with opened_database(tmp_path, rules=OPEN) as database:
        assert database.backfills()
        await until(lambda: not database.backfills())
        await assert_agrees(database)
        assert await database.get(Path(("groups", "a", "count")), SERVER) == len(USERS)


async def test_what_no_side_decides_is_refused_and_nothing_changes(tmp_path: FilePath) -> None:
    async with opened_database(tmp_path, rules=OPEN) as database:
        await write(database, "/", {"users": {"u": {"groups": {"g": 1}}}, "groups": {"g": "leaf"}})
        with pytest.raises(RulesError, match="/groups/g holds a value that would be lost"):
            await database.put_rules(MIRRORED, Origin.ADMIN, Side.UNION)
        assert database.backfills() == ()
        assert database.ruleset.mirrors == ()


async def test_a_check_tells_how_many_there_are_and_what_is_wrong(tmp_path: FilePath) -> None:
    async with opened_database(tmp_path, rules=OPEN) as database:
        await database.put_rules(MIRRORED, Origin.ADMIN)
        await write(database, "/users", USERS)
        assert database.last_check() is None
        check = await database.check_derived()
        assert check.declarations == (
            CheckedDeclaration(MIRROR, 200, 0),
            CheckedDeclaration(COUNT, 2, 0),
        )
        assert database.last_check() == check


async def test_what_another_process_writes_is_heard(tmp_path: FilePath) -> None:
    async with opened_database(tmp_path, rules=OPEN) as database:
        heard = Recorder()
        await database.listen(Watch(ROOT), heard, SERVER)
        folder = str(database._store.directory)
        other = await asyncio.create_subprocess_exec(sys.executable, "-c", OTHER_PROCESS, folder)
        assert await other.wait() == 0
        await until(lambda: bool(heard.deliveries))
        await write(database, "/ours", 1)
        assert heard.revisions == [1, 2]
