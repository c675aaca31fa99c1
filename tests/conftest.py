"""What every test shares: one seed that is always printed, and server processes."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import hypothesis
import pytest
from hypothesis import settings

from tests.server_process import ServerProcess, StartServer

settings.register_profile("house", print_blob=True, deadline=None)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="repeat the random tests of an earlier run")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("seed") is None:
        config.option.seed = random.SystemRandom().getrandbits(32)
    hypothesis.core.global_force_seed = config.getoption("seed")


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.getoption('seed')} (repeat with --seed)"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Return this run's seed, for random tests without hypothesis."""
    value = request.config.getoption("seed")
    assert isinstance(value, int)
    return value


@contextmanager
def _servers(folders: pytest.TempPathFactory) -> Iterator[StartServer]:
    started: list[ServerProcess] = []

    def start(*arguments: str) -> ServerProcess:
        server = ServerProcess(folders.mktemp("server"), arguments)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()
    for server in started:
        server.check_log()


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Start servers of this test's own; all are ended, and their logs looked at, after it."""
    with _servers(tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Return one server that all tests of a file share; each uses places of its own."""
    with _servers(tmp_path_factory) as start:
        yield start()
