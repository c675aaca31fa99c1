"""Measure REST: long reads and large writes beside those who listen, and small reads."""

import http.client
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from statistics import median
from typing import Self
from urllib.request import Request, urlopen

from benchmarks.measure import Row, durations, rates
from benchmarks.server import RunningServer, cpu_seconds_of, upgraded_socket, ws_frame
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value

RULES = '{"rules": {".read": true, ".write": true}}'
MESSAGE = {"author": "mchen", "text": "See you at the lab, then.", "at": 1_760_000_000_000}
LISTENERS = 500
WRITES_PER_SECOND = 50
SECONDS = 10.0
SILENCE_SECONDS = 3.0  # after which nothing more is on its way
RECORDS = 200_000
RECORDS_AT_ONCE = 10_000
TEXT = "Minutes of the meeting, with a line for everybody who was there. " * 14
LARGE_WRITE_RECORDS = 100_000
SMALL = "/rooms/one.json"
ANSWERS_PER_SECOND = 200
PAGES = "without the pages of files that LMDB maps"
WRK_SECONDS = 4
WRK_ROUNDS = 5
WRK_CONNECTIONS = 32


def long_reads(folder: FilePath) -> list[Row]:
    """Measure how soon 500 hear of writes while 200 MB are read again and again."""
    size_mb = _fill(folder / "data" / "default") / 1e6
    with RunningServer(folder, RULES) as server:
        listeners = Latencies(server)
        listeners.measure(1.0)
        alone = listeners.measure(SECONDS)
        before = server.anonymous_mib()
        reads = Beside(lambda: _read_all(server))
        reading = listeners.measure(SECONDS, reads.is_over_after(SECONDS))
        listeners.close()
    remark = f"{reads.count} reads of {size_mb:.0f} MB meanwhile; the floor: without them"
    rows = [
        durations(f"delivery to 500 beside long reads, {name}", times, remark)
        for name, times in zip(("median", "p99"), zip(reading, alone, strict=True), strict=True)
    ]
    growth = listeners.most_mib - before
    return [*rows, Row("memory that long reads take", f"{growth:.0f} MiB", remark=PAGES)]


def large_writes(folder: FilePath) -> list[Row]:
    """Measure how soon small reads are answered while large values are written."""
    body = json.dumps(_records(0, LARGE_WRITE_RECORDS)).encode()
    with RunningServer(folder, RULES) as server:
        _put(server, json.dumps(MESSAGE).encode(), SMALL)
        alone = _answer_times(server, Beside(lambda: time.sleep(SECONDS)).is_over_after(0.1))
        writes = Beside(lambda: _put(server, body))
        writing = _answer_times(server, writes.is_over_after(SECONDS))
    remark = f"{writes.count} PUTs of {len(body) / 1e6:.0f} MB meanwhile; the floor: without them"
    return [
        durations(f"small GET beside large writes, {name}", times, remark)
        for name, times in zip(
            ("median", "p99", "longest"), zip(writing, alone, strict=True), strict=True
        )
    ]


class Beside:
    """Something done again and again on a thread until a time is over."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self.count = 0

    def is_over_after(self, seconds: float) -> Callable[[], bool]:
        """Begin; return what tells whether the last of it is done."""
        end = time.monotonic() + seconds

        def run() -> None:
            while time.monotonic() < end:
                self._action()
                self.count += 1

        thread = threading.Thread(target=run)
        thread.start()
        return lambda: not thread.is_alive()


class Latencies:
    """Sockets that listen to a place, and one that writes there at a steady pace."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._selector = selectors.DefaultSelector()
        self._heard: dict[socket.socket, int] = {}
        self._sent: list[float] = []
        self._late: list[float] = []
        self.most_mib = 0.0
        for _ in range(LISTENERS):
            client = upgraded_socket(server.port)
            _ask(client, {"r": 1, "a": "q", "b": {"p": "/hot", "h": ""}})
            heard = b""
            while b'"r":1,"b":{"s":"ok"' not in heard:
                heard += client.recv(1 << 16)
            self._selector.register(client, selectors.EVENT_READ)
            self._heard[client] = 0
        self._writer = upgraded_socket(server.port)
        self._selector.register(self._writer, selectors.EVENT_READ)

    def measure(
        self, seconds: float, is_over: Callable[[], bool] = lambda: True
    ) -> tuple[float, float]:
        """Write for so long, and on until something is over.

        Returns the median and the 99th percentile of the seconds from a write until one of the
        listeners has heard of it.
        """
        self._late = []
        self.most_mib = 0.0
        begun = time.perf_counter()
        number = 0
        while (passed := time.perf_counter() - begun) < seconds or not is_over():
            if passed >= number / WRITES_PER_SECOND:
                number += 1
                self._write()
            self._hear(number / WRITES_PER_SECOND - passed)
            if number % 5 == 0:
                self.most_mib = max(self.most_mib, self._server.anonymous_mib())
        while any(count < len(self._sent) for count in self._heard.values()):
            assert self._hear(SILENCE_SECONDS), "a delivery is missing"
        late = sorted(self._late)
        return median(late), late[len(late) * 99 // 100]

    def close(self) -> None:
        for client in (*self._heard, self._writer):
            client.close()
        self._selector.close()

    def _write(self) -> None:
        self._sent.append(time.perf_counter())
        number = len(self._sent)
        body = {"p": f"/hot/{number % 100}", "d": {**MESSAGE, "number": number}}
        _ask(self._writer, {"r": number, "a": "p", "b": body})

    def _hear(self, seconds: float) -> bool:
        ready = self._selector.select(max(0.0, seconds))
        for key, _ in ready:
            assert isinstance(key.fileobj, socket.socket)
            data = key.fileobj.recv(1 << 20)
            assert data, "the server closed a connection"
            if key.fileobj is self._writer:
                continue
            now, heard = time.perf_counter(), self._heard[key.fileobj]
            told = data.count(b'"a":"d"')
            self._late += [now - sent for sent in self._sent[heard : heard + told]]
            self._heard[key.fileobj] = heard + told
        return bool(ready)


def small_reads(folder: FilePath) -> list[Row]:
    """Measure small GETs for each CPU-second of the server, beside an application of one answer."""
    rows = []
    with RunningServer(folder, RULES) as server:
        _put(server, json.dumps(MESSAGE).encode(), SMALL)
        for name, target in (("a record", SMALL), ("a leaf", "/rooms/one/author.json")):
            with Bare.like(server, target) as bare:
                ours, floor = _in_turns(server, bare, target)
            remark = f"a CPU-second of the server; {WRK_CONNECTIONS} connections; floor: bare ASGI"
            rows.append(rates(f"GET {name}", 1, "requests", (1 / ours, 1 / floor), remark))
    return rows


@dataclass
class Bare:
    """uvicorn with an application that knows one answer, in a process of its own."""

    process: "subprocess.Popen[bytes]"
    port: int

    @classmethod
    def like(cls, server: RunningServer, target: str) -> "Bare":
        """Start one that answers as a server does at a target."""
        with urlopen(f"http://127.0.0.1:{server.port}{target}") as answer:
            headers = [each for each in answer.getheaders() if each[0].lower() != "date"]
            told = {"headers": headers, "body": answer.read().decode()}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "uvicorn", "benchmarks.bare:app", "--port", str(port)]
        command += ["--no-access-log", "--no-server-header", "--no-proxy-headers"]
        command += ["--loop", "uvloop", "--http", "httptools", "--log-level", "warning"]
        settings = {**os.environ, "BARE_ANSWER": json.dumps(told)}
        return cls(subprocess.Popen(command, env=settings), port)

    def __enter__(self) -> Self:
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def cpu_seconds(self) -> float:
        """Return the CPU time the process has used."""
        return cpu_seconds_of(self.process.pid)


def _in_turns(server: RunningServer, bare: Bare, target: str) -> tuple[float, float]:
    """Return the requests for each CPU-second of both, run alternately."""
    pairs = [
        (_wrk(server.port, target, server.cpu_seconds), _wrk(bare.port, target, bare.cpu_seconds))
        for _ in range(WRK_ROUNDS)
    ]
    return median(ours for ours, _ in pairs), median(floor for _, floor in pairs)


def _wrk(port: int, target: str, cpu_seconds: Callable[[], float]) -> float:
    command = ["wrk", "-t1", f"-c{WRK_CONNECTIONS}", f"-d{WRK_SECONDS}s"]
    begun = cpu_seconds()
    done = subprocess.run(
        [*command, f"http://127.0.0.1:{port}{target}"], capture_output=True, text=True, check=True
    )
    spent = cpu_seconds() - begun
    found = re.search(r"(\d+) requests in", done.stdout)
    assert found is not None, done.stdout
    assert "Non-2xx" not in done.stdout, done.stdout
    return int(found[1]) / spent


def _fill(folder: FilePath) -> int:
    """Put records into a new store; return the bytes of their JSON."""
    store = Store.open(folder, DEFAULT_LIMITS, fsync=False)
    size = 0
    for start in range(0, RECORDS, RECORDS_AT_ONCE):
        records = _records(start, start + RECORDS_AT_ONCE)
        size += len(json.dumps(records, separators=(",", ":")))
        changes = tuple((Path(("records", key)), value) for key, value in records.items())
        with store.transaction() as transaction:
            transaction.apply(Commit(transaction.revision + 1, 0, Patch(changes), None, None))
            transaction.commit()
    store.close()
    return size


def _records(start: int, end: int) -> dict[str, Value]:
    return {
        f"r{number:07d}": {"author": "mchen", "number": number, "text": TEXT}
        for number in range(start, end)
    }


def _read_all(server: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/records.json")
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    while answer.read(1 << 20):
        pass
    connection.close()


def _answer_times(server: RunningServer, is_over: Callable[[], bool]) -> tuple[float, float, float]:
    """Ask for something small until something is over; median, 99th percentile and longest."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    seconds = []
    while not is_over():
        begun = time.perf_counter()
        connection.request("GET", SMALL)
        connection.getresponse().read()
        seconds.append(time.perf_counter() - begun)
        time.sleep(1 / ANSWERS_PER_SECOND)
    connection.close()
    seconds.sort()
    return median(seconds), seconds[len(seconds) * 99 // 100], seconds[-1]


def _put(server: RunningServer, body: bytes, target: str = "/large.json") -> None:
    url = f"http://127.0.0.1:{server.port}{target}?print=silent"
    with urlopen(Request(url, body, method="PUT")) as answer:
        assert answer.status == 204, answer.status


def _ask(client: socket.socket, data: dict[str, object]) -> None:
    client.sendall(ws_frame(json.dumps({"t": "d", "d": data}).encode()))
