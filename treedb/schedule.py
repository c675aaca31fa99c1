"""The event loop, as those who are not to know it need it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """Run something soon, or after some seconds."""

    soon: Callable[[Callable[[], None]], object]
    later: Callable[[float, Callable[[], None]], object]
