"""What REST does with JSON text, here or on a thread."""

import threading

import pytest

from treedb.server.rest_call import INLINE_BYTES, on_text_of, pretty


@pytest.mark.parametrize("size_bytes, is_here", [(INLINE_BYTES, True), (INLINE_BYTES + 1, False)])
async def test_work_on_large_text_does_not_hold_the_event_loop(
    size_bytes: int, is_here: bool
) -> None:
    thread = await on_text_of(size_bytes, threading.current_thread)
    assert (thread is threading.current_thread()) is is_here


async def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await on_text_of(INLINE_BYTES + 1, lambda: 1 / 0)


def test_pretty_text_is_indented_by_two() -> None:
    assert pretty([b'{"a"', b":[1]}"]) == b'{\n  "a": [\n    1\n  ]\n}'
