"""The table of tokens over REST and over a websocket: both know the same people."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from websockets.sync.client import connect

from tests.auth.minting import TABLE, Row, mint, settings_of
from tests.server.live_server import HOST, LiveServer, live_server
from tests.wire.dialogue import client_frames
from treedb.config import DEFAULT_LIMITS, Settings
from treedb.server.reserved import RULES

ROWS: list[Row] = TABLE["rows"]
OWN_PLACE = """{"rules": {"$uid": {".read": "auth.uid === $uid"}}}"""
TEXTS = {"nobody": "Could not parse auth token.", "late": "Auth token is expired"}
STATUSES = {"nobody": "invalid_token", "late": "expired_token"}


class Servers:
    """One live server for each choice of settings, started when first asked for."""

    def __init__(self, folder: Path, open_until_the_end: ExitStack) -> None:
        self._folder = folder
        self._stack = open_until_the_end
        self._servers: dict[str, LiveServer] = {}

    def of(self, row: Row) -> LiveServer:
        chosen = settings_of(row)
        name = json.dumps(chosen)
        if name not in self._servers:
            self._servers[name] = self._start(chosen)
        return self._servers[name]

    def _start(self, chosen: Row) -> LiveServer:
        folder = self._folder / str(len(self._servers))
        folder.mkdir()
        rules = folder / "rules.json"
        rules.write_text(OWN_PLACE)
        settings = Settings(
            data=folder / "data",
            dev=chosen["dev"],
            rules=rules,
            admin_token=chosen["admin_token"],
            auth_secret=chosen["auth_secret"],
            auth_audience=chosen["audience"],
            auth_issuer=chosen["issuer"],
        )
        return self._stack.enter_context(live_server(folder, settings=settings))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path_factory.mktemp("tokens"), stack)


def sign_in(server: LiveServer, credential: str) -> tuple[str, Any]:
    with connect(f"ws://{HOST}:{server.port}/.ws?v=5&ns=default", compression=None) as socket:
        message = {"t": "d", "d": {"r": 1, "a": "auth", "b": {"cred": credential}}}
        for frame in client_frames(json.dumps(message)):
            socket.send(frame)
        while True:
            heard = json.loads(socket.recv(timeout=10))["d"]
            if heard.get("r") == 1:
                return heard["b"]["s"], heard["b"]["d"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']} {row['says']}")
def test_rest_and_websocket_know_the_same_people(servers: Servers, row: Row) -> None:
    server = servers.of(row)
    for recipe in row["credentials"]:
        check(server, mint(recipe, int(time.time())), row["answer"])


def check(server: LiveServer, credential: str, answer: Any) -> None:
    status, data = sign_in(server, credential)
    refused = isinstance(answer, str)
    place = "/" if refused or answer.get("admin") else f"/{quote(answer['uid'], safe='')}"
    target = f"{place}.json?auth={quote(credential, safe='')}"
    rest = server.ask("GET", target)
    if refused:
        is_too_long = len(target) > DEFAULT_LIMITS.url_bytes
        expected = (414, "URI too long") if is_too_long else (401, TEXTS[answer])
        assert (rest.status, rest.json["error"]) == expected
        assert (status, data) == (STATUSES[answer], TEXTS[answer])
        return
    assert rest.status == 200, rest.text
    assert status == "ok"
    assert (data["auth"] or {}).get("uid") == answer.get("uid")


@pytest.mark.parametrize("how", ["header", "auth", "access_token"])
def test_the_admin_token_is_not_bound_by_rules(servers: Servers, how: str) -> None:
    row: Row = {}
    server, token = servers.of(row), settings_of(row)["admin_token"]
    headers = {"Authorization": f"Bearer {token}"} if how == "header" else {}
    query = "" if how == "header" else f"?{how}={token}"
    assert server.ask("PUT", f"/anything.json{query}", "1", headers=headers).status == 200
    assert server.ask("GET", f"{RULES}{query}", headers=headers).text == OWN_PLACE
    assert server.ask("GET", "/anything.json").status == 401
    assert sign_in(server, token)[0] == "ok"


def test_an_admin_may_act_as_a_client_whom_rules_bind(servers: Servers) -> None:
    server = servers.of({})
    headers = {"Authorization": f"Bearer {settings_of({})['admin_token']}"}
    for variable, place, status in (
        ('{"uid":"zoe"}', "/zoe.json", 200),
        ('{"uid":"zoe"}', "/max.json", 401),
        ("null", "/zoe.json", 401),
    ):
        target = f"{place}?auth_variable_override={quote(variable)}"
        assert server.ask("GET", target, headers=headers).status == status
    assert server.ask("GET", "/zoe.json?auth_variable_override=null").status == 400
