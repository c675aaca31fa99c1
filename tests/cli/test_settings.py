from dataclasses import fields
from pathlib import Path

import pytest

from treedb.cli.settings import (
    FILE,
    default_of,
    load_settings,
    option_of,
    settings_reference,
    variable_of,
)
from treedb.config import Settings
from treedb.errors import SettingsError


def load(
    folder: Path,
    given: dict[str, object] | None = None,
    environment: dict[str, str] | None = None,
    toml: str | None = None,
) -> Settings:
    if toml is not None:
        (folder / FILE).write_text(toml)
    return load_settings(given or {}, environment or {}, folder)


def test_without_any_source_there_are_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path) == Settings(
        host="127.0.0.1",
        port=9000,
        data=Path("treedb-data"),
        dev=False,
        static=None,
        unsafe_no_fsync=False,
    )


def test_the_nearest_source_wins(tmp_path: Path) -> None:
    toml = 'host = "::1"\nport = 1\ndev = true\n'
    environment = {"TREEDB_PORT": "2", "TREEDB_DATA": "/there", "OTHER": "x"}
    given: dict[str, object] = {"port": 3, "dev": None, "static": None}
    assert load(tmp_path, given, environment, toml) == Settings(
        host="::1", port=3, dev=True, data=Path("/there")
    )
    assert load(tmp_path, None, environment).port == 2
    assert load(tmp_path).port == 1


def test_the_command_line_can_switch_off_what_the_file_switches_on(tmp_path: Path) -> None:
    assert load(tmp_path, {"dev": False}, toml="dev = true").dev is False


UNDERSTOOD = [
    ("TREEDB_DEV", "true", "dev", True),
    ("TREEDB_DEV", "1", "dev", True),
    ("TREEDB_DEV", "False", "dev", False),
    ("TREEDB_DEV", "0", "dev", False),
    ("TREEDB_PORT", "0", "port", 0),
    ("TREEDB_PORT", "65535", "port", 65535),
    ("TREEDB_STATIC", "site", "static", Path("site")),
    ("TREEDB_MIRROR_BACKFILL", "union", "mirror_backfill", "union"),
    ("TREEDB_HOST", "localhost", "host", "localhost"),
    (
        "TREEDB_ALLOWED_HOSTS",
        "DB.example, *.b.example",
        "allowed_hosts",
        ("db.example", "*.b.example"),
    ),
    ("TREEDB_ALLOWED_HOSTS", "*", "allowed_hosts", ("*",)),
    (
        "TREEDB_ALLOWED_ORIGINS",
        "https://a.example,http://localhost:5173",
        "allowed_origins",
        ("https://a.example", "http://localhost:5173"),
    ),
]


@pytest.mark.parametrize("variable, text, name, value", UNDERSTOOD)
def test_text_of_the_environment_is_understood(
    tmp_path: Path, variable: str, text: str, name: str, value: object
) -> None:
    assert getattr(load(tmp_path, environment={variable: text}), name) == value


WRONG_VARIABLES = [
    ("TREEDB_PORT", "65536", "a whole number from 0 to 65535"),
    ("TREEDB_PORT", "-1", "a whole number"),
    ("TREEDB_PORT", "http", "a whole number"),
    ("TREEDB_PORT", "", "a whole number"),
    ("TREEDB_PORT", "٣", "a whole number"),
    ("TREEDB_PORT", "9" * 5000, "a whole number"),
    ("TREEDB_DEV", "maybe", "true or false"),
    ("TREEDB_DEV", "", "true or false"),
    ("TREEDB_HOST", "", "an address or a host's name"),
    ("TREEDB_DATA", "", "a folder's path"),
    ("TREEDB_MIRROR_BACKFILL", "left", "source, target, union"),
    ("TREEDB_ALLOWED_HOSTS", "", "hosts' names without ports"),
    ("TREEDB_ALLOWED_HOSTS", "a.example,", "hosts' names without ports"),
    ("TREEDB_ALLOWED_HOSTS", "a.example:80", "hosts' names without ports"),
    ("TREEDB_ALLOWED_HOSTS", "http://a.example", "hosts' names without ports"),
    ("TREEDB_ALLOWED_ORIGINS", "a.example", "origins as browsers write them"),
    ("TREEDB_ALLOWED_ORIGINS", "https://a.example/", "origins as browsers write them"),
    ("TREEDB_ALLOWED_ORIGINS", "null", "origins as browsers write them"),
    ("TREEDB_ALLOWED_ORIGINS", "https://*.example", "origins as browsers write them"),
]


@pytest.mark.parametrize("variable, text, allowed", WRONG_VARIABLES)
def test_a_wrong_variable_is_named(tmp_path: Path, variable: str, text: str, allowed: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, environment={variable: text})
    assert caught.value.detail.startswith(f"{variable} is {text!r}; allowed: {allowed}")


WRONG_FILES = [
    ("port = 70000", "port is 70000; allowed: a whole number from 0 to 65535."),
    ("port = true", "port is True; allowed: a whole number"),
    ("port = 1.5", "port is 1.5; allowed: a whole number"),
    ("dev = 1", "dev is 1; allowed: true or false."),
    ("host = 1", "host is 1; allowed: an address"),
    ("static = []", "static is []; allowed: a folder's path."),
    ("allowed_hosts = [1]", "allowed_hosts is [1]; allowed: hosts' names without ports"),
    ("allowed_hosts = 1", "allowed_hosts is 1; allowed: hosts' names without ports"),
    ("allowed_origins = ['a']", "allowed_origins is ['a']; allowed: origins as browsers"),
    ("prot = 1", "there is no setting 'prot'; allowed: host, port, data, dev, rules, "),
    ("prot = 1", "fsync. Did you mean port?"),
    ("[serve]\nport = 1", "there is no setting 'serve'; allowed: host,"),
    ("port = ", "is no TOML: Invalid value (at end of document)."),
    ("host = 'a'\nport 1", "is no TOML: Expected '=' after a key in a key/value pair (at line 2"),
]


@pytest.mark.parametrize("toml, detail", WRONG_FILES)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, toml: str, detail: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, toml=toml)
    assert caught.value.detail.startswith(str(tmp_path / FILE))
    assert detail in caught.value.detail


def test_a_wrong_file_stops_even_when_its_value_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        load(tmp_path, {"port": 1}, toml="prot = 2")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"host = '\xff'")
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    "toml",
    ["['a.example', '*.b.example']", "'a.example, *.b.example'", "['a.example,*.b.example']"],
)
def test_a_list_of_the_file_may_be_one_or_text_with_commas(tmp_path: Path, toml: str) -> None:
    found = load(tmp_path, toml=f"allowed_hosts = {toml}").allowed_hosts
    assert found == ("a.example", "*.b.example")


def test_an_option_with_a_list_may_be_given_more_than_once(tmp_path: Path) -> None:
    given: dict[str, object] = {"allowed_origins": ["https://a.example", "https://b.example"]}
    found = load(tmp_path, given, {"TREEDB_ALLOWED_ORIGINS": "*"}).allowed_origins
    assert found == ("https://a.example", "https://b.example")


def test_an_empty_list_of_the_file_lists_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, toml="allowed_origins = []").allowed_origins == ()


def test_a_wrong_option_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--port is 70000; allowed: a whole number"):
        load(tmp_path, {"port": 70_000})


@pytest.mark.parametrize("name", [each.name for each in fields(Settings)])
def test_the_reference_tells_every_setting(name: str) -> None:
    lines = settings_reference().splitlines()
    (row,) = (line for line in lines if line.startswith(f"| `{name}` |"))
    is_secret = name in {"admin_token", "auth_secret"}
    option = "none" if is_secret else f"`{option_of(name)}`"
    assert f"| {option} | `{variable_of(name)}` |" in row
    assert row.count("|") == 7


def test_defaults_are_written_as_in_the_file() -> None:
    written = {each.name: default_of(each) for each in fields(Settings)}
    assert written["port"] == "9000"
    assert written["dev"] == "false"
    assert written["static"] == written["allowed_hosts"] == ""
