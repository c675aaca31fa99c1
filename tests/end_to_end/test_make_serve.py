"""`make serve` gives a running server whose data outlives it, as the README promises."""

import json
import os
import shlex
import subprocess
from pathlib import Path

from tests.server_process import ServerProcess, StartServer

ROOT = Path(__file__).parent.parent.parent


def serve_arguments() -> list[str]:
    """Return what `make serve` passes to the server, without a place of its own for the data."""
    recipe = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "serve"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},  # what a `make test` around us was given is not meant
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    program, command, *arguments = shlex.split(recipe.splitlines()[-1])
    assert (program, command) == (".venv/bin/treedb", "serve")
    assert arguments[-4:] == ["--port", "9000", "--data", "./treedb-data"]
    return arguments[:-4]


def curl(*arguments: str) -> str:
    return subprocess.run(
        ["curl", "--silent", "--show-error", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout


def test_it_serves_in_development_mode_with_the_chat() -> None:
    assert serve_arguments() == ["--dev", "--static", "examples/chat"]


def test_it_says_where_to_look_and_what_to_try(start_server: StartServer) -> None:
    server = start_server(*serve_arguments()[1:])
    log = server.log
    assert f"{server.url}/" in log
    assert log.count("curl") == 2
    for command in [line.strip() for line in log.splitlines() if "curl " in line]:
        json.loads(curl(*shlex.split(command[command.index("curl ") :])[1:]))


def test_the_chat_is_at_the_root(start_server: StartServer) -> None:
    server = start_server(*serve_arguments()[1:])
    assert "<title>" in curl(f"{server.url}/")


def test_data_outlives_kill_9(start_server: StartServer) -> None:
    server = start_server(*serve_arguments()[1:])
    place = f"{server.url}/users/mchen.json"
    assert curl("-X", "PUT", "-d", '{"name":"Mary Chen"}', place) == '{"name":"Mary Chen"}'
    server.kill()
    server.start()
    assert_same(server, {"mchen": {"name": "Mary Chen"}})


def assert_same(server: ServerProcess, users: object) -> None:
    assert json.loads(curl(f"{server.url}/users.json")) == users
