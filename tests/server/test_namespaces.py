import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.server.live_server import live_server
from tests.waiting import until
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits, Settings
from treedb.errors import InvalidNamespace, NotFound, SettingsError, Unavailable
from treedb.paths.path import ROOT
from treedb.rules.authority import NOBODY, SERVER
from treedb.server import namespaces as namespaces_module
from treedb.server.namespaces import (
    DATA_FILE,
    LOCKED_RULES,
    OPEN_RULES,
    Databases,
    prepare_data_folder,
)
from treedb.server.rules_file import RulesFile
from treedb.store.kept_rules import Origin
from treedb.store.kept_sessions import KeptSession, encode_session
from treedb.store.store import Store
from treedb.writes.request import set_write

WRONG_NAMES = [
    "../../etc", "a/b", "..", ".", "\0", "a\nb", "a\n", "A", "Prod", "CON", "lock.mdb", "-a",
    "a_b", "a b", "ä", "x" * 64, "x" * 300, "default.",
]  # fmt: skip
GOOD_NAMES = ["a", "0", "127", "demo-project", "x" * 63, "a-"]


def databases_in(folder: Path, *, limits: Limits = DEFAULT_LIMITS, dev: bool = True) -> Databases:
    settings = Settings(data=folder, dev=dev, unsafe_no_fsync=True)
    return Databases(settings, limits, SystemClock())


@pytest.mark.parametrize("name", WRONG_NAMES)
async def test_a_wrong_name_is_refused_and_makes_nothing(tmp_path: Path, name: str) -> None:
    databases = databases_in(tmp_path / "data")
    with pytest.raises(InvalidNamespace, match="a name is 1 to 63 characters"):
        await databases.get(name)
    assert list(tmp_path.iterdir()) == []
    await databases.close()


async def test_a_name_is_a_folder_of_the_data_folder(tmp_path: Path) -> None:
    databases = databases_in(tmp_path)
    for name in GOOD_NAMES:
        assert (await databases.get(name)).namespace == name
    assert {each.name for each in tmp_path.iterdir()} == set(GOOD_NAMES)
    await databases.close()


async def test_no_name_is_the_default(tmp_path: Path) -> None:
    databases = databases_in(tmp_path)
    assert await databases.get("") is await databases.get("default")
    await databases.close()


async def test_those_that_are_open_are_known(tmp_path: Path) -> None:
    databases = databases_in(tmp_path)
    for name in ("b", "a", "b"):
        await databases.get(name)
    assert [each.namespace for each in databases.opened] == ["b", "a"]
    await databases.close()
    assert [each.namespace for each in databases.opened] == []


async def test_many_that_ask_at_once_get_one_database(tmp_path: Path) -> None:
    databases = databases_in(tmp_path)
    first, *others = await asyncio.gather(*(databases.get("a") for _ in range(20)))
    assert all(each is first for each in others)
    await databases.close()


async def test_outside_development_mode_none_comes_to_be(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    databases = databases_in(tmp_path, dev=False)
    with pytest.raises(NotFound, match="no namespace absent"):
        await databases.get("absent")
    assert (await databases.get("there")).namespace == "there"
    assert [each.name for each in tmp_path.iterdir()] == ["there"]
    await databases.close()


async def test_one_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    databases = databases_in(tmp_path, limits=replace(DEFAULT_LIMITS, namespaces=2))
    for name in ("a", "b", "a", "b"):
        await databases.get(name)
    with pytest.raises(Unavailable, match="2 namespaces are open, at most 2"):
        await databases.get("c")
    await databases.close()


async def test_after_closing_none_is_opened(tmp_path: Path) -> None:
    databases = databases_in(tmp_path)
    await databases.get("a")
    await databases.close()
    with pytest.raises(Unavailable):
        await databases.get("a")
    await databases.close()


def test_namespaces_are_apart(tmp_path: Path) -> None:
    with live_server(tmp_path) as server:
        server.put("/v.json?ns=one", 1)
        server.put("/v.json?ns=two", 2)
        server.put("/v.json", 3)
        assert server.get("/v.json?ns=one") == 1
        assert server.get("/v.json?ns=two") == 2
        assert server.get("/v.json?ns=") == 3
        assert server.get("/v.json?ns=default") == 3


QUERIES = ["ns=../../etc", "ns=a/b", "ns=..", "ns=.", "ns=%00", "ns=a%0ab", "ns=Prod", "ns=a&ns=b"]


def test_a_wrong_namespace_is_400_over_http(tmp_path: Path) -> None:
    with live_server(tmp_path) as server:
        for query in QUERIES:
            assert server.ask("GET", f"/v.json?{query}").status == 400
            assert server.ask("PUT", f"/v.json?{query}", "1").status == 400
    assert not (tmp_path / "data").exists()


def test_an_unknown_namespace_is_404_outside_development_mode(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", dev=False)
    with live_server(tmp_path, settings=settings) as server:
        answer = server.ask("PUT", "/v.json?ns=absent", "1")
        assert (answer.status, answer.json["error"]) == (404, "404 Not Found")
    assert not (tmp_path / "data").exists()


# The rules file

ONE = '{"rules": {"one": {".read": true}}}'
TWO = '{"rules": {"two": {".read": true}}}'


@asynccontextmanager
async def following(file: Path, folder: Path) -> AsyncIterator[Databases]:
    settings = Settings(data=folder, dev=True, rules=file, unsafe_no_fsync=True)
    databases = Databases(settings, DEFAULT_LIMITS, SystemClock(), RulesFile.load(file))
    task = asyncio.create_task(databases.follow_rules_file())
    try:
        yield databases
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await databases.close()


async def test_namespaces_follow_the_rules_file_but_those_with_rules_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(namespaces_module, "RULES_FILE_SECONDS", 0.005)
    file = tmp_path / "rules.json"
    file.write_text(ONE)
    async with following(file, tmp_path / "data") as databases:
        first, own = await databases.get("first"), await databases.get("own")
        assert first.ruleset.text == own.ruleset.text == ONE
        await own.put_rules(OPEN_RULES, Origin.ADMIN)
        file.write_text(TWO)
        await until(lambda: first.ruleset.text == TWO)
        assert (await databases.get("later")).ruleset.text == TWO
        file.write_text("{")
        await until(lambda: "the last good rules stay" in caplog.text)
        file.unlink()
        await until(lambda: "cannot be read" in caplog.text)
        assert (await databases.get("last")).ruleset.text == TWO
        file.write_text(ONE)
        await until(lambda: first.ruleset.text == ONE)
        assert own.ruleset.text == OPEN_RULES


async def test_rules_of_a_namespace_stay_without_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(ONE)
    async with following(file, tmp_path / "data") as databases:
        await databases.get("a")
    databases = databases_in(tmp_path / "data")
    assert (await databases.get("a")).ruleset.text == ONE
    assert (await databases.get("b")).ruleset.text == OPEN_RULES
    await databases.close()
    locked = databases_in(tmp_path / "data", dev=False)
    assert (await locked.get("default")).ruleset.text == LOCKED_RULES
    await locked.close()


async def test_a_namespace_opened_while_the_file_changes_has_the_new_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces_module, "RULES_FILE_SECONDS", 0.001)
    file = tmp_path / "rules.json"
    file.write_text(ONE)
    async with following(file, tmp_path / "data") as databases:
        for number in range(20):
            opening = asyncio.create_task(databases.get(f"n{number}"))
            await asyncio.sleep(0.001 * (number % 5))
            file.write_text(ONE if number % 2 else TWO)
            database = await opening
            while database.ruleset.text != file.read_text():
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("side, after", [(None, {"one": {"k": 1}}), ("target", None)])
async def test_a_setting_says_which_side_is_right_for_the_rules_file(
    tmp_path: Path, side: str | None, after: object
) -> None:
    folder, file = tmp_path / "data", tmp_path / "rules.json"
    databases = databases_in(folder)
    database = await databases.get("a")
    await database.write(set_write(ROOT, {"one": {"k": 1}}, DEFAULT_LIMITS, caller=SERVER))
    await databases.close()
    file.write_text('{"rules": {"one": {"$k": {".mirror": "/two/$k"}}}}')
    settings = Settings(data=folder, dev=True, mirror_backfill=side, unsafe_no_fsync=True)
    databases = Databases(settings, DEFAULT_LIMITS, SystemClock(), RulesFile.load(file))
    database = await databases.get("a")
    assert (database.kept_rules() is None) == (side is None)
    await until(lambda: not database.backfills())
    assert await database.get(ROOT, SERVER) == after
    await databases.close()


# The data folder


def test_the_data_folder_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    prepare_data_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    prepare_data_folder(folder)


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SettingsError, match=r"data: the folder .*file cannot be used"):
        prepare_data_folder(file)
    with pytest.raises(SettingsError, match="cannot be used"):
        prepare_data_folder(file / "below")


def test_symbolic_links_in_the_data_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "default").symlink_to("/etc")
    with pytest.raises(SettingsError, match=r"default is a symbolic link"):
        prepare_data_folder(tmp_path)


def test_the_data_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    prepare_data_folder(tmp_path / "link")


async def test_namespaces_that_a_server_left_with_sessions_are_opened_to_end_them(
    tmp_path: Path,
) -> None:
    for name, sessions in (("busy", ["s"]), ("idle", []), ("other", ["s", "t"])):
        store = Store.open(tmp_path / name, DEFAULT_LIMITS)
        with store.transaction() as transaction:
            for each in sessions:
                transaction.keep_session(each, encode_session(KeptSession(None, {ROOT: name})))
            transaction.commit()
        store.close()
    (tmp_path / "no-database").mkdir()
    (tmp_path / "a file").touch()
    databases = databases_in(tmp_path)
    await databases.end_left_sessions()
    assert {each.namespace for each in databases.opened} == {"busy", "other"}
    for database in databases.opened:
        assert await database.get(ROOT, NOBODY) == database.namespace
    await databases.close()


async def test_a_namespace_that_cannot_be_opened_does_not_keep_others_from_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = replace(DEFAULT_LIMITS, namespaces=1)
    for name in ("a", "b"):
        store = Store.open(tmp_path / name, limits)
        with store.transaction() as transaction:
            transaction.keep_session("s", encode_session(KeptSession(None, {ROOT: name})))
            transaction.commit()
        store.close()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / DATA_FILE).write_bytes(b"no database" * 1000)
    databases = databases_in(tmp_path, limits=limits)
    await databases.end_left_sessions()
    assert [each.namespace for each in databases.opened] == ["a"]
    assert f"The database in {tmp_path / 'broken'} cannot be opened" in caplog.text
    assert "the sessions of b end when it is opened: 1 namespaces are open" in caplog.text
    await databases.close()
