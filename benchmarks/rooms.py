"""Many who watch the end of a list: what a write costs the server, by who watches."""

import json
import selectors
import socket
import time
from pathlib import Path as FilePath
from statistics import median
from typing import Any, Self

from benchmarks.measure import Row, durations
from benchmarks.server import Pipeline, RunningServer, upgraded_socket, ws_frame
from treedb.paths.path import Path
from treedb.sync.delivery import Delivery, Watch
from treedb.sync.hub import Hub
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import Bound, by_child

RULES = '{"rules": {".read": true, ".write": true}}'
MESSAGE = {"author": "mchen", "text": "See you at the lab, then.", "at": 1_760_000_000_000}
LISTENERS = 1_000
WRITES = 200
RUNS = 5
BIG_CHARS = 60_000  # what the stuck client is told each time
LAST_50 = {"l": 50, "vf": "r"}


class Listeners:
    """Sockets that listen and count what they are told."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._selector = selectors.DefaultSelector()
        self._told: dict[socket.socket, int] = {}

    def listen(self, count: int, place: str, query: dict[str, Any] | None) -> Self:
        """Let so many more clients listen; `place` takes each one's number."""
        for number in range(count):
            asked = {} if query is None else {"q": query, "t": number + 1}
            body = {"p": place.format(number), "h": "", **asked}
            message = {"t": "d", "d": {"r": 1, "a": "q", "b": body}}
            client = upgraded_socket(self._server.port)
            client.sendall(ws_frame(json.dumps(message).encode()))
            heard = b""
            while b'"r":1,"b":{"s":"ok"' not in heard:
                heard += client.recv(1 << 16)
            self._selector.register(client, selectors.EVENT_READ)
            self._told[client] = 0
        return self

    def hear(self, count: int, listeners: int) -> None:
        """Wait until so many listeners were told so much more; nobody else may be told."""
        waiting = listeners * count
        while waiting:
            for key, _ in self._selector.select(30):
                assert isinstance(key.fileobj, socket.socket)
                data = key.fileobj.recv(1 << 20)
                assert data, "the server closed a listener"
                waiting -= data.count(b'"a":"d"') + data.count(b'"a":"m"')
        assert waiting == 0, "somebody was told too much"

    def close(self) -> None:
        for client in self._told:
            client.close()
        self._selector.close()


def hot_room(folder: FilePath) -> list[Row]:
    """Measure the server's CPU time of a write to a room that 1,000 watch."""
    with RunningServer(folder, RULES) as server:
        writer = Pipeline(server)
        writer.write("/rooms/hot/%d", MESSAGE, 100)
        plain = _costs(server, writer, [(LISTENERS, "/rooms/hot", None)])
        windows = _costs(server, writer, [(LISTENERS, "/rooms/hot", LAST_50)])
        quiet = (LISTENERS, "/rooms/quiet-{}", LAST_50)
        both = _costs(server, writer, [(LISTENERS, "/rooms/hot", LAST_50), quiet])
    return [
        durations(
            "write to a hot room, 1,000 on its last 50",
            (windows, plain),
            "a CPU-time of the server; the floor: 1,000 on all of it",
        ),
        durations(
            "the same with 1,000 more on quiet rooms",
            (both, windows),
            "the floor: without them",
        ),
    ]


def _costs(
    server: RunningServer, writer: Pipeline, asked: list[tuple[int, str, dict[str, Any] | None]]
) -> float:
    listeners = Listeners(server)
    for count, place, query in asked:
        listeners.listen(count, place, query)
    hot = asked[0][0]
    costs = []
    for _ in range(RUNS):
        start = server.cpu_seconds()
        writer.write("/rooms/hot/%d", MESSAGE, WRITES)
        listeners.hear(WRITES, hot)
        costs.append((server.cpu_seconds() - start) / WRITES)
    listeners.close()
    return median(costs)


def stuck_client(folder: FilePath) -> list[Row]:
    """Measure how soon 1,000 hear of a write beside a client that has stopped to read."""
    with RunningServer(folder, RULES) as server:
        writer = Pipeline(server)
        listeners = Listeners(server).listen(LISTENERS, "/rooms/hot", None)
        without = _latencies(writer, listeners)
        stuck = upgraded_socket(server.port)
        ask = {"t": "d", "d": {"r": 1, "a": "q", "b": {"p": "/big", "h": ""}}}
        stuck.sendall(ws_frame(json.dumps(ask).encode()))
        beside = _latencies(writer, listeners)
        stuck.close()
        listeners.close()
    remark = "from the write until the last has heard; the floor: without it"
    return [
        durations(f"{name} beside a stuck client", (ours, floor), remark)
        for name, ours, floor in zip(("median", "p99"), beside, without, strict=True)
    ]


def _latencies(writer: Pipeline, listeners: Listeners) -> tuple[float, float]:
    seconds = []
    for _ in range(WRITES):
        writer.write("/big/%d", "x" * BIG_CHARS, 1)
        start = time.perf_counter()
        writer.write("/rooms/hot/%d", MESSAGE, 1)
        listeners.hear(1, LISTENERS)
        seconds.append(time.perf_counter() - start)
    seconds.sort()
    return median(seconds), seconds[len(seconds) * 99 // 100]


class _Deaf:
    """A listener in this process."""

    def deliver(self, delivery: Delivery, tag: int | None) -> None: ...

    def cancel(self, watch: Watch) -> None: ...


def many_windows() -> list[Row]:
    """Measure what the hub takes for a commit that concerns one window, of many and of ten."""
    times = _seconds_a_commit(1_000), _seconds_a_commit(10)
    remark = "the hub alone; the floor: 10 windows"
    return [durations("a commit that concerns 1 of 1,000 windows", times, remark)]


def _seconds_a_commit(windows: int) -> float:
    hub, place = Hub(), Path(("list",))
    for number in range(windows):
        owner = Bound(f"u{number}")
        watch = Watch(place, Query(by_child("owner"), owner, owner, limit=50), number)
        hub.join(watch, _Deaf(), 0)
        view = hub.view(watch)
        assert view is not None, "it was joined"
        view.begin([], 0)
        hub.refresh(view)
    commits = [
        Commit(
            number,
            0,
            Patch(((place.child(str(number)), {"owner": f"u{number % windows}"}),)),
            None,
            None,
        )
        for number in range(1, 2_001)
    ]
    start = time.perf_counter()
    for commit in commits:
        for view, changes in hub.touched(commit):
            view.learn(changes, commit.revision)
            hub.refresh(view)
    return (time.perf_counter() - start) / len(commits)
