"""A rules file is checked at the start, followed, and never lets a bad edit in."""

import asyncio
import logging
import os
from pathlib import Path as FilePath

import pytest

from tests.server.opened_database import opened_database
from treedb.config import DEFAULT_LIMITS
from treedb.errors import SettingsError
from treedb.paths.path import ROOT
from treedb.rules.authority import SERVER
from treedb.server.rules_file import RulesFile
from treedb.store.kept_rules import KeptRules, Origin
from treedb.writes.mend import Side
from treedb.writes.request import set_write

ONE = '{"rules": {"one": {".read": true}}}'
TWO = '{"rules": {"two": {".read": true}}}'
WRONG = '{"rules": {\n  ".read": "atuh != null"\n}}'


@pytest.fixture
def file(tmp_path: FilePath) -> FilePath:
    path = tmp_path / "rules.json"
    path.write_text(ONE)
    return path


def test_a_wrong_file_stops_the_start_with_its_places(file: FilePath) -> None:
    file.write_text(WRONG)
    with pytest.raises(SettingsError) as refused:
        RulesFile.load(file)
    assert f"{file}:2:13: Unknown variable 'atuh'." in refused.value.reason
    assert "^" in refused.value.reason


def test_a_missing_file_stops_the_start(tmp_path: FilePath) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        RulesFile.load(tmp_path / "absent.json")


def test_a_good_edit_is_noticed_once(file: FilePath) -> None:
    rules = RulesFile.load(file)
    assert not rules.reload()
    file.write_text(TWO)
    assert rules.reload()
    assert rules.text == TWO
    assert not rules.reload()


def test_a_bad_edit_is_logged_and_the_last_good_text_stays(
    file: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    rules = RulesFile.load(file)
    file.write_text(WRONG)
    assert not rules.reload()
    assert rules.text == ONE
    assert "2:13: Unknown variable 'atuh'." in caplog.text
    file.unlink()
    caplog.clear()
    for _ in range(3):
        assert not rules.reload()
    [record] = caplog.records  # told once, not with every look
    assert "cannot be read" in record.getMessage()
    file.write_text(TWO)
    assert rules.reload()


def test_another_file_of_the_same_size_and_time_is_noticed(file: FilePath) -> None:
    rules = RulesFile.load(file)
    times = file.stat()
    beside = file.with_suffix(".new")
    beside.write_text(TWO)
    os.utime(beside, ns=(times.st_atime_ns, times.st_mtime_ns))
    beside.replace(file)
    assert rules.reload()
    assert rules.text == TWO


def test_a_file_that_is_no_text_is_refused(file: FilePath) -> None:
    rules = RulesFile.load(file)
    file.write_bytes(b'{"rules": {"\xff": {}}}')
    assert not rules.reload()
    with pytest.raises(SettingsError, match="cannot be read"):
        RulesFile.load(file)


async def test_a_namespace_follows_the_file_until_an_admin_puts_rules(
    file: FilePath, tmp_path: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    rules = RulesFile.load(file)
    async with opened_database(tmp_path, DEFAULT_LIMITS) as database:
        await rules.apply_to(database)
        assert database.kept_rules() == KeptRules(1, ONE, Origin.FILE)
        await rules.apply_to(database)
        assert database.revision == 1
        file.write_text(TWO)
        rules.reload()
        await rules.apply_to(database)
        assert database.ruleset.text == TWO
        await database.put_rules(ONE, Origin.ADMIN)
        await rules.apply_to(database)
        assert database.kept_rules() == KeptRules(3, ONE, Origin.ADMIN)
        assert "rules of its own" in caplog.text


MIRRORED = """{"rules": {
  "a": {"$x": {".mirror": "/b/$x"}}
}}"""


async def test_rules_that_the_data_disagrees_with_stay_out_and_the_log_says_where(
    file: FilePath, tmp_path: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(MIRRORED)
    rules = RulesFile.load(file)
    async with opened_database(tmp_path) as database:
        before = database.ruleset.text
        tree = {"a": {"k": 1, "l": 1}, "b": {"k": 2}}
        await database.write(set_write(ROOT, tree, DEFAULT_LIMITS, caller=SERVER))
        await rules.apply_to(database)
        assert database.ruleset.text == before
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        assert record.getMessage() == (
            "namespace default keeps the rules it had: its data stands against a mirror or a "
            f"count that {file} brings.\n"
            f"  {file}:2:27: The data disagrees: /b/k differs from /a/k.\n"
            f"  {file}:2:27: The data disagrees: /b/l is missing: /a/l is there.\n"
            "  Mend the data, or start the server with --mirror-backfill source, target or union, "
            "whichever is right. The file is tried again when it changes, and at the next start."
        )
        assert record.exc_info is None
        await rules.apply_to(database, Side.UNION)
        assert "cannot be brought to agree: /b/k differs from /a/k." in caplog.text
        assert database.ruleset.text == before


async def test_with_a_side_the_file_brings_the_data_to_agree(
    file: FilePath, tmp_path: FilePath
) -> None:
    file.write_text(MIRRORED)
    rules = RulesFile.load(file)
    async with opened_database(tmp_path) as database:
        tree = {"a": {"k": 1, "l": 1}, "b": {"k": 2}}
        await database.write(set_write(ROOT, tree, DEFAULT_LIMITS, caller=SERVER))
        await rules.apply_to(database, Side.SOURCE)
        assert database.kept_rules() == KeptRules(2, MIRRORED, Origin.FILE)
        async with asyncio.timeout(10):
            while database.backfills():
                await asyncio.sleep(0.005)
        check = await database.check_derived()
        assert [(each.entries, each.faults) for each in check.declarations] == [(2, 0)]


async def test_newlines_and_marks_are_kept(file: FilePath) -> None:
    text = '\ufeff{"rules":\r\n {}}\r\n'
    await asyncio.to_thread(file.write_bytes, text.encode())
    assert RulesFile.load(file).text == text
