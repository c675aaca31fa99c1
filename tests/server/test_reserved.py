from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.live_server import LiveServer, live_server
from treedb import __version__
from treedb.config import Settings

OWNER = {"Authorization": "Bearer owner"}
PLACES = ["/.settings/rules.json", "/.settings/x", "/.inspect/coverage", "/.inspect/x.json"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("reserved")) as running:
        yield running


def test_health_says_how_durable_writes_are(server: LiveServer) -> None:
    answer = server.ask("GET", "/.health")
    assert answer.status == 200
    assert answer.json == {"status": "ok", "durability": "fsync", "version": __version__}


def test_health_shows_the_switch_that_lowers_it(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", dev=True, unsafe_no_fsync=True)
    with live_server(tmp_path, settings=settings) as server:
        assert server.get("/.health")["durability"] == "unsafe_no_fsync"


def test_health_is_only_read(server: LiveServer) -> None:
    answer = server.ask("POST", "/.health", "1")
    assert (answer.status, answer.json) == (405, {"error": "Method Not Allowed"})
    assert server.ask("HEAD", "/.health").status == 200


@pytest.mark.parametrize("target", PLACES)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_only_an_administrator_may_ask(server: LiveServer, method: str, target: str) -> None:
    answer = server.ask(method, target, "1")
    assert (answer.status, answer.json) == (401, {"error": "Permission denied"})


@pytest.mark.parametrize("target", PLACES)
def test_an_administrator_is_told_that_it_is_not_there(server: LiveServer, target: str) -> None:
    answer = server.ask("GET", target, headers=OWNER)
    assert answer.status == 404
    assert answer.json["detail"].startswith(target)


def test_outside_development_mode_there_is_no_owner(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", dev=False)
    with live_server(tmp_path, settings=settings) as server:
        answer = server.ask("GET", PLACES[0], headers=OWNER)
        assert (answer.status, answer.json) == (401, {"error": "Could not parse auth token."})
