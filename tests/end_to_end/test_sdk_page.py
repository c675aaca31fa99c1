"""The page itself, over a websocket: what the tests of other transports stand on."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error

from tests.end_to_end.sdk_page import page_server, sdk_page
from tests.server_process import ServerProcess


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with page_server() as served:
        yield served


def test_a_page_has_the_sdk_in_both_its_forms(
    browser: Browser, origin: str, server: ServerProcess
) -> None:
    with sdk_page(browser, origin, "websocket") as page:
        written = page.run(
            """
            const { ref, set, get } = database;
            const place = ref(open_client(given[0]), "both");
            await set(place, { forms: given[1] });
            const older = firebase.initializeApp({ databaseURL: given[0] }).database();
            return [(await get(place)).val(), (await older.ref("both/forms").get()).val()];
            """,
            f"{server.url}?ns=page",
            ["modular", "compat"],
        )
        assert written == [{"forms": ["modular", "compat"]}, ["modular", "compat"]]
        assert page.uses(".ws") == 2
        assert page.errors == []


def test_what_a_script_throws_is_raised(browser: Browser, origin: str) -> None:
    with sdk_page(browser, origin, "websocket") as page, pytest.raises(Error, match="of its own"):
        page.run("throw new Error('a mistake of its own')")


def test_a_script_of_the_node_tests_can_be_called(browser: Browser, origin: str) -> None:
    with sdk_page(browser, origin, "websocket") as page:
        assert page.call("scenarios/values.mjs", "plain", {"a": [1]}) == {"a": [1]}
