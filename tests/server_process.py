"""A treedb server as a real process on a free port, for tests that want one."""

import http.client
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HOST = "127.0.0.1"
START_SECONDS = 30.0
STOP_SECONDS = 15.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port


def wait_until(fact: Callable[[], bool], seconds: float, what: str) -> None:
    """Look until the fact holds; it is an error when it does not within the time given."""
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            message = f"not within {seconds} s: {what}"
            raise TimeoutError(message)
        time.sleep(0.01)


class ServerProcess:
    """`python -m treedb serve --dev` with a data folder and a log of its own.

    It may be killed and started again: port, folder and log stay the same.
    """

    def __init__(self, folder: Path, arguments: tuple[str, ...] = ()) -> None:
        self.port = free_port()
        self.data = folder / "data"
        self.log_path = folder / "server.log"
        self.arguments = arguments
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def log(self) -> str:
        return self.log_path.read_text() if self.log_path.exists() else ""

    def start(self) -> None:
        assert self.process is None
        command = [sys.executable, "-m", "treedb", "serve", "--dev", "--host", HOST]
        command += ["--port", str(self.port), "--data", str(self.data), *self.arguments]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self.answers, START_SECONDS, f"an answer of the server, see {self.log_path}")

    def answers(self) -> bool:
        assert self.process is not None
        code = self.process.poll()
        assert code is None, f"the server ended with {code}; its log:\n{self.log}"
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/.health")
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """End it as a crash does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def kill_amid(self, work: Sequence[Callable[[], None]], seconds: float) -> None:
        """Let everybody work for a while, each in a thread, and kill it amid that."""
        threads = [threading.Thread(target=each) for each in work]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.kill()
        for thread in threads:
            thread.join()

    def stop(self) -> None:
        """Ask it to end, and hold it to a clean end."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.terminate()
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        assert code == 0, f"the server ended with {code}; its log:\n{self.log}"

    def check_log(self) -> None:
        """Hold it to a log without surprises."""
        assert "Traceback" not in self.log, self.log


StartServer = Callable[..., ServerProcess]  # takes further arguments of `serve`
