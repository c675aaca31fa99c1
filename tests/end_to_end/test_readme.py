"""The README's JavaScript runs as it stands there, and prints what it says."""

import re
import subprocess
import threading
from pathlib import Path

import pytest

from tests.server_process import ServerProcess

ROOT = Path(__file__).parent.parent.parent
LONGEST_SECONDS = 30
BLOCKS = re.findall(
    r"^```js\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
)


def lines_printed(node: str, folder: Path, source: str, count: int) -> list[str]:
    """Run a module that listens for ever until it has printed so many lines."""
    process = subprocess.Popen(
        [node, "--input-type=module"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    end = threading.Timer(LONGEST_SECONDS, process.kill)
    end.start()
    try:
        process.stdin.write(source)
        process.stdin.close()
        return [process.stdout.readline().strip() for _ in range(count)]
    finally:
        end.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


@pytest.mark.parametrize("block", BLOCKS, ids=["firebase", "own-client"])
def test_a_block_prints_what_the_readme_says(
    server: ServerProcess, node: str, scripts: Path, block: str
) -> None:
    folder = scripts if "firebase" in block else ROOT
    said = re.findall(r"^// prints (.*)$", block, re.MULTILINE)
    source = block.replace("127.0.0.1:9000", server.address)
    assert lines_printed(node, folder, source, len(said)) == said
