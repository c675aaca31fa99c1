"""The system clock tells time and draws bits."""

import time

from treedb.clock import SystemClock


def test_now_is_the_wall_clock_in_milliseconds() -> None:
    before, now, after = time.time(), SystemClock().now_ms(), time.time()
    assert int(before * 1000) <= now <= int(after * 1000) + 1


def test_the_monotonic_clock_never_goes_back() -> None:
    clock = SystemClock()
    times = [clock.monotonic() for _ in range(100)]
    assert times == sorted(times)


def test_random_bits_stay_in_their_range_and_differ() -> None:
    drawn = {SystemClock().random_bits(72) for _ in range(100)}
    assert len(drawn) == 100
    assert all(0 <= bits < 2**72 for bits in drawn)
