"""Two browsers chat: messages appear in the other at once, and outlive kill -9 of the server."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.server_process import ServerProcess, StartServer

CHAT = Path(__file__).parent.parent.parent / "examples" / "chat"
AT_ONCE_MS = 2_000
BACK_MS = 40_000  # the client's longest wait between two tries is part of it
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

TALK = (
    ("Mary", "Has anybody been up there since the storm?"),
    ("Hamadi", "This morning. Two planks are loose, the roof held."),
    ("Mary", "Then Saturday it is: I bring the long ladder and coffee ☕"),
    ("Hamadi", "I have screws and a spirit level somewhere.\nWho asks the neighbours for the saw?"),
    ("Mary", "I do, they owe us one."),
)


class Visitor:
    """Somebody with a browser of their own."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def find(self, part: str) -> Locator:
        return self.page.locator(f'[data-test="{part}"]')

    def come_in(self, url: str) -> None:
        self.page.goto(url)
        self.find("name-input").fill(self.name)
        self.find("name-input").press("Enter")
        expect(self.find("connection")).to_have_attribute("data-state", "online")

    def create_room(self, name: str) -> None:
        self.find("new-room").click()
        self.find("room-input").fill(name)
        self.find("room-input").press("Enter")
        expect(self.find("room-name")).to_have_text(name)

    def open_room(self, name: str) -> None:
        self.find("room").filter(has_text=name).click()
        expect(self.find("room-name")).to_have_text(name)

    def say(self, text: str) -> None:
        self.find("composer-input").fill(text)
        self.find("send-button").click()

    def sees(self, text: str, timeout_ms: int = AT_ONCE_MS) -> None:
        """Wait until exactly one message has this text."""
        exactly = re.compile(rf"^{re.escape(text)}$")
        shown = self.find("message-text").filter(has_text=exactly)
        expect(shown).to_have_count(1, timeout=timeout_ms)
        expect(shown).to_be_visible()

    def picture(self, path: Path) -> None:
        self.page.screenshot(path=path, animations="disabled")


Invite = Callable[..., Visitor]


@pytest.fixture
def server(start_server: StartServer) -> ServerProcess:
    return start_server("--static", str(CHAT))


@pytest.fixture
def invite(browser: Browser, server: ServerProcess) -> Iterator[Invite]:
    """Let visitors in, each with a browser context of their own; afterwards none saw an error."""
    visitors: list[Visitor] = []
    with ExitStack() as contexts:

        def let_in(name: str, **look: Any) -> Visitor:
            context = contexts.enter_context(browser.new_context(**{"viewport": DESKTOP, **look}))
            visitor = Visitor(context.new_page(), name)
            visitors.append(visitor)
            visitor.come_in(f"{server.url}/")
            return visitor

        yield let_in
        assert [error for visitor in visitors for error in visitor.errors] == []


def test_what_one_says_the_other_sees_at_once(invite: Invite) -> None:
    mary, hamadi = invite("Mary"), invite("Hamadi")
    mary.create_room("Tree house")
    mary.say("Is anybody here?")
    mary.sees("Is anybody here?")
    hamadi.open_room("Tree house")
    hamadi.sees("Is anybody here?")
    hamadi.say("I am!")
    mary.sees("I am!")
    hamadi.sees("I am!")


def test_what_looks_like_html_is_shown_as_text(invite: Invite) -> None:
    mary, hamadi = invite("Mary"), invite("Hamadi")
    mary.create_room("Tree house")
    mary.say("<img src=x onerror=alert(1)>")
    hamadi.open_room("Tree house")
    hamadi.sees("<img src=x onerror=alert(1)>")


def test_messages_outlive_kill_9_and_the_browsers_come_back(
    invite: Invite, server: ServerProcess
) -> None:
    mary, hamadi = invite("Mary"), invite("Hamadi")
    mary.create_room("Tree house")
    mary.say("before the crash")
    hamadi.open_room("Tree house")
    hamadi.sees("before the crash")
    server.kill()
    expect(hamadi.find("connection")).not_to_have_attribute("data-state", "online")
    hamadi.say("while it was away")
    server.start()
    mary.sees("while it was away", BACK_MS)
    mary.sees("before the crash")
    mary.say("after the crash")
    hamadi.sees("after the crash", BACK_MS)
    late = invite("Zoë")
    late.open_room("Tree house")
    for text in ("before the crash", "while it was away", "after the crash"):
        late.sees(text)


def test_it_looks_good(invite: Invite, artefacts: Path) -> None:
    mary = invite("Mary")
    mary.create_room("Tree house")
    hamadi = invite("Hamadi", color_scheme="dark")
    hamadi.open_room("Tree house")
    people = {"Mary": mary, "Hamadi": hamadi}
    for name, text in TALK:
        people[name].say(text)
        for each in people.values():
            each.sees(text)
    mary.create_room("Saturday breakfast")
    mary.say("Who brings bread?")
    mary.sees("Who brings bread?")
    mary.open_room("Tree house")
    phone = invite("Zoë", viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    phone.picture(artefacts / "chat-phone-rooms.png")
    phone.open_room("Tree house")
    phone.sees(TALK[-1][1])
    mary.picture(artefacts / "chat-light.png")
    hamadi.picture(artefacts / "chat-dark.png")
    phone.picture(artefacts / "chat-phone.png")
    width = phone.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"], "nothing sticks out of a phone's screen"
