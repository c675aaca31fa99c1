"""Streams that are cut, whose clients come back with the id of the last event they got."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

import pytest

from tests.naive_tree import NaiveTree
from tests.server.event_client import Event, EventParser, EventStream
from tests.server.live_server import LiveServer, live_server
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.store.store import Store
from treedb.tree.bookmark import Bookmark
from treedb.tree.commit import Commit

ADMIN = {"Authorization": "Bearer owner"}
CUTS = 100
WRITERS = 3


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    shared.put("/.json", {"a": {"x": 1}})
    return shared


def heard_before(server: LiveServer, target: str = "/a.json") -> EventParser:
    """Return what a client keeps that has had its first event, and was cut then."""
    with EventStream(server.port, target) as stream:
        assert stream.told()[0] == "put"
        return stream.parser


# What was missed


def test_what_was_missed_comes_first_and_then_what_comes(server: LiveServer) -> None:
    parser = heard_before(server)
    server.put("/a/y.json", [1])
    server.put("/b.json", 1)
    server.ask("PATCH", "/.json", '{"a/x":null,"a/z":2,"b":3}')
    with EventStream(server.port, "/a.json", parser) as stream:
        assert stream.told() == ("put", {"path": "/y", "data": [1]})
        assert stream.told() == ("patch", {"path": "/", "data": {"x": None, "z": 2}})
        server.put("/a.json", 5)
        assert stream.told() == ("put", {"path": "/", "data": 5})


def test_a_client_that_missed_nothing_hears_that_it_is_there(server: LiveServer) -> None:
    parser = heard_before(server)
    before = parser.last_id
    server.put("/b.json", 1)
    with EventStream(server.port, "/a.json", parser) as stream:
        assert stream.told() == ("keep-alive", None)
        assert parser.last_id != before  # it moved on with the database
        server.put("/a/x.json", 2)
        assert stream.told() == ("put", {"path": "/x", "data": 2})


@pytest.mark.parametrize(
    "last_id", ["", "x", "1", "0-1", "1-1", "99999999-1", "-1-5", "1" * 30 + "-1", "é", "a: b"]
)
def test_an_id_that_is_none_of_ours_gets_the_value(server: LiveServer, last_id: str) -> None:
    headers = {"Last-Event-ID": last_id}
    with EventStream(server.port, "/a.json", headers=headers) as stream:
        assert stream.told() == ("put", {"path": "/", "data": {"x": 1}})


def test_a_query_gets_its_window_unless_nothing_happened(server: LiveServer) -> None:
    target = "/a.json?orderBy=%22$key%22&limitToLast=1"
    parser = heard_before(server, target)
    server.put("/b.json", 1)
    with EventStream(server.port, target, parser) as stream:
        assert stream.told() == ("keep-alive", None)
    server.put("/a/y.json", 2)
    with EventStream(server.port, target, parser) as stream:
        assert stream.told() == ("put", {"path": "/", "data": {"y": 2}})


def test_what_the_journal_has_lost_is_not_resumed(tmp_path: FilePath) -> None:
    limits = replace(DEFAULT_LIMITS, journal_entries=4)
    with live_server(tmp_path, limits=limits) as server:
        parser = heard_before(server)
        for number in range(8):
            server.put("/a/x.json", number)
        with EventStream(server.port, "/a.json", parser) as stream:
            assert stream.told() == ("put", {"path": "/", "data": {"x": 7}})


def test_what_stood_there_before_a_permission_is_not_told(tmp_path: FilePath) -> None:
    rules = '{"rules":{"a":{".read":"root.child(\'is_open\').val() === true",".write":true}}}'
    with live_server(tmp_path) as server:
        assert server.ask("PUT", "/.settings/rules.json", rules, headers=ADMIN).status == 200
        server.ask("PUT", "/is_open.json", "true", headers=ADMIN)
        parser = heard_before(server)
        server.ask("PUT", "/is_open.json", "false", headers=ADMIN)
        with EventStream(server.port, "/a.json", parser) as stream:
            assert stream.status == 401
        server.put("/a.json", "secret")
        server.put("/a.json", "known to all")
        server.ask("PUT", "/is_open.json", "true", headers=ADMIN)
        with EventStream(server.port, "/a.json", parser) as stream:
            assert stream.told() == ("put", {"path": "/", "data": "known to all"})


def test_a_slow_client_is_cut_off_and_misses_nothing(tmp_path: FilePath) -> None:
    limits = replace(DEFAULT_LIMITS, outbox_bytes=100_000)
    with live_server(tmp_path, limits=limits) as server:
        with EventStream(server.port, "/a.json", receive_bytes=4096) as stream:
            assert stream.told() == ("put", {"path": "/", "data": None})
            for number in range(150):
                server.put(f"/a/{number}.json", f"{number}" + "x" * 50_000)
            heard = paths_until(stream, 150)
            parser = stream.parser
        assert 0 < len(heard) < 150
        with EventStream(server.port, "/a.json", parser) as stream:
            heard += paths_until(stream, 150 - len(heard))
        assert heard == [f"/{number}" for number in range(150)]


def paths_until(stream: EventStream, most: int) -> list[str]:
    heard: list[str] = []
    while len(heard) < most and (event := stream.next()) is not None:
        heard.append(event.json["path"])
    return heard


# Cut at random


@dataclass
class Copy:
    """What a client keeps of a place that it hears of through a stream that is cut again and again."""

    target: str
    parser: EventParser = field(default_factory=EventParser)
    heard: list[Event] = field(default_factory=list)
    tree: NaiveTree = field(default_factory=NaiveTree)

    def listen(self, stream: EventStream, most_bytes: int) -> None:
        """Hear what comes, up to so many bytes or until somebody cuts the connection."""
        while (most := most_bytes - stream.bytes_read) > 0:
            events = stream.read(most)
            if events is None:
                return
            for event in events:
                self.hear(event)

    def hear(self, event: Event) -> None:
        if event.name == "keep-alive":
            return
        self.heard.append(event)
        place = tuple(key for key in event.json["path"].split("/") if key)
        if event.name == "patch":
            changes = {tuple(key.split("/")): each for key, each in event.json["data"].items()}
            self.tree.update(place, changes)
        else:
            self.tree.set(place, event.json["data"])

    @property
    def revisions(self) -> list[int]:
        bookmarks = [Bookmark.parse(event.last_id) for event in self.heard]
        return [each.revision for each in bookmarks if each is not None]


def write_at_random(server: LiveServer, seed: int) -> None:
    """Write at the place /r/a, above it, below it and beside it."""
    choice = random.Random(seed)
    for _ in range(choice.randint(1, 4)):
        number, key = choice.randrange(10**9), choice.choice("bcde")
        with_priority = {".value": number, ".priority": number}
        method, target, body = choice.choice(
            [
                ("PUT", f"/r/a/{key}.json", number),
                ("PUT", f"/r/a/{key}/x.json", {"é": f"{number}\r\n\n"}),
                ("PUT", f"/r/a/{key}.json", with_priority),
                ("DELETE", f"/r/a/{key}.json", None),
                ("PATCH", "/r/a.json", {"b": number, f"c/{key}": with_priority, "d": None}),
                ("PATCH", "/.json", {f"r/a/{key}/y": number, "r/other": number}),
                ("PUT", "/r/a.json", {"b": {"x": "x" * 300}, key: number}),
                ("PUT", "/r.json", {"a": {key: with_priority}, "other": 1}),
                ("DELETE", "/r/a.json", None),
                ("PUT", "/r/other.json", number),
            ]
        )
        answer = server.ask(method, target, None if method == "DELETE" else json.dumps(body))
        assert answer.status == 200, answer


def test_a_client_cut_at_random_hears_every_change_once(tmp_path: FilePath, seed: int) -> None:
    choice = random.Random(seed)
    copies = [Copy("/r/a.json"), Copy("/r/a.json?format=export")]
    with live_server(tmp_path) as server, ThreadPoolExecutor(WRITERS + len(copies)) as pool:
        for copy in copies:
            with EventStream(server.port, copy.target) as stream:
                copy.parser = stream.parser
                copy.hear(first_of(stream))
        for _ in range(CUTS):
            run_and_cut(server, pool, copies, choice)
        for end, copy in enumerate(copies):
            with EventStream(server.port, copy.target, copy.parser) as stream:
                server.put("/r/a/end.json", end)
                while copy.heard[-1].json != {"path": "/end", "data": end}:
                    copy.hear(first_of(stream))
            assert copy.tree.get(()) == server.get(copy.target)
    expected = revisions_at(tmp_path / "data" / "default", Path(("r", "a")))
    for copy in copies:
        assert copy.revisions == [0, *expected[: len(copy.revisions) - 1]]
    assert len(copies[-1].revisions) == 1 + len(expected)


def first_of(stream: EventStream) -> Event:
    event = stream.next()
    assert event is not None
    return event


def run_and_cut(
    server: LiveServer, pool: ThreadPoolExecutor, copies: list[Copy], choice: random.Random
) -> None:
    """Let clients come back while others write, and cut them off after some bytes of the stream."""
    streams = [EventStream(server.port, copy.target, copy.parser) for copy in copies]
    writing = [pool.submit(write_at_random, server, choice.getrandbits(32)) for _ in range(WRITERS)]
    most_bytes = [choice.randint(1, 3000) for _ in copies]
    every = zip(copies, streams, most_bytes, strict=True)
    listening = [pool.submit(copy.listen, stream, most) for copy, stream, most in every]
    for each in writing:
        each.result()
    for stream in streams:
        stream.cut()
    for each in listening:
        each.result()
    for stream in streams:
        stream.close()


def revisions_at(folder: FilePath, place: Path) -> list[int]:
    """Return the revisions in a journal that changed something at, above or below a place."""
    store = Store.open(folder, DEFAULT_LIMITS)
    with store.snapshot() as snapshot:
        found = [each.revision for each in snapshot.journal.after(0) if _touches(each, place)]
    store.close()
    return found


def _touches(commit: Commit, place: Path) -> bool:
    paths = (path for path, _ in commit.patch.changes)
    return any(path.contains(place) or place.contains(path) for path in paths)
