"""The only place that asks the machine for time or randomness."""

import secrets
import time


class SystemClock:
    """Tell time and draw random numbers; tests pass an object with the same three methods."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch by the wall clock."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds from an arbitrary origin that never go back."""
        return time.monotonic()

    def random_bits(self, count: int) -> int:
        """Return `count` unguessable random bits as an integer."""
        return secrets.randbits(count)
