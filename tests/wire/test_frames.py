import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.dialogue import client_frames
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import ProtocolError
from treedb.wire.frames import Assembler

SPEC = Path(__file__).parents[1] / "spec" / "frames.json"
CASES: list[dict[str, Any]] = json.loads(SPEC.read_text())["cases"]


def limits_of(case: dict[str, Any]) -> Limits:
    return replace(DEFAULT_LIMITS, **case.get("limits", {}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_frames_come_to_messages_or_a_close(case: dict[str, Any]) -> None:
    assembler = Assembler(limits_of(case))
    messages = []
    code = None
    try:
        for frame in case["frames"]:
            message = assembler.push(frame)
            if message is not None:
                messages.append(message)
    except ProtocolError as error:
        code = error.close_code
    assert messages == case["messages"]
    assert code == case.get("close")


def test_a_limit_names_both_numbers() -> None:
    assembler = Assembler(replace(DEFAULT_LIMITS, segments=3, realtime_write_bytes=4))
    with pytest.raises(ProtocolError, match="4 segments was announced, the limit is 3"):
        assembler.push("4")
    with pytest.raises(ProtocolError, match="has 5 bytes or more, the limit is 4"):
        assembler.push("12.45")


def test_missing_and_kept_segments_are_counted() -> None:
    assembler = Assembler(DEFAULT_LIMITS)
    counts = []
    for frame in ("3", "ab", "é", "c"):
        assembler.push(frame)
        counts.append((assembler.missing, assembler.size_bytes))
    assert counts == [(3, 0), (2, 2), (1, 4), (0, 0)]


@given(st.lists(st.text(min_size=1).map(lambda text: "{" + text)), st.integers(1, 9))
def test_what_is_cut_is_joined_again(texts: list[str], units: int) -> None:
    assembler = Assembler(DEFAULT_LIMITS)
    frames = [frame for text in texts for frame in client_frames(text, units)]
    joined = [message for frame in frames if (message := assembler.push(frame)) is not None]
    assert joined == texts


@given(st.lists(st.text(st.sampled_from('0123459-{}"é\ud800 '), max_size=5), max_size=20))
def test_no_frames_break_it(frames: list[str]) -> None:
    assembler = Assembler(replace(DEFAULT_LIMITS, segments=12, realtime_write_bytes=30))
    code = None
    try:
        for frame in frames:
            assembler.push(frame)
            assert assembler.size_bytes <= 30
            assert assembler.missing <= 12
    except ProtocolError as error:
        code = error.close_code
    assert code in (None, 1008, 1009)
