"""Our JavaScript client, in Node, as client of a treedb server."""

from collections.abc import Callable
from pathlib import Path

from tests.server_process import ServerProcess

SCENARIOS = Path(__file__).parent.parent.parent / "clients" / "js" / "test-server"


def test_its_scenarios_hold_against_a_server(
    server: ServerProcess, run_node: Callable[..., str]
) -> None:
    files = sorted(str(path) for path in SCENARIOS.glob("*.test.js"))
    assert files
    run_node(server, "--test", *files)
