"""Two browsers chat, with and without the chat's rules.

Messages appear in the other at once and outlive kill -9 of the server; under the rules nobody
speaks in another's name.
"""

import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.auth.minting import unsigned
from tests.server_process import ServerProcess, StartServer

CHAT = Path(__file__).parent.parent.parent / "examples" / "chat"
RULES = CHAT / "rules.json"
OWNER = {"Authorization": "Bearer owner"}
ID = "-Mqz1RFL0000000000ab"
AT_ONCE_MS = 2_000
BACK_MS = 40_000  # the client's longest wait between two tries is part of it
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

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

UID_SECONDS = 10.0


@pytest.fixture(params=["open", "with rules"])
def server(start_server: StartServer, request: pytest.FixtureRequest) -> ServerProcess:
    with_rules = ("--rules", str(RULES)) if request.param == "with rules" else ()
    return start_server("--static", str(CHAT), *with_rules)


only_with_rules = pytest.mark.parametrize("server", ["with rules"], indirect=True)


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


# Under the rules


def say_as(uid: str, sender: str, text: str) -> dict[str, object]:
    """Return the update that says something, as the page does it."""
    timestamp = {".sv": "timestamp"}
    words = {"sender": sender, "name": "Mary", "message": text, "timestamp": timestamp}
    return {
        f"members/tree-house/{uid}": {"name": "Mallory", "joined": timestamp},
        f"messages/tree-house/{ID}": words,
        "rooms/tree-house/count": {".sv": {"increment": 1}},
        "rooms/tree-house/last": {**words, "sender": uid},
    }


def update_by_rest(server: ServerProcess, uid: str, update: Mapping[str, object]) -> httpx.Response:
    return httpx.patch(f"{server.url}/.json", params={"auth": unsigned(sub=uid)}, json=update)


UPDATE_BY_CLIENT = """
async ([token, update]) => {
  const { connect } = await import('/.client/index.js');
  const database = connect(location.origin, { token });
  try {
    await database.ref('/').update(update);
    return 'OK';
  } catch (error) {
    return error.code;
  } finally {
    database.close();
  }
}
"""


def update_by_client(visitor: Visitor, uid: str, update: Mapping[str, object]) -> object:
    return visitor.page.evaluate(UPDATE_BY_CLIENT, [unsigned(sub=uid), update])


def uid_of(server: ServerProcess, name: str) -> str:
    """Wait until a visitor is a member on the server too: its own page shows that at once."""
    end = time.monotonic() + UID_SECONDS
    while True:
        members = httpx.get(f"{server.url}/members/tree-house.json", headers=OWNER).json() or {}
        found = [uid for uid, member in members.items() if member["name"] == name]
        if found or time.monotonic() > end:
            [uid] = found
            assert isinstance(uid, str)
            return uid
        time.sleep(0.05)


@only_with_rules
def test_nobody_speaks_in_anothers_name(invite: Invite, server: ServerProcess) -> None:
    mary = invite("Mary")
    mary.create_room("Tree house")
    mary.say("It is really me.")
    mary.sees("It is really me.")
    victim = uid_of(server, "Mary")
    forged = say_as("mallory", victim, "I owe Mallory a hundred.")
    assert update_by_client(mary, "mallory", forged) == "PERMISSION_DENIED"
    answer = update_by_rest(server, "mallory", forged)
    assert (answer.status_code, answer.json()) == (401, {"error": "Permission denied"})
    own = say_as("mallory", "mallory", "I am Mallory.")
    assert update_by_client(mary, "mallory", own) == "OK"
    mary.sees("I am Mallory.")
    change = {f"messages/tree-house/{ID}/message": "Mallory owes everybody."}
    assert update_by_client(mary, victim, change) == "PERMISSION_DENIED"
    assert update_by_rest(server, victim, change).status_code == 401
    expect(mary.find("message-text")).to_have_count(2)


@only_with_rules
def test_messages_are_for_members(invite: Invite, server: ServerProcess) -> None:
    mary = invite("Mary")
    mary.create_room("Tree house")
    mary.say("Among ourselves")
    mary.sees("Among ourselves")
    place, member = f"{server.url}/messages/tree-house.json", uid_of(server, "Mary")
    assert httpx.get(place).status_code == 401
    assert httpx.get(place, params={"auth": unsigned(sub="stranger")}).status_code == 401
    assert httpx.get(place, params={"auth": unsigned(sub=member)}).status_code == 200
    newcomer = invite("Hamadi")
    newcomer.open_room("Tree house")
    newcomer.sees("Among ourselves")
    assert uid_of(server, "Hamadi")


@only_with_rules
def test_two_who_make_one_room_at_once_both_speak_in_it(
    invite: Invite, server: ServerProcess
) -> None:
    mary, hamadi = invite("Mary"), invite("Hamadi")
    for visitor in (mary, hamadi):
        visitor.page.goto(f"{server.url}/?room=tree-house")
        expect(visitor.find("connection")).to_have_attribute("data-state", "online")
        expect(visitor.find("empty")).to_contain_text("This is where Tree House begins")
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)  # what both ask for arrives at once
    for visitor in (mary, hamadi):
        visitor.say(f"{visitor.name} was first!")
    server.process.send_signal(signal.SIGCONT)
    for visitor in (mary, hamadi):
        for text in ("Mary was first!", "Hamadi was first!"):
            visitor.sees(text)
    assert httpx.get(f"{server.url}/rooms/tree-house/count.json", headers=OWNER).json() == 2


@only_with_rules
def test_a_new_name_is_told_in_every_room(invite: Invite, server: ServerProcess) -> None:
    mary = invite("Mary")
    for room in ("Kitchen", "Tree house"):
        mary.create_room(room)
        mary.say("Hello")
        mary.sees("Hello")
    mary.find("me").click()
    mary.find("name-input").fill("Maria")
    mary.find("name-input").press("Enter")
    mary.say("Call me Maria")
    mary.sees("Call me Maria")
    members = httpx.get(f"{server.url}/members.json", headers=OWNER).json()
    names = {member["name"] for room in members.values() for member in room.values()}
    assert (sorted(members), names) == (["kitchen", "tree-house"], {"Maria"})


@only_with_rules
def test_what_is_denied_is_said_in_words(
    invite: Invite, server: ServerProcess, artefacts: Path
) -> None:
    mary = invite("Mary")
    mary.create_room("Tree house")
    mary.say("Before")
    mary.sees("Before")
    closing = RULES.read_text().replace("auth != null && (data.exists()", "false && (data.exists()")
    put_rules(server, closing)
    mary.say("Too late")
    failed = mary.find("message").filter(has_text="Too late")
    expect(failed).to_have_attribute("data-state", "failed")
    expect(failed.locator('[data-test="message-note"]')).to_have_text(
        "Not sent: the rules of this server do not allow it. Try again"
    )
    mary.picture(artefacts / "chat-denied.png")
    put_rules(server, RULES.read_text())
    failed.get_by_text("Try again").click()
    expect(failed).to_have_attribute("data-state", "sent")
    put_rules(server, '{"rules": {}}')
    expect(mary.find("empty")).to_contain_text("the rules of this server do not allow it")


def put_rules(server: ServerProcess, text: str) -> None:
    answer = httpx.put(f"{server.url}/.settings/rules.json", content=text, headers=OWNER)
    assert answer.status_code == 200, answer.text


def test_where_unsigned_tokens_do_not_count_the_page_says_so(
    browser: Browser, start_server: StartServer
) -> None:
    server = start_server("--no-dev", "--static", str(CHAT), "--rules", str(RULES))
    with browser.new_context(viewport=DESKTOP) as context:
        mary = Visitor(context.new_page(), "Mary")
        mary.come_in(f"{server.url}/")
        expect(mary.page.locator("#toast")).to_have_text(
            "The server did not let you sign in: "
            "it takes unsigned tokens only when it was started with --dev."
        )
        expect(mary.find("empty")).to_contain_text("the rules of this server do not allow it")
        assert mary.errors == []
