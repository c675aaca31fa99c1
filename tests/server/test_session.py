import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.auth.minting import unsigned
from tests.server.opened_database import opened_database
from tests.server.session_client import SessionClient
from treedb.auth.identity import ADMIN, Auth
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.paths.path import Path
from treedb.rules.authority import SERVER
from treedb.tree.hashing import node_hash
from treedb.tree.values import value_at, with_value_at
from treedb.writes.request import set_write

OK = ("ok", "")
LIMITS = replace(DEFAULT_LIMITS, listens_per_connection=3, requests_in_flight=4)


@pytest.fixture
async def database(tmp_path: FilePath) -> AsyncIterator[Database]:
    async with opened_database(tmp_path, LIMITS) as database:
        yield database


@pytest.fixture
def client(database: Database) -> SessionClient:
    return SessionClient(database)


async def test_what_is_put_is_got(client: SessionClient) -> None:
    assert await client.ask("p", p="/w", d={"b": "x", "a": 1, "n": None}) == OK
    assert await client.ask("g", p="/w", q={}) == ("ok", {"a": 1, "b": "x"})
    assert await client.ask("g", p="/w/a", q={"i": "zz"}) == ("ok", 1)
    assert await client.ask("g", p="/none", q={}) == ("ok", None)


async def test_a_merge_changes_what_it_names(client: SessionClient) -> None:
    await client.ask("p", p="/w", d={"a": 1, "b": 2, "c": 3})
    assert await client.ask("m", p="/w", d={"a": None, "deep/x": 5}) == OK
    assert await client.ask("g", p="/w") == ("ok", {"b": 2, "c": 3, "deep": {"x": 5}})


async def test_null_removes(client: SessionClient) -> None:
    await client.ask("p", p="/w", d=1)
    assert await client.ask("p", p="/w", d=None) == OK
    assert await client.ask("g", p="/") == ("ok", None)


async def test_priorities_are_written_and_exported(client: SessionClient) -> None:
    await client.ask("p", p="/w", d={".value": "v", ".priority": 3})
    assert await client.ask("p", p="/w/.priority", d="q") == OK
    assert await client.ask("g", p="/w") == ("ok", {".value": "v", ".priority": "q"})


async def test_server_values_are_resolved(client: SessionClient) -> None:
    for _ in range(3):
        await client.ask("p", p="/w", d={".sv": {"increment": 2}})
    assert await client.ask("g", p="/w") == ("ok", 6)


BAD_WRITES: list[tuple[str, Any, str]] = [
    ("p", {"p": "/w", "d": {"a.b": 1}}, "failure"),
    ("p", {"p": "/w", "d": {"": 1}}, "failure"),
    ("p", {"p": "/w", "d": {".value": 1, "x": 2}}, "failure"),
    ("p", {"p": "/w", "d": {".sv": "nope"}}, "failure"),
    ("p", {"p": "/" + "a/" * 32, "d": {"b": 1}}, "failure"),
    ("p", {"p": "/w"}, "failure"),
    ("p", {"p": "/w/../x", "d": 1}, "failure"),
    ("p", {"p": "/none/.priority", "d": 1}, "failure"),
    ("m", {"p": "/w", "d": [1]}, "failure"),
    ("m", {"p": "/w", "d": {"a": 1, "a/b": 2}}, "failure"),
    ("p", {"p": "/.info/connected", "d": 1}, "permission_denied"),
    ("p", {"p": "/w", "d": 1, "h": "not the hash"}, "datastale"),
]


@pytest.mark.parametrize("action, body, status", BAD_WRITES)
async def test_a_bad_write_is_refused_and_changes_nothing(
    client: SessionClient, database: Database, action: str, body: Any, status: str
) -> None:
    found, reason = await client.answer(await client.send(action, body))
    assert found == status
    assert isinstance(reason, str)
    assert await database.get(Path(()), SERVER) is None


async def test_a_transaction_holds_only_on_the_value_it_saw(client: SessionClient) -> None:
    assert await client.ask("p", p="/n", d=1, h="") == OK
    stale = await client.ask("p", p="/n", d=1, h="")
    assert stale == ("datastale", "Transaction hash does not match")
    assert await client.ask("p", p="/n", d=2, h=node_hash(1)) == OK
    assert await client.ask("g", p="/n") == ("ok", 2)


async def test_a_pipeline_takes_effect_and_is_answered_in_order(client: SessionClient) -> None:
    for number in range(20):
        await client.send("p", {"p": "/w", "d": number})
        await client.send("p", {"p": "/w/../x", "d": 1})
        await client.send("g", {"p": "/w"})
    await client.answer(60)
    assert [each["r"] for each in client.heard] == list(range(1, 61))
    assert [each["b"]["d"] for each in client.heard[2::3]] == list(range(20))


async def test_writes_share_commits_up_to_the_limit_in_flight(client: SessionClient) -> None:
    for sent in range(1, 41):
        await client.send("p", {"p": f"/w/{sent}", "d": sent})
        assert sent - len(client.heard) <= 4
    await client.answer(40)


async def test_a_listen_gets_the_value_before_its_ok(client: SessionClient) -> None:
    await client.ask("p", p="/w/x", d={"a": 1})
    assert await client.ask("q", p="/w", h="") == ("ok", {})
    push = {"a": "d", "b": {"p": "w", "d": {"x": {"a": 1}}}}
    assert client.heard[1:] == [push, {"r": 2, "b": {"s": "ok", "d": {}}}]


@pytest.mark.parametrize("hashed, pushes", [("", 0), ("some hash", 1)])
async def test_nothing_is_pushed_only_to_who_believes_something(
    client: SessionClient, hashed: str, pushes: int
) -> None:
    await client.ask("q", p="/none", h=hashed)
    assert client.pushes == [{"a": "d", "b": {"p": "none", "d": None}}][:pushes]


async def test_a_writer_hears_its_data_before_its_ok(client: SessionClient) -> None:
    await client.ask("q", p="/", h="")
    await client.ask("p", p="/w", d=5)
    await client.ask("m", p="/w", d={"a": 1, "b/c": None, "d": 2})
    assert [(each.get("a"), each.get("r")) for each in client.heard[1:]] == [
        ("d", None),
        (None, 2),
        ("m", None),
        (None, 3),
    ]
    assert client.heard[3]["b"] == {"p": "", "d": {"w/a": 1, "w/b/c": None, "w/d": 2}}


async def test_a_stale_transaction_is_told_after_what_made_it_stale(
    client: SessionClient, database: Database
) -> None:
    await client.ask("q", p="/n", h="")
    database.submit(set_write(Path(("n",)), 7, database.limits))
    assert (await client.ask("p", p="/n", d=1, h=""))[0] == "datastale"
    assert [each.get("a", each["b"]["d"]) for each in client.heard[-2:]] == [
        "d",
        "Transaction hash does not match",
    ]


async def test_everyone_who_listens_hears(database: Database) -> None:
    clients = [SessionClient(database) for _ in range(5)]
    for each in clients:
        await each.ask("q", p="/w", h="")
    await clients[0].ask("p", p="/w/a", d="é")
    push = {"a": "d", "b": {"p": "w/a", "d": "é"}}
    assert [each.pushes for each in clients] == [[push]] * 5


async def test_a_listen_said_twice_is_one_listen(client: SessionClient) -> None:
    await client.ask("q", p="/w", h="")
    await client.ask("p", p="/w", d=1)
    assert await client.ask("q", p="/w", h="") == ("ok", {})
    before = len(client.pushes)
    await client.ask("p", p="/w", d=2)
    assert client.pushes[before:] == [{"a": "d", "b": {"p": "w", "d": 2}}]


async def test_after_an_unlisten_nothing_is_heard(
    client: SessionClient, database: Database
) -> None:
    await client.ask("q", p="/w", h="")
    assert await client.ask("n", p="/w") == OK
    await client.ask("p", p="/w", d=1)
    assert client.pushes == []
    assert database.watched_places == 0


async def test_an_unlisten_of_something_else_is_ok(client: SessionClient) -> None:
    await client.ask("q", p="/w", h="")
    assert await client.ask("n", p="/other") == OK
    assert await client.ask("n", p="/w", q={"l": 1, "vf": "l"}) == OK
    assert await client.ask("n", p="/w", t=1) == OK
    await client.ask("p", p="/w", d=1)
    assert len(client.pushes) == 1


async def test_listens_are_bounded(client: SessionClient) -> None:
    for place in ("/a", "/b", "/c"):
        assert await client.ask("q", p=place, h="") == ("ok", {})
    status, reason = await client.ask("q", p="/d", h="")
    assert (status, reason) == ("too_big", "This connection has 3 listens, the limit is 3.")
    assert await client.ask("q", p="/a", h="") == ("ok", {})
    await client.ask("n", p="/a")
    assert await client.ask("q", p="/d", h="") == ("ok", {})


@pytest.mark.parametrize(
    "action, body, answer",
    [
        ("s", {"c": {"sdk.js.12-19-0": 1}}, ("ok", {})),
        ("appcheck", {"token": "x"}, ("ok", {})),
        ("unappeck", {}, ("ok", {})),
        ("unappcheck", {}, ("ok", {})),
        ("echo", {"d": [1, None]}, ("ok", [1, None])),
        ("nope", {}, ("failure", "The server knows no action 'nope'.")),
    ],
)
async def test_the_other_requests_are_answered(
    client: SessionClient, action: str, body: Any, answer: tuple[str, Any]
) -> None:
    assert await client.answer(await client.send(action, body)) == answer


async def test_a_ping_is_answered(client: SessionClient) -> None:
    await client.session.receive('{"t":"c","d":{"t":"p","d":{}}}')
    await client.session.receive('{"t":"c","d":{"t":"later","d":{}}}')
    assert client.door.messages == [{"t": "c", "d": {"t": "o", "d": None}}]


# Who one is.


async def test_a_user_signs_in_and_out(client: SessionClient) -> None:
    claims = {"sub": "alice", "iat": 0, "firebase": {"sign_in_provider": "custom"}}
    status, data = await client.ask("auth", cred=unsigned(**claims))
    assert status == "ok"
    user = {"uid": "alice", "token": claims, "provider": "custom"}
    assert data == {"auth": user, "expires": None}
    assert client.session._caller.auth == Auth("alice", claims, False, None)
    assert await client.ask("unauth") == OK
    assert client.session._caller.auth is None


NOBODY: dict[str, Any] = {"auth": None, "expires": None}
ALICE = {"auth": {"uid": "alice"}, "expires": None}


@pytest.mark.parametrize(
    "extra, data, auth",
    [
        ({}, NOBODY, ADMIN),
        ({"noauth": True}, NOBODY, None),
        ({"authvar": {"uid": "alice"}}, ALICE, Auth("alice", {}, False, None, {"uid": "alice"})),
        ({"authvar": {}}, {"auth": {}, "expires": None}, Auth(None, {}, False, None, {})),
    ],
)
async def test_an_admin_may_step_down(
    client: SessionClient, extra: Any, data: Any, auth: Auth | None
) -> None:
    assert await client.ask("gauth", cred="owner", **extra) == ("ok", data)
    assert client.session._caller.auth == auth


async def test_a_user_may_not_become_another(client: SessionClient) -> None:
    status, data = await client.ask("auth", cred=unsigned(sub="bob"), authvar={"uid": "alice"})
    assert (status, data["auth"]["uid"]) == ("ok", "bob")


@pytest.mark.parametrize("body", [{"cred": "nonsense"}, {"cred": 5}, {}])
async def test_a_bad_credential_takes_the_old_identity_along(
    client: SessionClient, body: Any
) -> None:
    await client.ask("gauth", cred="owner")
    answer = await client.ask("auth", **body)
    assert answer == ("invalid_token", "Could not parse auth token.")
    assert client.session._caller.auth is None


# Large messages.


async def test_large_messages_keep_their_order(client: SessionClient) -> None:
    large = "x" * 600_000
    await client.send("p", {"p": "/w", "d": 1})
    await client.send("p", {"p": "/w", "d": large})
    await client.send("p", {"p": "/v", "d": 2})
    assert await client.ask("g", p="/") == ("ok", {"v": 2, "w": large})
    await client.send("p", {"p": "/w", "d": {"a.b": large}})
    assert (await client.answer(5))[0] == "failure"
    assert [each["r"] for each in client.heard] == [1, 2, 3, 4, 5]


async def test_commits_while_a_large_value_is_sent_come_after_it(
    client: SessionClient, database: Database
) -> None:
    initial = {f"k{number:03}": "x" * 10_000 for number in range(200)}
    await client.ask("p", p="/w", d=initial)
    listening = asyncio.create_task(client.ask("q", p="/w", h=""))
    for number in range(200):
        await database.write(set_write(Path(("w", "n")), number, database.limits))
    assert await listening == ("ok", {})
    first = client.pushes[0]["b"]
    assert first["p"] == "w"
    assert value_at(first["d"], ["k199"]) == "x" * 10_000
    value = first["d"]
    for push in client.pushes[1:]:
        keys = Path.parse(push["b"]["p"]).keys[1:]
        value = with_value_at(value, keys, push["b"]["d"])
    assert value == await database.get(Path(("w",)), SERVER)


# Ends.


async def test_a_broken_protocol_is_told_and_closes(
    client: SessionClient, database: Database
) -> None:
    await client.ask("q", p="/w", h="")
    await client.session.receive("nonsense")
    assert client.door.messages[-1] == {
        "t": "c",
        "d": {"t": "e", "d": "A message is a JSON object, found text that is not JSON."},
    }
    assert client.door.closed == (1008, "Protocol error")
    assert database.watched_places == 0


async def test_too_large_a_message_closes_with_its_code(client: SessionClient) -> None:
    await client.session.receive("99999")
    assert client.door.closed is not None
    assert client.door.closed[0] == 1009


async def test_after_the_end_nothing_is_taken(client: SessionClient, database: Database) -> None:
    await client.ask("q", p="/w", h="")
    client.session.end()
    client.session.end()
    assert database.watched_places == 0
    await client.session.receive('{"t":"d","d":{"r":9,"a":"p","b":{"p":"/w","d":1}}}')
    await client.session.receive("nonsense")
    assert client.door.closed is None
    assert await database.get(Path(("w",)), SERVER) is None


async def test_our_own_fault_costs_one_request(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(credential: str) -> Auth:
        raise ZeroDivisionError(credential)

    client = SessionClient(database, broken)
    assert await client.ask("auth", cred="x") == ("failure", "Internal server error")
    assert await client.ask("p", p="/w", d=1) == OK
    assert "ZeroDivisionError" in caplog.text


async def test_a_closed_database_answers_that_it_is_unavailable(
    client: SessionClient, database: Database
) -> None:
    await database.close()
    assert (await client.ask("p", p="/w", d=1))[0] == "unavailable"


async def test_it_tells_whether_segments_are_due(client: SessionClient) -> None:
    waiting = [client.session.is_waiting]
    await client.session.receive("2")
    waiting.append(client.session.is_waiting)
    client.session.end()
    waiting.append(client.session.is_waiting)
    assert waiting == [False, True, False]
