"""Mirrors and counts through a database: kept by every write, and never brought over bad data."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.listeners import Recorder
from tests.server.opened_database import opened_database
from treedb.auth.identity import Auth
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.errors import ConflictingPaths, PermissionDenied, RulesError
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import SERVER, Caller
from treedb.store.kept_rules import Origin
from treedb.sync.delivery import Watch
from treedb.writes.request import set_write, update_write

RULES: dict[str, Any] = {
    "rules": {
        "users": {
            "$u": {
                ".read": "auth.uid == $u",
                "groups": {
                    "$g": {
                        ".write": "auth.uid == $u",
                        ".validate": "newData.isBoolean()",
                        ".mirror": "/groups/$g/members/$u",
                    }
                },
            }
        },
        "groups": {
            "$g": {
                "members": {
                    ".count": "/groups/$g/memberCount",
                    "$u": {".validate": "newData.val() === true"},
                }
            }
        },
    }
}
ANN = Caller(Auth("ann", {}, is_admin=False, expires_at_ms=None))
OPEN = '{"rules": {".read": true, ".write": true}}'


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, rules=OPEN) as database:
        await database.put_rules(json.dumps(RULES), Origin.ADMIN)
        yield database


async def put(database: Database, place: str, value: object, caller: Caller = SERVER) -> Any:
    write = set_write(Path.parse(place), value, DEFAULT_LIMITS, caller=caller)
    return await database.write(write)


async def test_one_write_of_a_client_changes_both_sides_and_the_count(database: Database) -> None:
    written = await put(database, "/users/ann/groups/a", True, ANN)
    assert written.values == (True,), "what was derived is no answer to what was asked"
    assert await database.get(ROOT, SERVER) == {
        "groups": {"a": {"memberCount": 1, "members": {"ann": True}}},
        "users": {"ann": {"groups": {"a": True}}},
    }
    await put(database, "/users/ann/groups/a", None, ANN)
    assert await database.get(ROOT, SERVER) is None


async def test_both_sides_hear_of_it_with_one_revision(database: Database) -> None:
    listeners = [Recorder(), Recorder()]
    for place, listener in zip(("/users/ann/groups", "/groups/a/members"), listeners, strict=True):
        await database.listen(Watch(Path.parse(place)), listener, SERVER)
    await asyncio.sleep(0)
    await put(database, "/users/ann/groups/a", True, ANN)
    assert [listener.revisions for listener in listeners] == [[2], [2]]


async def test_the_other_side_needs_no_right_to_write_and_has_to_be_valid(
    database: Database,
) -> None:
    with pytest.raises(PermissionDenied):
        await put(database, "/groups/a/members/ann", True, ANN)
    with pytest.raises(PermissionDenied):
        await put(database, "/users/ann/groups/a", False, ANN)
    assert await database.get(ROOT, SERVER) is None


async def test_a_denial_tells_who_may_know_what_was_named_and_what_is_derived(
    database: Database,
) -> None:
    with pytest.raises(PermissionDenied) as denied:
        await put(database, "/users/ann/groups/a", False, replace(ANN, wants_reason=True))
    lines = denied.value.reason.splitlines()
    named, derived = lines.index("/users/ann/groups/a"), lines.index("/groups/a/members/ann")
    assert lines[named + 1] == "  (named by the client)"
    assert lines[derived + 1].startswith("  (derived from /users/ann/groups/a by the mirror at 1:")
    assert lines[derived + 1].endswith("; only .validate is asked)")


async def test_what_is_derived_is_counted(database: Database) -> None:
    assert database.derived_changes == 0
    await put(database, "/users/ann/groups/a", True)
    assert database.derived_changes == 2
    await put(database, "/other", True)
    assert database.derived_changes == 2


async def test_a_contradiction_is_told_to_who_may_write_there_and_to_nobody_else(
    database: Database,
) -> None:
    changes = {"users/ann/groups/a": True, "groups/a/members/ann": None}
    for caller, kind in ((SERVER, ConflictingPaths), (ANN, PermissionDenied)):
        with pytest.raises(kind):
            await database.write(update_write(ROOT, changes, DEFAULT_LIMITS, caller=caller))


async def test_an_update_is_answered_place_by_place(database: Database) -> None:
    changes = {"users/bob/groups/a": True, "users/ann/groups/a": True, "users/ann/name": "Ann"}
    write = update_write(ROOT, changes, DEFAULT_LIMITS, caller=SERVER)
    written = await database.write(write)
    assert dict(zip((path for path, _ in write.changes), written.values, strict=True)) == {
        Path.parse(place): value for place, value in changes.items()
    }


async def test_rules_that_the_data_contradicts_are_refused_and_the_old_ones_stay(
    tmp_path: FilePath,
) -> None:
    async with opened_database(tmp_path, rules=OPEN) as database:
        await put(database, "/users/ann/groups/a", True)
        with pytest.raises(RulesError, match="/groups/a/members/ann is missing"):
            await database.put_rules(json.dumps(RULES), Origin.ADMIN)
        assert database.kept_rules() is None
        await put(database, "/groups/a", {"members": {"ann": True}, "memberCount": 1})
        await database.put_rules(json.dumps(RULES), Origin.ADMIN)
        await put(database, "/groups/a", None)
        assert await database.get(ROOT, SERVER) is None


async def test_a_write_that_slips_in_before_the_rules_is_noticed(tmp_path: FilePath) -> None:
    async with opened_database(tmp_path, rules=OPEN) as database:
        write = set_write(Path.parse("/users/ann/groups/a"), True, DEFAULT_LIMITS, caller=SERVER)
        putting = asyncio.ensure_future(database.put_rules(json.dumps(RULES), Origin.ADMIN))
        writing = database.submit(write)
        await writing
        try:
            await putting
        except RulesError:
            assert database.kept_rules() is None
        else:
            assert await database.get(Path.parse("/groups/a/members/ann"), SERVER) is True
