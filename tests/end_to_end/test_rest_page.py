"""The page about REST with curl: its stream tells what the page shows.

Its other commands are run in tests/test_docs.py; a stream does not end, so it is run here.
"""

import re
import shlex
import subprocess
import threading
from pathlib import Path

from tests.server_process import ServerProcess
from tests.test_docs import ADDRESS, as_pattern, page, run, shown_in

LONGEST_SECONDS = 30
PAGE = page("docs/rest.md")
[(COMMAND, SHOWN)] = re.findall(r"^```text\n\$ (.*)\n((?:.*\n)*?)```$", PAGE, re.MULTILINE)


def test_the_stream_tells_what_the_page_shows(server: ServerProcess, tmp_path: Path) -> None:
    before, _, after = PAGE.partition(f"$ {COMMAND}\n")
    for shown in shown_in(before.removesuffix("```text\n")):
        run(shown.command, server, tmp_path)
    name, *arguments = shlex.split(COMMAND.replace(ADDRESS, server.address))
    stream = subprocess.Popen([name, "--silent", *arguments], stdout=subprocess.PIPE, text=True)
    assert stream.stdout is not None
    end = threading.Timer(LONGEST_SECONDS, stream.kill)
    end.start()
    try:
        told = ""
        for events in (1, 2):
            while told.count("\n\n") < events:
                line = stream.stdout.readline()
                assert line, told
                told += line
            if events == 1:
                run(shown_in(after)[0].command, server, tmp_path)
    finally:
        end.cancel()
        stream.kill()
        stream.stdout.close()
        stream.wait()
    assert re.fullmatch(as_pattern(SHOWN), told.strip(), re.DOTALL), told
