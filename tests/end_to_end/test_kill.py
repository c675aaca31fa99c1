"""kill -9 while several clients write: nothing acknowledged is missing, nothing is half there."""

import http.client
import json
import random
from dataclasses import dataclass, field

from tests.server_process import HOST, ServerProcess, StartServer
from treedb.config import DEFAULT_LIMITS
from treedb.store.store import Store

ROUNDS = 50
WRITERS = 4
LIFE_SECONDS = (0.05, 0.3)
# A round in which the server died before its first answer tells nothing; few may be such.
EMPTY_ROUNDS = 5


@dataclass
class Writer:
    """One client: each write appends an item and raises `last`, in one update of two places."""

    name: str
    port: int
    acknowledged: int = 0
    connection: http.client.HTTPConnection = field(init=False)

    def run(self) -> None:
        self.connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
        try:
            while self.write(self.acknowledged + 1):
                self.acknowledged += 1
        except (OSError, http.client.HTTPException):
            return  # the server was killed: this write's outcome is unknown
        finally:
            self.connection.close()

    def write(self, number: int) -> bool:
        body = json.dumps({"last": number, f"items/{number}": f"item {number}"})
        self.connection.request("PATCH", f"/kill/{self.name}.json", body)
        answer = self.connection.getresponse()
        answer.read()
        assert answer.status == http.client.OK, answer.status
        return True

    def check(self, found: dict[str, object] | None) -> None:
        """Compare what a fresh server holds with what was acknowledged, and go on from there."""
        last = found["last"] if found else 0
        assert last in (self.acknowledged, self.acknowledged + 1), (self, last)
        assert isinstance(last, int)
        items = found["items"] if found else None
        expected = {str(number): f"item {number}" for number in range(1, last + 1)}
        assert as_object(items) == expected, self
        self.acknowledged = last


def as_object(value: object) -> dict[str, object]:
    """Undo the array form that plain JSON gives to whole-number keys."""
    if isinstance(value, list):
        return {str(index): each for index, each in enumerate(value) if each is not None}
    return value if isinstance(value, dict) else {}


def get(port: int, target: str) -> object:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    try:
        connection.request("GET", target)
        answer = connection.getresponse()
        assert answer.status == http.client.OK
        return json.loads(answer.read())
    finally:
        connection.close()


def revision(server: ServerProcess) -> int:
    """Open the killed server's environment as it was left, and read how far it got."""
    store = Store.open(server.data / "default", DEFAULT_LIMITS, fsync=True)
    try:
        with store.snapshot() as snapshot:
            return snapshot.revision
    finally:
        store.close()


def one_life(server: ServerProcess, writers: list[Writer], seconds: float) -> int:
    """Let the writers write until the server is killed; return how many writes it acknowledged."""
    before = sum(writer.acknowledged for writer in writers)
    server.kill_amid([writer.run for writer in writers], seconds)
    return sum(writer.acknowledged for writer in writers) - before


def test_nothing_acknowledged_is_lost_by_kill_9(start_server: StartServer, seed: int) -> None:
    print("seed:", seed)
    draw = random.Random(seed)
    server = start_server()
    writers = [Writer(f"w{number}", server.port) for number in range(WRITERS)]
    counts, revisions = [], [0]
    for _ in range(ROUNDS):
        counts.append(one_life(server, writers, draw.uniform(*LIFE_SECONDS)))
        revisions.append(revision(server))
        assert revisions[-1] >= revisions[-2] + counts[-1]
        server.start()
        tree = as_object(get(server.port, "/kill.json"))
        for writer in writers:
            found = tree.get(writer.name)
            assert found is None or isinstance(found, dict)
            writer.check(found)
    print("acknowledged in each round:", counts)
    assert sum(count == 0 for count in counts) <= EMPTY_ROUNDS
