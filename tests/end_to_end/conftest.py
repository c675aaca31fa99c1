"""What the end-to-end tests share: Node with the official SDKs, a browser, a place for pictures."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.server_process import ServerProcess

HERE = Path(__file__).parent
SCRIPTS = HERE / "js"
ARTEFACTS = HERE.parent.parent / "build" / "artefacts"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_ARGUMENTS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    # A browser under test talks to the server under test and to nobody else.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("end_to_end")


@pytest.fixture(scope="session")
def scripts() -> Path:
    """Return the folder of the Node scripts, its npm packages installed."""
    assert (SCRIPTS / "node_modules" / "firebase").is_dir(), "run `make test` once: it runs npm ci"
    return SCRIPTS


@pytest.fixture(scope="session")
def node() -> str:
    found = shutil.which("node")
    assert found, "the end-to-end tests need Node 20 or newer"
    return found


@pytest.fixture
def run_node(node: str, scripts: Path) -> Callable[..., str]:
    """Run a Node script to its end against a server; return what it printed."""

    def run(server: ServerProcess, *arguments: str) -> str:
        ended = subprocess.run(
            [node, *arguments],
            cwd=scripts,
            env=node_environment(server),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout
        return ended.stdout

    return run


@pytest.fixture
def start_node(node: str, scripts: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Node scripts that run beside the test; they are ended after it."""
    started: list[subprocess.Popen[str]] = []

    def start(server: ServerProcess, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [node, *arguments],
            cwd=scripts,
            env=node_environment(server),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def node_environment(server: ServerProcess) -> dict[str, str]:
    return {**os.environ, "TREEDB_URL": server.url}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return the machine's own chromium, headless."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    assert path, "run `make test` once: it installs chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(BROWSER_ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Return the folder whose pictures stay after the run."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    return ARTEFACTS
