"""The edge around the whole application, asked as browsers and others ask."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.server.live_server import Answer, LiveServer, live_server
from treedb.config import Settings
from treedb.server.edge import hosts_of

GOOD = "https://good.example"
EVIL = "https://evil.example"
ADMIN = {"Authorization": "Bearer s3cret"}
OPEN_RULES = '{"rules":{".read":true,".write":true}}'


def serving(folder: Path, **chosen: object) -> Iterator[LiveServer]:
    settings = Settings(data=folder / "data", admin_token="s3cret", **chosen)  # type: ignore[arg-type]
    with live_server(folder, settings=settings) as server:
        assert server.ask("PUT", "/.settings/rules.json", OPEN_RULES, ADMIN).status == 200
        server.put("/v.json", 1)
        yield server


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Give a server with the default settings."""
    yield from serving(tmp_path_factory.mktemp("closed"))


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Give a server that lists an origin and hosts."""
    hosts, origins = ("db.example", "*.db.example"), (GOOD,)
    folder = tmp_path_factory.mktemp("listing")
    yield from serving(folder, allowed_hosts=hosts, allowed_origins=origins)


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    yield from serving(
        tmp_path_factory.mktemp("open"), allowed_origins=("*",), allowed_hosts=("*",)
    )


@pytest.fixture(scope="module")
def developing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    yield from serving(tmp_path_factory.mktemp("dev"), dev=True)


def ours(server: LiveServer) -> str:
    return f"http://localhost:{server.port}"


def from_page(
    server: LiveServer, origin: str, method: str = "GET", target: str = "/v.json"
) -> Answer:
    headers = {"Host": f"localhost:{server.port}", "Origin": origin}
    if method == "OPTIONS":
        headers["Access-Control-Request-Method"] = "PUT"
    return server.ask(method, target, None if method in ("GET", "OPTIONS") else "1", headers)


def cors_headers(answer: Answer) -> list[str]:
    return [name for name in answer.headers if name.startswith("access-control-")]


# Reading


@pytest.mark.parametrize("origin", [EVIL, "null", "https://localhost", "nonsense"])
def test_a_foreign_page_is_answered_and_not_let_read(closed: LiveServer, origin: str) -> None:
    answer = from_page(closed, origin)
    assert (answer.status, answer.json) == (200, 1)
    assert cors_headers(answer) == []


def test_by_default_an_answer_does_not_depend_on_the_origin(closed: LiveServer) -> None:
    assert "vary" not in closed.ask("GET", "/v.json").headers
    answer = from_page(closed, ours(closed))
    assert (answer.status, cors_headers(answer)) == (200, [])
    assert "vary" not in answer.headers


def test_a_page_that_is_listed_may_read(listing: LiveServer) -> None:
    answer = from_page(listing, GOOD)
    assert answer.headers["access-control-allow-origin"] == GOOD
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origin", [EVIL, "null", "https://good.example.evil.example"])
def test_others_beside_it_may_not_and_caches_hear_of_it(listing: LiveServer, origin: str) -> None:
    answer = from_page(listing, origin)
    assert (answer.status, cors_headers(answer), answer.headers["vary"]) == (200, [], "Origin")


def test_a_refusal_is_for_the_page_that_is_listed_too(listing: LiveServer) -> None:
    answer = from_page(listing, GOOD, target="/a.b.json")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (400, GOOD)


@pytest.mark.parametrize("fixture", ["open_to_all", "developing"])
@pytest.mark.parametrize("origin", [EVIL, "null"])
def test_any_page_may_where_any_is_allowed(
    fixture: str, origin: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(fixture)
    answer = from_page(server, origin, "POST")
    assert (answer.status, cors_headers(answer)) == (200, ["access-control-allow-origin"])
    assert answer.headers["access-control-allow-origin"] == "*"


# Writing, and what is an administrator's


@pytest.mark.parametrize("origin", [EVIL, "null"])
@pytest.mark.parametrize("method", ["OPTIONS", "POST", "PUT", "PATCH", "DELETE"])
def test_a_foreign_page_changes_nothing(closed: LiveServer, method: str, origin: str) -> None:
    answer = from_page(closed, origin, method)
    assert (answer.status, answer.json["error"]) == (403, "Origin is not allowed")
    assert answer.json["detail"] == (
        f"The page that asks is of the origin '{origin}'; the setting allowed_origins lists those "
        "that may."
    )
    assert cors_headers(answer) == []
    assert closed.get("/.json") == {"v": 1}


@pytest.mark.parametrize(
    "target", ["/.settings/rules.json", "/.inspect/coverage.json", "/.metrics"]
)
def test_what_is_an_administrators_is_for_no_foreign_page(closed: LiveServer, target: str) -> None:
    headers = {**ADMIN, "Origin": EVIL}
    assert closed.ask("GET", target, headers=headers).status == 403


def test_pages_of_the_server_may_write(closed: LiveServer) -> None:
    assert from_page(closed, ours(closed), "PUT").status == 200
    preflight = from_page(closed, ours(closed), "OPTIONS")
    assert (preflight.status, preflight.headers["allow"]) == (
        200,
        "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS",
    )


def test_a_listed_page_may_write(listing: LiveServer) -> None:
    preflight = from_page(listing, GOOD, "OPTIONS")
    assert preflight.headers["access-control-allow-origin"] == GOOD
    assert "PUT" in preflight.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in preflight.headers
    assert from_page(listing, GOOD, "PUT").status == 200


# Realtime


def handshake_status(server: LiveServer, origin: str | None, **headers: str) -> int:
    given = None if origin is None else Origin(origin)
    url = f"ws://localhost:{server.port}/.ws?v=5"
    try:
        with connect(url, origin=given, additional_headers=headers):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


@pytest.mark.parametrize(
    "origin", ["null", EVIL, "https://good.example.evil.com", "https://evil/good.example",
               "http://good.example", "https://good.example:444"],
)  # fmt: skip
def test_a_websocket_of_a_foreign_page_is_refused(listing: LiveServer, origin: str) -> None:
    assert handshake_status(listing, origin) == 403
    assert handshake_status(listing, origin, Cookie="session=owner") == 403


def test_a_refused_handshake_tells_why(listing: LiveServer) -> None:
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(f"ws://localhost:{listing.port}/.ws?v=5", origin=Origin(EVIL)),
    ):
        pass
    assert json.loads(refused.value.response.body)["error"] == "Origin is not allowed"


def test_one_of_nobodys_page_or_a_listed_one_or_our_own_is_not(listing: LiveServer) -> None:
    for origin in (None, GOOD, ours(listing)):
        assert handshake_status(listing, origin) == 101


def test_in_development_any_page_may_open_one(developing: LiveServer) -> None:
    for origin in (EVIL, "null"):
        assert handshake_status(developing, origin) == 101


START = "/.lp?start=t&ser=1&cb=1&v=5"


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"Origin": EVIL}, 403),
        ({"Referer": f"{EVIL}/page"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Referer": f"{GOOD}/page", "Sec-Fetch-Site": "cross-site"}, 200),
        ({"Origin": GOOD}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_long_polling_is_for_the_same_pages(
    listing: LiveServer, headers: dict[str, str], status: int
) -> None:
    assert listing.ask("GET", START, headers=headers).status == status


@pytest.mark.parametrize("target", ["/v.json?callback=f", "/v.json?print=pretty&c%61llback=f"])
def test_nor_does_a_foreign_page_load_a_value_as_a_script(listing: LiveServer, target: str) -> None:
    assert listing.ask("GET", target, headers={"Referer": f"{EVIL}/"}).status == 403
    assert listing.ask("GET", target, headers={"Origin": EVIL}).status == 403
    assert listing.ask("GET", target, headers={"Referer": f"{GOOD}/"}).status != 403
    assert listing.ask("GET", target).status != 403


def test_in_development_any_page_may_poll(developing: LiveServer) -> None:
    assert developing.ask("GET", START, headers={"Referer": f"{EVIL}/"}).status == 200


# Hosts


@pytest.mark.parametrize("host", ["evil.example", "db.example", "db.example:9000", "1.2.3"])
def test_by_default_only_local_names_are_answered_for(closed: LiveServer, host: str) -> None:
    answer = closed.ask("GET", "/v.json", headers={"Host": host})
    name = host.partition(":")[0]
    assert (answer.status, answer.json) == (
        421,
        {
            "error": "Host is not allowed",
            "detail": f"This server is not asked for as '{name}'; the setting allowed_hosts lists "
            "the names by which it is.",
        },
    )


@pytest.mark.parametrize("host", ["db.example", "DB.EXAMPLE:443", "ns.db.example", "localhost:1"])
def test_listed_hosts_are_answered_for_beside_local_ones(listing: LiveServer, host: str) -> None:
    assert listing.ask("GET", "/v.json", headers={"Host": host}).status == 200
    assert listing.ask("GET", "/.health", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "target", ["/v.json", "/.health", "/.ws", START, "/.client/index.js", "/x"]
)
def test_another_host_is_refused_whatever_it_is_asked(listing: LiveServer, target: str) -> None:
    assert listing.ask("GET", target, headers={"Host": "evil.example"}).status == 421


def test_a_name_led_here_by_a_stranger_is_no_origin_of_ours(closed: LiveServer) -> None:
    headers = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert closed.ask("POST", "/v.json", "1", headers).status == 421
    key = base64.b64encode(b"0123456789abcdef").decode()
    upgrade = {
        **headers,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
    }
    assert closed.ask("GET", "/.ws?v=5", headers=upgrade).status == 421


def test_any_host_may_be_listed(open_to_all: LiveServer) -> None:
    assert open_to_all.ask("GET", "/v.json", headers={"Host": "x.example"}).status == 200


@pytest.mark.parametrize(
    "host, name", [("db.example", "db.example"), ("0.0.0.0", "8.8.8.8"), ("::1", "[::1]")]
)
def test_the_name_that_is_listened_at_is_answered_for(host: str, name: str) -> None:
    assert hosts_of(Settings(host=host)).allows(name)
    assert not hosts_of(Settings(host=host)).allows("evil.example")


# Large answers


def test_a_large_answer_comes_compressed_and_varies_by_both(listing: LiveServer) -> None:
    value = {f"user{number}": {"name": "Mary Chen", "number": number} for number in range(20_000)}
    listing.put("/large.json", value)
    plain = listing.ask("GET", "/large.json", headers={"Origin": GOOD})
    assert "content-encoding" not in plain.headers
    with httpx.stream("GET", f"{listing.url}/large.json", headers={"Origin": GOOD}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["vary"] == plain.headers["vary"] == "Origin, Accept-Encoding"
        assert answer.read() == plain.body
        assert answer.num_bytes_downloaded < len(plain.body) / 5


def test_a_small_answer_comes_as_it_is(listing: LiveServer) -> None:
    answer = httpx.get(f"{listing.url}/v.json")
    assert "content-encoding" not in answer.headers
    assert answer.headers["vary"] == "Origin"


def test_a_stream_comes_as_it_is(listing: LiveServer) -> None:
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}
    listing.put("/streamed.json", "x" * 100_000)
    with httpx.stream("GET", f"{listing.url}/streamed.json", headers=headers) as answer:
        assert "content-encoding" not in answer.headers
        assert b"event: put\n" in next(answer.iter_raw())
