"""A server of our own to measure, and a client that costs next to nothing itself."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path as FilePath
from types import TracebackType
from typing import Any, Self

import jwt

SECRET = "a secret that only this benchmark's servers know"
START_SECONDS = 20.0


def token() -> str:
    """Return a client's token for the next hour."""
    now = int(time.time())
    return jwt.encode({"sub": "mchen", "iat": now, "exp": now + 3600}, SECRET, "HS256")


class RunningServer:
    """`treedb serve` in a process of its own, with rules."""

    def __init__(self, folder: FilePath, rules: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rules.json").write_text(rules)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "treedb", "serve", "--port", str(self.port)]
        command += ["--data", str(folder / "data"), "--rules", str(folder / "rules.json")]
        settings = {**os.environ, "TREEDB_AUTH_SECRET": SECRET}
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=settings)

    def __enter__(self) -> Self:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                assert time.monotonic() < end, "the server does not start"
                time.sleep(0.05)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait()

    def cpu_seconds(self) -> float:
        """Return the CPU time the process has used."""
        return cpu_seconds_of(self._process.pid)

    def anonymous_mib(self) -> float:
        """Return the memory that is the process's own: pages of files mapped by LMDB are not."""
        for line in FilePath(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("Linux tells RssAnon")


class Pipeline:
    """One websocket that is signed in and sends many puts without waiting."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._socket = upgraded_socket(server.port)
        self._number = 0
        self._ask_all("auth", [{"cred": token()}])

    def write(self, path: str, value: Any, count: int) -> float:
        """Put a value at `count` new places; return the CPU seconds the server took for it."""
        start = self._server.cpu_seconds()
        first = self._number
        self._ask_all("p", [{"p": path % (first + each), "d": value} for each in range(count)])
        return self._server.cpu_seconds() - start

    def write_in_turn(self, path: str, value: Any, count: int) -> float:
        """Put a value at `count` new places, each after the last's answer; return the seconds."""
        start = time.perf_counter()
        for _ in range(count):
            self._ask_all("p", [{"p": path % self._number, "d": value}])
        return time.perf_counter() - start

    def _ask_all(self, action: str, bodies: list[Any]) -> None:
        frames = []
        for body in bodies:
            self._number += 1
            message = {"t": "d", "d": {"r": self._number, "a": action, "b": body}}
            frames.append(ws_frame(json.dumps(message).encode()))
        self._socket.sendall(b"".join(frames))
        last = b'"r":%d,"b":{"s":"ok"' % self._number
        heard = b""
        while last not in heard:
            data = self._socket.recv(1 << 20)
            assert data, "the server closed the connection"
            assert b"permission_denied" not in data, "the benchmark's writes are allowed"
            heard = heard[-200:] + data


class RestClient:
    """One HTTP connection that PUTs one value after another."""

    def __init__(self, server: RunningServer) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port))
        self._token = token()
        self._count = 0

    def write_in_turn(self, path: str, value: Any, count: int) -> float:
        """Put a value at `count` new places, each after the last's answer; return the seconds."""
        body = json.dumps(value).encode()
        start = time.perf_counter()
        for _ in range(count):
            self._count += 1
            head = (
                f"PUT /{path % self._count}.json?print=silent HTTP/1.1\r\nHost: localhost\r\n"
                f"Authorization: Bearer {self._token}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            self._socket.sendall(head.encode() + body)
            assert self._socket.recv(1 << 16).startswith(b"HTTP/1.1 204"), "the write is allowed"
        return time.perf_counter() - start


def cpu_seconds_of(process_id: int) -> float:
    """Return the CPU time that a process has used."""
    fields = FilePath(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def upgraded_socket(port: int) -> socket.socket:
    """Return a socket that speaks the realtime protocol; the server's hello may still come."""
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(
        b"GET /.ws?v=5&ns=default HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    while b"101 " not in client.recv(1 << 16):
        pass
    return client


def ws_frame(payload: bytes) -> bytes:
    """Return a masked text frame whose mask is zero (RFC 6455, section 5.2)."""
    size = len(payload)
    head = (
        struct.pack("!BB", 0x81, 0x80 | size)
        if size < 126
        else struct.pack("!BBH", 0x81, 0xFE, size)
    )
    return head + bytes(4) + payload
