"""The scenarios of tests/spec/scenarios, played with the unmodified npm package `firebase`.

In Node with both of its APIs; some again in a browser that knows no websockets.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser

from tests.end_to_end.sdk_page import page_server, sdk_page
from tests.server_process import ServerProcess

FOLDER = Path(__file__).parent.parent / "spec" / "scenarios"
OF_PROCESSES = "processes"  # scenarios of processes that are killed: test_scenarios_of_processes.py
OF_THE_WIRE = "wire"  # what is said without an SDK: test_scenarios_of_the_wire.py
FILES = sorted({path.stem for path in FOLDER.glob("*.json")} - {OF_PROCESSES, OF_THE_WIRE})
ROWS = range(1, 67)  # of the tables 12.1 to 12.4 of the protocol
ROWS_OF_SCRIPTS = {52}  # lost_transactions.test.mjs


def scenarios_of(name: str) -> list[dict[str, Any]]:
    scenarios = json.loads((FOLDER / f"{name}.json").read_text())["scenarios"]
    assert isinstance(scenarios, list)
    return scenarios


@pytest.mark.parametrize("name", FILES)
def test_in_node(server: ServerProcess, run_node: Callable[..., str], name: str) -> None:
    run_node(server, "scenarios/run.mjs", str(FOLDER / f"{name}.json"))


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with page_server() as served:
        yield served


def test_in_a_browser_without_websockets(
    browser: Browser, origin: str, server: ServerProcess
) -> None:
    chosen = [each for name in FILES for each in scenarios_of(name) if each.get("browser")]
    assert len(chosen) >= 20
    with sdk_page(browser, origin, "no websockets") as page:
        page.page.expose_function("administer", administer)
        assert page.call("scenarios/page.mjs", "played", server.url, chosen) == []
        assert page.errors == []
        assert page.uses(".ws") == 0
        assert page.uses(".lp") > len(chosen)


def administer(method: str, url: str, body: str | None = None) -> str:
    """Ask the server what it does not let pages ask; return the text of a refusal, or ""."""
    answer = httpx.request(method, url, content=body, headers={"Authorization": "Bearer owner"})
    return "" if answer.is_success else answer.text


def test_a_transaction_that_always_loses_gives_up(
    server: ServerProcess, run_node: Callable[..., str]
) -> None:
    run_node(server, "--test", "scenarios/lost_transactions.test.mjs")


def test_the_scenarios_are_many_and_each_has_a_name_of_its_own() -> None:
    every = [each["name"] for path in FOLDER.glob("*.json") for each in scenarios_of(path.stem)]
    assert len(every) >= 120
    assert len(set(every)) == len(every)


def test_every_row_of_the_protocols_tables_has_a_scenario() -> None:
    every = [each for path in FOLDER.glob("*.json") for each in scenarios_of(path.stem)]
    rows = {row for each in every for row in each.get("rows", ())} | ROWS_OF_SCRIPTS
    assert rows == set(ROWS)
