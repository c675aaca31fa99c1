"""The SDK in a page without websockets: the same database, by scripts that it loads."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser

from tests.end_to_end.sdk_page import SdkPage, Transport, page_server, sdk_page
from tests.server_process import ServerProcess, StartServer, wait_until
from treedb.wire.poll import packet_script

AT_ONCE_SECONDS = 5.0  # far less than the silence after which a client that polls has gone
LISTEN = """
window.seen = [];
window.db = open_client(given[0]);
await new Promise((resolve) => {
  database.onValue(database.ref(db, given[1]), (snapshot) => {
    seen.push(snapshot.val());
    resolve();
  });
});
"""


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with page_server() as served:
        yield served


@pytest.fixture(params=["long polling", "no websockets"])
def page(browser: Browser, origin: str, request: pytest.FixtureRequest) -> Iterator[SdkPage]:
    transport: Transport = request.param
    with sdk_page(browser, origin, transport) as page:
        yield page
        assert page.errors == []
        assert page.uses(".ws") == 0
        assert page.uses(".lp") > 2


@pytest.fixture
def polling(browser: Browser, origin: str) -> Iterator[SdkPage]:
    with sdk_page(browser, origin, "long polling") as page:
        yield page


def read(server: ServerProcess, target: str) -> Any:
    return httpx.get(f"{server.url}/{target}").json()


def seen(page: SdkPage) -> list[Any]:
    found: list[Any] = page.run("return seen")
    return found


def sees(page: SdkPage, value: object) -> None:
    """Wait until the page's listener is shown a value."""
    wait_until(lambda: seen(page)[-1] == value, AT_ONCE_SECONDS, f"{value} in the page")


def test_everything_works_by_polling(page: SdkPage, server: ServerProcess) -> None:
    found = page.run(
        """
        const { ref, set, get, update, remove, push, runTransaction, onValue, onChildAdded } = database;
        const { query, orderByChild, startAt, limitToFirst, serverTimestamp, increment } = database;
        const place = ref(open_client(given[0]), "all");
        const seen = [];
        onValue(place, (snapshot) => seen.push(snapshot.val()));
        await set(place, { a: { n: 1 }, b: { n: 2 } });
        await update(place, { "a/n": increment(2), c: { n: 4 } });
        await remove(database.child(place, "b"));
        const { snapshot } = await runTransaction(database.child(place, "c/n"), (n) => n + 1);
        const chosen = query(place, orderByChild("n"), startAt(4), limitToFirst(1));
        const added = await new Promise((resolve) => onChildAdded(chosen, (s) => resolve(s.key)));
        const key = push(place, { at: serverTimestamp() }).key;
        const pushed = (await get(database.child(place, `${key}/at`))).val();
        return [seen.slice(0, 4), snapshot.val(), added, Math.abs(pushed - Date.now()) < 60000];
        """,
        f"{server.url}?ns={page.page.url.rpartition('/')[2]}",
    )
    shown = [
        {"a": {"n": 1}, "b": {"n": 2}},
        {"a": {"n": 3}, "b": {"n": 2}, "c": {"n": 4}},
        {"a": {"n": 3}, "c": {"n": 4}},
        {"a": {"n": 3}, "c": {"n": 5}},
    ]
    assert found == [shown, 5, "c", True]


def test_the_older_form_of_the_sdk_polls_too(page: SdkPage, server: ServerProcess) -> None:
    found = page.run(
        """
        const app = firebase.initializeApp({ databaseURL: given[0] }, "older");
        const place = app.database().ref("older");
        await place.set({ n: 1 });
        await place.child("n").transaction((n) => n + 1);
        return (await place.once("value")).val();
        """,
        f"{server.url}?ns=older",
    )
    assert found == {"n": 2}


def test_large_values_go_both_ways_in_pieces(polling: SdkPage, server: ServerProcess) -> None:
    text = "é😀\u2028" * 30_000
    found = polling.run(
        """
        const place = database.ref(open_client(given[0]), "large");
        await database.set(place, given[1]);
        return (await database.get(place)).val();
        """,
        f"{server.url}?ns=large",
        text,
    )
    assert found == text
    assert read(server, "large.json?ns=large") == text
    assert polling.uses(".lp") > 100


def test_changes_of_others_are_shown_at_once(polling: SdkPage, server: ServerProcess) -> None:
    polling.run(LISTEN, f"{server.url}?ns=others", "n")
    for number in range(20):
        httpx.put(f"{server.url}/n.json?ns=others", json=number)
        sees(polling, number)
    assert seen(polling) == [None, *range(20)]


def test_racing_pages_count_to_the_end(
    browser: Browser, origin: str, server: ServerProcess
) -> None:
    count = """
    const place = database.ref(open_client(given[0]), "count");
    window.counting = Promise.all(
      Array.from({ length: 20 }, () => database.runTransaction(place, (n) => (n ?? 0) + 1)));
    """
    with (
        sdk_page(browser, origin, "long polling") as one,
        sdk_page(browser, origin, "websocket") as other,
    ):
        for page in (one, other):
            page.run(count, f"{server.url}?ns=race")
        for page in (one, other):
            page.run("await counting")
    assert read(server, "count.json?ns=race") == 40


ONLINE = """
window.db = open_client(given[0]);
const place = database.ref(db, given[1]);
await database.onDisconnect(place).set("gone");
await database.set(place, "here");
"""


@pytest.mark.parametrize("way", ["the page is closed", "another is opened", "goOffline"])
def test_a_page_that_goes_has_gone_at_once(
    browser: Browser, origin: str, server: ServerProcess, way: str
) -> None:
    place = way.replace(" ", "-")
    with sdk_page(browser, origin, "long polling") as page:
        page.run(ONLINE, f"{server.url}?ns=gone", place)
        assert read(server, f"{place}.json?ns=gone") == "here"
        if way == "the page is closed":
            page.page.close()
        elif way == "another is opened":
            page.page.goto("about:blank")
        else:
            page.run("database.goOffline(db)")
        wait_until(
            lambda: read(server, f"{place}.json?ns=gone") == "gone", AT_ONCE_SECONDS, "the end"
        )


def test_a_page_comes_back_after_a_kill_and_a_restart(
    browser: Browser, origin: str, start_server: StartServer
) -> None:
    server = start_server()
    with sdk_page(browser, origin, "long polling") as page:
        page.run(LISTEN, f"{server.url}?ns=kill", "state")
        page.run("await database.set(database.ref(db, 'state'), 'before')")
        server.kill()
        page.run("void database.set(database.ref(db, 'state'), 'while it was away')")
        server.start()
        wait_until(
            lambda: read(server, "state.json?ns=kill") == "while it was away", 60, "the page"
        )
        page.run("await database.set(database.ref(db, 'state'), 'after')")
        assert seen(page)[-1] == "after"


def test_a_page_goes_over_to_a_websocket_that_works(
    browser: Browser, origin: str, server: ServerProcess
) -> None:
    with sdk_page(browser, origin, "upgrade") as page:
        page.run(LISTEN, f"{server.url}?ns=over", "n")
        for number in range(10):
            page.run("await database.set(database.ref(db, 'n'), given[0])", number)
        wait_until(
            lambda: page.run("return localStorage.length") == 0, AT_ONCE_SECONDS, "the upgrade"
        )
        wait_until(lambda: "disconn=t" in page.calls[-1], AT_ONCE_SECONDS, "the end of the polls")
        calls = page.uses(".lp")
        page.run("await database.set(database.ref(db, 'n'), 'by websocket')")
        httpx.put(f"{server.url}/n.json?ns=over", json="by another")
        sees(page, "by another")
        assert seen(page) == [None, *range(10), "by websocket", "by another"]
        assert (page.uses(".ws"), page.uses(".lp")) == (1, calls)
        assert page.errors == []


def test_a_page_that_went_over_has_what_waits_for_its_end(
    browser: Browser, origin: str, server: ServerProcess
) -> None:
    with sdk_page(browser, origin, "upgrade") as page:
        page.run(ONLINE, f"{server.url}?ns=after", "online")
        wait_until(lambda: "disconn=t" in page.calls[-1], AT_ONCE_SECONDS, "the end of the polls")
        assert read(server, "online.json?ns=after") == "here"
        page.page.close()
        wait_until(
            lambda: read(server, "online.json?ns=after") == "gone", AT_ONCE_SECONDS, "the end"
        )


TROUBLESOME: list[Any] = [
    {"__proto__": {"a": 1}},
    {"a": {"__proto__": None, "b": 1}},
    {'"__proto__': 1, '\\"__proto__': 2},
    ['"__proto__":', '\\"__proto__":', "__proto__"],
    "line\u2028paragraph\u2029",
    {"\u2028": "</script><!--"},
    [1e300, 2**53, 0.1],
    "\\u2028 é 😀 \0",
]


def test_a_packet_is_heard_as_json_would_be(polling: SdkPage) -> None:
    messages = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in TROUBLESOME]
    heard = polling.run(
        """
        let heard = [];
        const pRTLPCB = (number, messages) => { heard = messages; };
        eval(given[0]);
        return heard.map((each) => JSON.stringify(each));
        """,
        packet_script(0, messages).decode(),
    )
    assert [json.loads(each) for each in heard] == TROUBLESOME
