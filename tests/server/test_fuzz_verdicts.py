"""REST and the realtime protocol say the same to random writes, in the same words, and do the same.

Each case is a place, a value as text, an operation and rules. It goes to one namespace over REST
and to another over a websocket, with the same bytes for the value.
"""

import http.client
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.server.live_server import HOST, LiveServer, errors_logged, live_server
from tests.server.raw_websocket import RawWebSocket
from treedb.errors import InvalidJson

CASES = 600
EACH_RULES = 60  # cases for one choice of rules and one connection
OWNER = {"Authorization": "Bearer owner"}
ACTIONS = {"PUT": "p", "PATCH": "m", "DELETE": "p", "POST": "p"}
RULES = [
    '{"rules": {".read": true, ".write": true}}',
    '{"rules": {"a": {".write": true, ".validate": "newData.hasChildren()"}}}',
    '{"rules": {"$any": {".write": "newData.val() != 1 && !data.child(\'x\').exists()"}}}',
    '{"rules": {".write": "newData.child(\'a\').exists()", "b": {".write": true}}}',
]
KEYS = [
    "a", "b", "x", "0", "1", "é", "😀", "k k", "", ".", "..", "a.b", "$x", "#", "[", "a%2Fb",
    ".priority", ".value", ".sv", "k" * 768, "k" * 769, "\u007f", "\u0001",
]  # fmt: skip
SIMPLE = ["a", "b", "x", "0", "1"]
LEAVES = [
    "1", "0", "-0.0", "1.5", "1e400", "12345678901234567890123", "true", "false", "null", '"x"',
    '""', '"\\ud800"', '"\\u0000"', "NaN", "[]", "{}", "[1,null,2]", '{".sv":"timestamp"}',
    '{".sv":{"increment":2}}', '{".sv":"what"}', '{".value":1,".priority":2}', '{".value":{}}',
    '{".priority":1}', "{", "'x'", "01", "1 2", '{"a":1,"a":2}', "[" * 33 + "]" * 33,
]  # fmt: skip


def value(choice: random.Random, depth: int = 0) -> str:
    kind = choice.random()
    if depth == 3 or kind < 0.35:
        return choice.choice(LEAVES)
    members = [
        f"{json.dumps(key(choice, depth), ensure_ascii=False)}:{value(choice, depth + 1)}"
        for _ in range(choice.randint(0, 3))
    ]
    return "{" + ",".join(members) + "}"


def key(choice: random.Random, depth: int) -> str:
    if depth == 0 and choice.random() < 0.2:
        return "/".join(choice.choices(SIMPLE, k=choice.randint(1, 3)))  # paths of an update
    return choice.choice(SIMPLE if choice.random() < 0.8 else KEYS)


def place(choice: random.Random) -> list[str]:
    known = SIMPLE if choice.random() < 0.85 else KEYS
    return choice.choices(known, k=choice.choice((0, 1, 1, 2, 3, 33)))


def over_rest(server: LiveServer, method: str, keys: list[str], body: str) -> tuple[str, ...]:
    """Return the reasons of a refusal, the fixed text and the sentence; none when it is accepted."""
    target = "/" + "/".join(quote(each, safe="") for each in keys) + ".json?ns=rest"
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    try:
        connection.request(method, target, None if method == "DELETE" else body.encode())
        answer = connection.getresponse()
        content = json.loads(answer.read())
    finally:
        connection.close()
    assert answer.status < 500, (method, target, body)
    if answer.status == 200:
        return ()
    return content["error"], content.get("detail", content["error"])


def over_websocket(
    client: RawWebSocket, number: int, method: str, keys: list[str], body: str
) -> str:
    """Return the reason of a refusal, "" when it is accepted."""
    path = json.dumps("/" + "/".join(keys))
    data = "null" if method == "DELETE" else body
    head = f'{{"t":"d","d":{{"r":{number},"a":"{ACTIONS[method]}","b":{{"p":{path},"d":{data}}}}}}}'
    client.say(head)
    while True:
        message = client.read()
        assert isinstance(message, dict), (head, message)
        content: dict[str, Any] = message["d"]
        if "r" in content:
            assert content["r"] == number
            status, reason = content["b"]["s"], content["b"]["d"]
            return "" if status == "ok" else str(reason)


def tree(server: LiveServer, namespace: str) -> Any:
    text = server.ask("GET", f"/.json?format=export&ns={namespace}", None, OWNER).text
    return json.loads(text, parse_int=_no_time)


def _no_time(digits: str) -> int:
    """Read an integer; two times of a server value are the same."""
    number = int(digits)
    return 0 if 1_500_000_000_000 < number < 3_000_000_000_000 else number


def prepare(server: LiveServer, rules: str) -> None:
    for namespace in ("rest", "realtime"):
        put = server.ask("PUT", f"/.settings/rules.json?ns={namespace}", rules, OWNER)
        assert put.status == 200, put
        assert server.ask("DELETE", f"/.json?ns={namespace}", None, OWNER).status == 200


def test_both_ways_give_one_verdict_in_the_same_words_and_one_tree(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    verdicts: Counter[bool] = Counter()
    with live_server(tmp_path) as server:
        for number in range(seed, seed + CASES, EACH_RULES):
            prepare(server, RULES[number // EACH_RULES % len(RULES)])
            with RawWebSocket(server.port, "realtime") as client:
                for case in range(number, number + EACH_RULES):
                    choice = random.Random(case)
                    method = choice.choice(("PUT", "PUT", "PATCH", "PATCH", "DELETE"))
                    keys, body = place(choice), value(choice)
                    by_rest = over_rest(server, method, keys, body)
                    by_websocket = over_websocket(client, case - number, method, keys, body)
                    # Text that is no JSON spoils the whole message: then nothing else is wrong
                    # with it, and nobody can tell where. A denial is told in short.
                    said = by_rest or ("",)
                    if by_rest and by_websocket == InvalidJson.text:
                        said = (InvalidJson.text,)
                    assert by_websocket in said, (case, method, keys, body)
                    verdicts[not by_rest] += 1
                    if not by_rest:
                        trees = tree(server, "rest"), tree(server, "realtime")
                        assert trees[0] == trees[1], (case, method, keys, body)
    assert errors_logged(caplog) == []
    assert min(verdicts[True], verdicts[False]) > CASES / 10
