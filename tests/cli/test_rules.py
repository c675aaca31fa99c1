import io
import json
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.server_process import ServerProcess

RULES = """{
  // Kept as it stands.
  "rules": {"notes": {"$uid": {".read": "auth.uid == $uid"}}}
}
"""


@pytest.fixture
def rules(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command("rules", capsys, monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rules.json"
    path.write_text(RULES)
    return str(path)


def test_check_ends_with_0_for_good_rules_and_1_for_wrong_ones(
    rules: Command, file: str, tmp_path: Path
) -> None:
    assert rules("check", file) == (0, f"{file}: no mistakes, no warnings\n", "")
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"rules": {".read": "x"}}')
    code, out, err = rules("check", str(wrong))
    assert (code, err) == (1, "")
    assert out.startswith(f"{wrong}:1:22: Unknown variable 'x'.")


def test_explain_takes_its_options_anywhere(rules: Command, file: str) -> None:
    options = ["--auth", "zoe", "--data", '{"notes": {"zoe": 1}}', "--now", "5"]
    code, out, err = rules("explain", file, *options, "read", "/notes/zoe")
    assert (code, err) == (0, "")
    assert out.startswith('ALLOWED read /notes/zoe\n  as {"uid": "zoe"')
    assert "  at 5\n" in out
    assert rules("explain", file, "read", "/notes/zoe", *options)[1] == out


def test_explain_is_of_the_present_without_a_time(rules: Command, file: str) -> None:
    _, out, _ = rules("explain", file, "read", "/", "--json")
    assert json.loads(out)["now"] > 1_700_000_000_000


def test_test_ends_with_1_when_a_test_fails(rules: Command, file: str, tmp_path: Path) -> None:
    tests = tmp_path / "tests.json"
    for expect, code in (("deny", 0), ("allow", 1)):
        tests.write_text(json.dumps({"tests": [{"read": "/", "expect": expect}]}))
        assert rules("test", file, str(tests))[0] == code
        ended, out, _ = rules("test", file, str(tests), "--json")
        assert (ended, json.loads(out)["failed"]) == (code, code)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "absent.json"],
        ["explain", "absent.json", "read", "/"],
        ["test", "absent.json", "tests.json"],
        ["put", "absent.json"],
    ],
)
def test_wrong_use_ends_with_2_and_one_sentence(rules: Command, arguments: list[str]) -> None:
    expected = "treedb: absent.json cannot be read: No such file or directory.\n"
    assert rules(*arguments) == (2, "", expected)


def test_a_command_that_is_none_ends_with_2(rules: Command) -> None:
    assert rules("chekc")[0] == 2
    assert rules("check")[0] == 2


def test_what_the_terminal_cannot_show_is_written_out(
    rules: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.json"
    file.write_text("""{"rules": {".read": "auth.uid == 'Zoë'"}}""", encoding="utf-8")
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, "ascii", write_through=True))
    assert rules("explain", str(file), "read", "/")[0] == 0
    assert rb"auth.uid == 'Zo\xeb'  => false" in printed.getvalue()


# With a server


def test_rules_are_put_and_got_as_they_stand(
    rules: Command, file: str, server: ServerProcess
) -> None:
    at = ("--url", server.url, "--data", str(server.data), "--ns", "put")
    told = f"The rules are in force in namespace put of {server.url}.\n"
    assert rules("put", file, *at) == (0, told, "")
    assert rules("get", *at) == (0, RULES, "")


def test_a_dry_run_changes_nothing(rules: Command, file: str, server: ServerProcess) -> None:
    at = ("--url", server.url, "--data", str(server.data), "--ns", "dry")
    before = rules("get", *at)
    told = f"The rules would be taken by namespace dry of {server.url}.\n"
    assert rules("put", file, "--dry-run", *at) == (0, told, "")
    assert rules("get", *at) == before


MIRRORED = """{"rules": {".write": true,
  "b": {".count": "/n"},
  "a": {"$x": {".mirror": "/b/$x"}}
}}"""


def test_a_side_brings_the_data_to_agree_and_it_is_told_where_to_look(
    rules: Command, tmp_path: Path, server: ServerProcess
) -> None:
    file = tmp_path / "mirrored.json"
    file.write_text(MIRRORED)
    put = ("put", str(file), "--url", server.url, "--data", str(server.data), "--ns", "sided")
    assert rules(*put)[0] == 0
    file.write_text(MIRRORED.replace("/n", "/m"))
    code, out, err = rules(*put, "--dry-run", "--mirror-backfill", "union")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"The rules would be taken by namespace sided of {server.url}.",
        "The data would be brought to agree with 1 new mirror or count, union is right.",
    ]
    code, out, err = rules(*put, "--mirror-backfill", "union")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"The rules are in force in namespace sided of {server.url}.",
        "The data is being brought to agree with 1 new mirror or count, union is right.",
        "`treedb mirrors list` and /.inspect/mirrors.json tell how far that is.",
    ]


def test_a_side_that_is_none_ends_with_2(rules: Command, file: str) -> None:
    at = ("--url", "http://127.0.0.1:1", "--mirror-backfill", "left")
    told = "treedb: --mirror-backfill is left; allowed: source, target, union.\n"
    assert rules("put", file, *at) == (2, "", told)


def test_wrong_rules_are_listed_and_not_sent(rules: Command, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"rules": {".read": "x"}}')
    code, out, err = rules("put", str(wrong), "--url", "http://127.0.0.1:1")
    assert (code, err) == (1, "")
    assert out.endswith("wrong.json: 1 mistake\n")
