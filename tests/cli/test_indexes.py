from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.cli.indexed_store import delete_entries, make_store
from tests.server_process import ServerProcess
from treedb.tree.values import Value

ROOMS: Value = {"rooms": {"lobby": {f"m{number}": {"ts": number} for number in range(50)}}}


@pytest.fixture
def indexes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command("indexes", capsys, monkeypatch)


def test_list_prints_the_table(indexes: Command, tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    code, out, err = indexes("list", "--data", str(tmp_path))
    assert (code, err) == (0, "")
    assert "/rooms/$room  ts          complete  50\n" in out


def test_the_data_folder_is_that_of_the_settings(
    indexes: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path, "other", ROOMS)
    monkeypatch.setenv("TREEDB_DATA", str(tmp_path))
    code, out, _ = indexes("list", "--ns", "other")
    assert code == 0
    assert "/rooms/$room" in out


def test_check_ends_with_0_without_faults(indexes: Command, tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    expected = (0, "0 faults in 2 indexes\n", "")
    assert indexes("check", "--data", str(tmp_path)) == expected


def test_check_ends_with_1_and_the_way_out_which_mends(indexes: Command, tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    delete_entries(tmp_path, "default", 3)
    code, out, err = indexes("check", "--data", str(tmp_path))
    assert (code, err) == (1, "")
    told, way_out = out.splitlines()[-2:]
    assert told == "3 faults in 2 indexes"
    command = way_out.removeprefix("Mend them: treedb indexes ")
    code, out, err = indexes(*command.split())
    assert code == 0
    assert out.count("complete") == 2
    assert "gone through" in err
    assert indexes("check", "--data", str(tmp_path))[0] == 0


@pytest.mark.parametrize("command", ["list", "check", "rebuild"])
def test_what_is_not_there_ends_with_2_and_is_not_made(
    indexes: Command, tmp_path: Path, command: str
) -> None:
    data = tmp_path / "data"
    code, out, err = indexes(command, "--data", str(data))
    assert (code, out) == (2, "")
    assert err == (
        f"treedb: there is no namespace default in {data}: {data}/default/data.mdb is not there. "
        "Name the data folder with --data and the namespace with --ns.\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["list", "check", "rebuild"])
def test_a_wrong_name_ends_with_1(indexes: Command, tmp_path: Path, command: str) -> None:
    code, _, err = indexes(command, "--data", str(tmp_path), "--ns", "../a")
    assert code == 1
    assert "a name is 1 to 63 characters" in err


# With a server


def ask(server: ServerProcess, method: str, target: str, body: str | None = None) -> str:
    connection = HTTPConnection(server.address, timeout=30)
    try:
        connection.request(method, target, body, {"Authorization": "Bearer owner"})
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, text
        return text
    finally:
        connection.close()


def test_a_server_goes_on_beside_the_commands(indexes: Command, server: ServerProcess) -> None:
    at = ("--data", str(server.data), "--ns", "beside")
    ask(server, "PUT", "/rooms.json?ns=beside", '{"a":{".value":1,".priority":2},"b":3}')
    for command in ("list", "check", "rebuild", "check"):
        assert indexes(command, *at)[0] == 0
    ask(server, "PUT", "/rooms/c.json?ns=beside", '{".value":1,".priority":1}')
    assert indexes("check", *at) == (0, "0 faults in 1 index\n", "")
    assert ask(server, "GET", "/rooms.json?ns=beside") == '{"a":1,"b":3,"c":1}'
