"""Rules bring a mirror over data that disagrees; it comes to agree, written and killed meanwhile."""

import http.client
import json
import random
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from tests.server_process import ServerProcess, StartServer, wait_until
from treedb.cli.main import app
from treedb.config import DEFAULT_LIMITS
from treedb.store.kept_derived import KeptBackfill
from treedb.store.store import Store

USERS = 200
GROUPS = 50
WRITES = 40
OPEN = {"rules": {".read": True, ".write": True}}
MIRRORED = {
    "rules": {
        **OPEN["rules"],
        "users": {"$uid": {"groups": {"$gid": {".mirror": "/groups/$gid/members/$uid"}}}},
        "groups": {"$gid": {"members": {".count": "/groups/$gid/memberCount"}}},
    }
}
RULES = "/.settings/rules.json"
MIRRORS = "/.inspect/mirrors.json"

# The values at pairs, by user and group.
Pairs = dict[tuple[str, str], Any]


def ask(server: ServerProcess, method: str, target: str, body: object = None) -> Any:
    connection = http.client.HTTPConnection(server.address, timeout=60)
    try:
        connection.request(method, target, json.dumps(body), {"Authorization": "Bearer owner"})
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == http.client.OK, content[:500]
        return json.loads(content)
    finally:
        connection.close()


def command(server: ServerProcess, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--data", str(server.data)])


def tree_of(pairs: Pairs) -> dict[str, Any]:
    """Return the tree of pairs whose two sides agree, with the counts."""
    users: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    for (user, group), value in pairs.items():
        users.setdefault(user, {"groups": {}})["groups"][group] = value
        groups.setdefault(group, {"members": {}})["members"][user] = value
    for each in groups.values():
        each["memberCount"] = len(each["members"])
    return {"users": users, "groups": groups}


def disagreeing(draw: random.Random) -> tuple[Pairs, dict[str, Any]]:
    """Return what the users' side has, and a tree whose groups differ from it."""
    places = [(f"u{user}", f"g{group}") for user in range(USERS) for group in range(GROUPS)]
    pairs: Pairs = {place: True for place in places if draw.random() < 0.8}
    other = {place: draw.choice([True, 2]) for place in places if draw.random() < 0.5}
    groups = tree_of(other)["groups"]
    for each in groups.values():
        each["memberCount"] = draw.randrange(USERS)
    return pairs, {"users": tree_of(pairs)["users"], "groups": groups}


def write_some(server: ServerProcess, draw: random.Random, pairs: Pairs) -> None:
    """Write on either side; whatever was there, the pair that is written agrees afterwards."""
    for number in range(WRITES):
        user, group = f"u{draw.randrange(USERS)}", f"g{draw.randrange(GROUPS)}"
        here, there = f"/users/{user}/groups/{group}.json", f"/groups/{group}/members/{user}.json"
        if draw.random() < 0.2:
            ask(server, "DELETE", f"/users/{user}.json")
            for place in [place for place in pairs if place[0] == user]:
                del pairs[place]
            continue
        pairs[user, group] = draw.choice([None, {"since": number}])
        ask(server, "PUT", draw.choice([here, there]), pairs[user, group])
        if pairs[user, group] is None:
            del pairs[user, group]
        expected = pairs.get((user, group))
        assert [ask(server, "GET", side) for side in (here, there)] == [expected, expected]


def kept(server: ServerProcess) -> tuple[KeptBackfill, ...]:
    """Return what a server that was killed has left to be done."""
    store = Store.open(server.data / "default", DEFAULT_LIMITS)
    try:
        with store.snapshot() as snapshot:
            return snapshot.backfills()
    finally:
        store.close()


def is_under_way(server: ServerProcess) -> bool:
    report = ask(server, "GET", MIRRORS)
    return any(each["backfill"] for each in (*report["mirrors"], *report["counts"]))


def test_data_comes_to_agree_whatever_is_written_and_killed_meanwhile(
    start_server: StartServer, seed: int, tmp_path: Path
) -> None:
    print("seed:", seed)
    draw = random.Random(seed)
    server = start_server()
    ask(server, "PUT", RULES, OPEN)
    pairs, tree = disagreeing(draw)
    ask(server, "PUT", "/.json?print=pretty", tree)
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(MIRRORED))
    put = ("rules", "put", str(file), "--url", server.url)
    refused = command(server, *put)
    assert refused.exit_code == 1
    assert ask(server, "GET", RULES) == OPEN
    begun = command(server, *put, "--mirror-backfill", "source")
    assert begun.exit_code == 0, begun.output
    assert "brought to agree with 2 new mirrors and counts, source is right" in begun.output
    write_some(server, draw, pairs)
    server.kill()
    left = kept(server)
    print("left by the first life:", left)
    assert left, "the server was killed in the middle"
    server.start()
    write_some(server, draw, pairs)
    wait_until(lambda: not is_under_way(server), 120, "the end of the backfill")
    checked = command(server, "mirrors", "check")
    assert checked.exit_code == 0, checked.output
    assert checked.output.splitlines()[-1] == "0 faults in 2 mirrors and counts"
    assert ask(server, "GET", "/.json") == tree_of(pairs)
