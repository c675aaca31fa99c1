"""Whatever frames a client sends, each request is answered once by its number, or it is closed.

The corpus is the tables of wrong and right messages; each conversation changes some of it by its
seed: bytes flipped, members exchanged, types changed, cut, doubled, counts that lie. What is to be
answered is found by an oracle of a few lines, which puts frames together and reads JSON.
"""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.server.bad_inputs import load_table
from tests.server.live_server import errors_logged
from tests.server.opened_database import opened_database
from tests.server.recording_door import RecordingDoor
from treedb.auth.dev_tokens import parse_dev_credential
from treedb.config import DEFAULT_LIMITS
from treedb.database import Database
from treedb.server.callers import Callers
from treedb.server.session import Session
from treedb.store.kept_rules import Origin
from treedb.wire import messages, outgoing
from treedb.wire.ready_frame import ready_frames

MESSAGES = load_table("bad_messages.json")
LIMITS = replace(DEFAULT_LIMITS, segments=12, realtime_write_bytes=4096, listens_per_connection=5)
CALLERS = Callers(parse_dev_credential, explains_to_all=False)
CONVERSATIONS = 900
TOGETHER = 3  # conversations at a time: nobody is answered what another asked
FENCE = 2**53 - 1
CLOSES = {1008, 1009}
HEAD = re.compile(r'\{"t":"d","d":\{"r":([0-9]+),')

CORPUS = [row["frames"] for row in MESSAGES["rows"] if "frames" in row]
ODD_VALUES = [
    None, True, False, 0, -1, 1.5, 2**53, 10**30, "", "x", "\ud800", [], {}, [1], {"a": 1},
    ".sv", {".sv": "timestamp"}, {".value": 1, ".priority": 2}, "/open/a", "0", "q", "p", "d",
]  # fmt: skip


@dataclass
class Expected:
    """The oracle: which numbers the frames so far ask about, and how many messages they make."""

    missing: int = 0
    segments: list[str] = field(default_factory=list)
    numbers: Counter[int] = field(default_factory=Counter)
    requests: int = 0

    def take(self, frame: str) -> None:
        if self.missing:
            self.segments.append(frame)
            self.missing -= 1
            if not self.missing:
                self.take_message("".join(self.segments))
                self.segments = []
        elif re.fullmatch("[0-9]+", frame, re.ASCII):
            self.missing = int(frame) if len(frame) < 5 else 0
        else:
            self.take_message(frame)

    def take_message(self, text: str) -> None:
        """Count what may be answered: the number JSON gives, and what stands at the beginning."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict) and message.get("t") == "c":
            return
        self.requests += 1
        content = message.get("d") if isinstance(message, dict) else None
        number = content.get("r") if isinstance(content, dict) else None
        head = HEAD.match(text)
        if isinstance(number, int):
            self.numbers[number] += 1
        elif head is not None:
            self.numbers[int(head[1][:17])] += 1


# What may be changed.


def flip(choice: random.Random, frames: list[str]) -> list[str]:
    index = choice.randrange(len(frames))
    raw = bytearray(frames[index].encode(errors="surrogatepass"))
    for _ in range(choice.randint(1, 3)):
        if raw:
            raw[choice.randrange(len(raw))] ^= 1 << choice.randrange(7)
    text = raw.decode(errors="replace")
    return [*frames[:index], text, *frames[index + 1 :]]


def cut(choice: random.Random, frames: list[str]) -> list[str]:
    index = choice.randrange(len(frames))
    text = frames[index]
    return [*frames[:index], text[: choice.randrange(len(text) + 1)], *frames[index + 1 :]]


def double(choice: random.Random, frames: list[str]) -> list[str]:
    index = choice.randrange(len(frames))
    return [*frames[: index + 1], *frames[index:]]


def shuffle(choice: random.Random, frames: list[str]) -> list[str]:
    return choice.sample(frames, len(frames))


def splice(choice: random.Random, frames: list[str]) -> list[str]:
    one, other = choice.choice(frames), choice.choice(choice.choice(CORPUS))
    at = choice.randrange(len(one) + 1)
    return [*frames, one[:at] + other[min(at, len(other)) :]]


def segment(choice: random.Random, frames: list[str]) -> list[str]:
    """Cut a message into segments, with a count that may lie."""
    index = choice.randrange(len(frames))
    text, count = frames[index], choice.randint(1, 5)
    size = len(text) // count + 1
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    told = str(len(pieces) + choice.choice((0, 0, 0, 1, -1, 7, 10**6)))
    if choice.random() < 0.2:
        choice.shuffle(pieces)
    return [*frames[:index], told, *pieces, *frames[index + 1 :]]


def change_type(choice: random.Random, frames: list[str]) -> list[str]:
    """Put an odd value somewhere inside a message."""
    index = choice.randrange(len(frames))
    try:
        message = json.loads(frames[index])
    except ValueError:
        return frames
    places = [each for each in _containers(message) if each]
    if not places:
        return frames
    place = choice.choice(places)
    key = choice.choice(list(place))
    place[key] = choice.choice(ODD_VALUES)
    if choice.random() < 0.3:
        other = choice.choice(list(place))
        place[key], place[other] = place[other], place[key]
    text = json.dumps(message, ensure_ascii=choice.random() < 0.5, separators=(",", ":"))
    return [*frames[:index], text, *frames[index + 1 :]]


def _containers(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [value, *(each for child in value.values() for each in _containers(child))]


CHANGES: tuple[Callable[[random.Random, list[str]], list[str]], ...] = (
    flip, cut, double, shuffle, splice, segment, change_type, change_type, change_type,
)  # fmt: skip


def conversation(choice: random.Random) -> list[str]:
    frames = [frame for rows in choice.choices(CORPUS, k=choice.randint(1, 4)) for frame in rows]
    for _ in range(choice.randint(0, 4)):
        frames = choice.choice(CHANGES)(choice, frames)
    return frames


async def converse(database: Database, frames: list[str], seed: int) -> str:
    """Send frames and hold what comes to the oracle; return "" or how the session closed."""
    door, expected = RecordingDoor(), Expected()
    session = Session(database, door, CALLERS)
    fence = json.dumps({"t": "d", "d": {"r": FENCE, "a": "echo", "b": {"d": seed}}})
    sent = 0
    while door.closed is None and (sent < len(frames) or session.is_waiting):
        frame = frames[sent] if sent < len(frames) else "}"
        sent += 1
        expected.take(frame)
        await session.receive(frame)
        assembler = session._connection._assembler
        assert assembler.missing <= LIMITS.segments, seed
        assert assembler.size_bytes <= LIMITS.realtime_write_bytes, seed
    await session.receive(fence)
    await door.until(lambda: door.closed is not None or _is_fenced(door, seed))
    answers = [each["d"]["r"] for each in door.messages if "r" in each["d"]]
    extra = Counter(answers) - expected.numbers - Counter((FENCE,))
    assert not extra, (seed, frames)
    if door.closed is None:
        assert len(answers) == expected.requests + 1, (seed, frames)
        session.end()
        return ""
    assert door.closed[0] in CLOSES, (seed, frames)
    session.end()
    return str(door.closed[0])


def _is_fenced(door: RecordingDoor, seed: int) -> bool:
    return any(
        each["d"].get("r") == FENCE and each["d"]["b"]["d"] == seed for each in door.messages
    )


async def test_whatever_comes_is_answered_by_its_number_or_closes(
    tmp_path: FilePath, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    ends: Counter[str] = Counter()
    async with opened_database(tmp_path, LIMITS) as database:
        await database.put_rules(json.dumps(MESSAGES["rules"]), Origin.ADMIN)
        for number in range(seed, seed + CONVERSATIONS, TOGETHER):
            together = [
                converse(database, conversation(random.Random(each)), each)
                for each in range(number, number + TOGETHER)
            ]
            ends.update(await asyncio.gather(*together))
            assert errors_logged(caplog) == [], number
        assert await converse(database, ['{"t":"d","d":{"r":1,"a":"s","b":{}}}'], 0) == ""
        assert database.watched_places == 0
    assert set(ends) == {"", "1008", "1009"}


@pytest.mark.parametrize("frames", CORPUS)
async def test_the_oracle_agrees_with_the_tables(tmp_path: FilePath, frames: list[str]) -> None:
    limits = replace(
        LIMITS, segments=1100, realtime_write_bytes=DEFAULT_LIMITS.realtime_write_bytes
    )
    async with opened_database(tmp_path, limits) as database:
        await converse(database, frames, 0)


async def test_the_oracle_notices_an_answer_to_nobody(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer_another(session: Session, message: messages.Stats) -> tuple[bytes, ...]:
        return (ready_frames(outgoing.answer(message.number + 1, "ok", b"{}")),)

    monkeypatch.setitem(Session._ANSWERS, messages.Stats, answer_another)
    async with opened_database(tmp_path, LIMITS) as database:
        with pytest.raises(AssertionError):
            await converse(database, ['{"t":"d","d":{"r":1,"a":"s","b":{}}}'], 0)
