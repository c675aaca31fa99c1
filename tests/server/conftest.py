"""What tests of several files ask for."""

from collections.abc import Iterator

import pytest

from tests.server.live_server import LiveServer, live_server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Give a server in development mode to all tests of a file."""
    with live_server(tmp_path_factory.mktemp("shared")) as server:
        yield server
