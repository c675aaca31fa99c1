import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Command
from tests.cli.mirrored_store import AGREEING, RULES, make_store, write_past_the_rules
from tests.server.event_client import EventStream
from tests.server_process import ServerProcess
from treedb.tree.values import Value, with_value_at

OWNER = {"Authorization": "Bearer owner"}
DIFFERING: Value = {"users": {"ann": {"groups": {"a": 1, "b": 1}}}, "groups": {"a": {"size": 7}}}


@pytest.fixture
def mirrors(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command("mirrors", capsys, monkeypatch)


def test_list_prints_the_table_of_the_settings_folder(
    mirrors: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path, AGREEING, namespace="other")
    monkeypatch.setenv("TREEDB_DATA", str(tmp_path))
    code, out, err = mirrors("list", "--ns", "other")
    assert (code, err) == (0, "")
    assert "copy   /users/$u/groups/$g  /groups/$g/members/$u" in out


def test_check_ends_with_0_without_faults(mirrors: Command, tmp_path: Path) -> None:
    make_store(tmp_path, AGREEING)
    code, out, err = mirrors("check", "--data", str(tmp_path))
    assert (code, err) == (0, "")
    assert out.endswith("\n0 faults in 2 mirrors and counts\n")


def test_check_ends_with_1_and_the_way_out_which_mends(mirrors: Command, tmp_path: Path) -> None:
    make_store(tmp_path, DIFFERING)
    code, out, err = mirrors("check", "--data", str(tmp_path))
    assert (code, err) == (1, "")
    told, way_out = out.splitlines()[-2:]
    assert told == "3 faults in 2 mirrors and counts"
    command = way_out.split(": treedb mirrors ")[1].replace("source|target|union", "source")
    code, out, _ = mirrors(*command.split())
    assert code == 0
    assert out.endswith("\n0 faults in 2 mirrors and counts\n")
    assert mirrors("check", "--data", str(tmp_path))[0] == 0


@pytest.mark.parametrize("command", [("repair", "union"), ("check", "--fix", "union")])
def test_what_is_left_ends_with_1_and_is_listed(
    mirrors: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    groups: Value = {"a": {"members": {"ann": 2}, "size": 1}}
    make_store(tmp_path, {"users": {"ann": {"groups": {"a": 1}}}, "groups": groups})
    code, out, err = mirrors(*command, "--data", str(tmp_path))
    assert (code, err) == (1, "")
    assert out.startswith("left as it is: /groups/a/members/ann differs from /users/ann/groups/a\n")
    assert out.splitlines()[-2:] == [
        "1 fault in 2 mirrors and counts",
        "What is left needs another side, or a write at these places.",
    ]


@pytest.mark.parametrize("command", [("repair", "left"), ("check", "--fix", "left")])
def test_a_side_that_is_none_ends_with_2(
    mirrors: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    make_store(tmp_path, DIFFERING)
    code, out, err = mirrors(*command, "--data", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.endswith(" is left; allowed: source, target, union.\n")


@pytest.mark.parametrize("command", [("list",), ("check",), ("repair", "union")])
def test_what_is_not_there_ends_with_2_and_is_not_made(
    mirrors: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    data = tmp_path / "data"
    code, out, err = mirrors(*command, "--data", str(data))
    assert (code, out) == (2, "")
    assert err.startswith(f"treedb: there is no namespace default in {data}: ")
    assert list(tmp_path.iterdir()) == []


# With a server


def ask(server: ServerProcess, method: str, target: str, body: object = None) -> str:
    connection = HTTPConnection(server.address, timeout=30)
    try:
        connection.request(method, target, json.dumps(body), OWNER)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, text
        return text
    finally:
        connection.close()


def test_what_a_repair_writes_is_heard_by_a_listener_of_the_server(
    mirrors: Command, server: ServerProcess
) -> None:
    at = ("--data", str(server.data), "--ns", "beside")
    ask(server, "PUT", "/.settings/rules.json?ns=beside", RULES)
    ask(server, "PUT", "/.json?ns=beside", AGREEING)
    write_past_the_rules(server.data, "beside", "/users/ann/groups/b", 1)
    assert mirrors("check", *at)[0] == 1
    with EventStream(server.port, "/groups/b.json?ns=beside") as stream:
        assert stream.told() == ("put", {"path": "/", "data": None})
        assert mirrors("check", "--fix", "source", *at)[0] == 0
        heard: Value = None
        while heard != {"members": {"ann": 1}, "size": 1}:
            heard = after_event(heard, *stream.told())
    ask(server, "DELETE", "/users/ann/groups/b.json?ns=beside")
    assert json.loads(ask(server, "GET", "/.json?ns=beside")) == AGREEING
    assert mirrors("check", *at)[0] == 0


def after_event(value: Value, name: str, body: Any) -> Value:
    """Return what a listener has after an event; one that came to the end fails."""
    assert name in {"put", "patch"}
    changes = {"": body["data"]} if name == "put" else body["data"]
    for below, data in changes.items():
        keys = filter(None, f"{body['path']}/{below}".split("/"))
        value = with_value_at(value, tuple(keys), data)
    return value
