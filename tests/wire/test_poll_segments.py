import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.poll_calls import cut, encoded
from treedb.config import DEFAULT_LIMITS
from treedb.errors import ProtocolError
from treedb.wire.poll import Segment
from treedb.wire.poll_segments import PollSegments

LIMITS = replace(DEFAULT_LIMITS, poll_segments=5, poll_segments_ahead=4, realtime_write_bytes=30)


def test_segments_are_joined_to_messages() -> None:
    segments = PollSegments(DEFAULT_LIMITS)
    texts = ['{"t":"c"}', '{"é":"😀?>~"}', "x" * 100]
    assert segments.push(cut(texts, 8)) == texts
    assert not segments.is_waiting


def test_the_alphabet_is_safe_in_urls() -> None:
    assert encoded("~~~???") == "fn5-Pz8_"
    assert PollSegments(DEFAULT_LIMITS).push([Segment(0, 1, "fn5-Pz8_")]) == ["~~~???"]


def test_a_message_waits_for_all_its_segments() -> None:
    segments = PollSegments(DEFAULT_LIMITS)
    first, second = cut(["abcdef"], 4)
    assert segments.push([first]) == []
    assert segments.is_waiting
    assert segments.push([second]) == ["abcdef"]
    assert not segments.is_waiting


def test_a_segment_waits_for_those_before_it() -> None:
    segments = PollSegments(DEFAULT_LIMITS)
    first, second, third = cut(["a", "b", "c"], 4)
    assert segments.push([third]) == []
    assert segments.push([second]) == []
    assert segments.is_waiting
    assert segments.push([first]) == ["a", "b", "c"]
    assert not segments.is_waiting


def test_a_call_that_a_browser_repeats_counts_once() -> None:
    segments = PollSegments(DEFAULT_LIMITS)
    first, second, third = cut(["a", "b", "c"], 4)
    assert segments.push([first]) == ["a"]
    assert segments.push([first]) == []
    assert segments.push([third]) == []
    assert segments.push([third]) == []
    assert segments.push([first, second, third]) == ["b", "c"]


@given(data=st.data())
def test_any_order_with_any_repeats_gives_the_messages_in_order(data: Any) -> None:
    texts = data.draw(st.lists(st.text(min_size=1, max_size=20), max_size=8))
    sent = cut(texts, data.draw(st.integers(1, 12)))
    repeats = data.draw(st.lists(st.sampled_from(sent), max_size=5)) if sent else []
    calls = data.draw(st.permutations([*sent, *repeats]))
    segments = PollSegments(DEFAULT_LIMITS)
    heard = [text for segment in calls for text in segments.push([segment])]
    assert heard == texts
    assert not segments.is_waiting


REFUSED: list[tuple[list[Segment], int, str]] = [
    ([Segment(0, 0, "YQ..")], 1009, "A message of 0 segments was announced, from 1 to 5"),
    ([Segment(0, 6, "YQ..")], 1009, "A message of 6 segments was announced, from 1 to 5"),
    ([Segment(4, 1, "YQ..")], 1009, "Segment 4 came, and 0 is still missing"),
    ([Segment(0, 1, "YQ.."), Segment(5, 1, "YQ..")], 1009, "Segment 5 came, and 1 is still"),
    ([Segment(0, 2, "YWFh"), Segment(1, 3, "YWFh")], 1008, "1 is one of 3, those before it one of"),
    ([Segment(0, 1, "YWFh" * 10 + "YQ..")], 1009, "more than 30 bytes"),
    ([Segment(3, 1, "YWFh" * 6), Segment(2, 1, "YWFh" * 6)], 1009, "more than 30 bytes"),
    ([Segment(0, 1, "YQ")], 1008, "UTF-8 in base64"),
    ([Segment(0, 1, "Y*..")], 1008, "UTF-8 in base64"),
    ([Segment(0, 1, "Yé..")], 1008, "UTF-8 in base64"),
    ([Segment(0, 1, "_w..")], 1008, "UTF-8 in base64"),
    ([Segment(0, 1, "7aCA")], 1008, "UTF-8 in base64"),
]


@pytest.mark.parametrize("sent, close_code, reason", REFUSED)
def test_what_makes_no_message_is_refused(
    sent: list[Segment], close_code: int, reason: str
) -> None:
    with pytest.raises(ProtocolError, match=reason) as refused:
        PollSegments(LIMITS).push(sent)
    assert refused.value.close_code == close_code


def test_the_longest_message_is_taken() -> None:
    texts = ["x" * 30]
    assert PollSegments(LIMITS).push(cut(texts, 8)) == texts


def test_messages_that_are_through_leave_room() -> None:
    segments = PollSegments(LIMITS)
    texts = [json.dumps(number) * 25 for number in range(9)]
    assert [text for each in cut(texts, 20) for text in segments.push([each])] == texts
