"""Which hosts the server answers for.

A page that a stranger serves can lead its own name to this server's address ("DNS rebinding"); to
the browser its requests are then of one origin with the server. What gives such a request away is
its Host, which is the stranger's name. So the server answers for names that no stranger can own,
and for those its operator lists.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

ANY: Final = "*"
MOST_BYTES: Final = 262  # a name of 253 characters, the last dot and the port; RFC 1035
# Names that nobody can register: RFC 6761, RFC 6762, RFC 8375, and ICANN's choice of 2024.
LOCAL_ENDINGS: Final = (".localhost", ".local", ".internal", ".test", ".home.arpa")

_NAME: Final = r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*"
_is_host: Final = re.compile(rf"(\[[0-9a-f:.]+\]|{_NAME}\.?)(?::([0-9]{{1,5}}))?").fullmatch
_is_pattern: Final = re.compile(rf"((?:\*\.)?{_NAME})\.?").fullmatch

Host = tuple[str, int | None]  # its name, and its port where it gives one


def parse_host(raw: bytes) -> Host | None:
    """Read a Host header's value; None when it is not well formed."""
    return _parse(raw) if len(raw) <= MOST_BYTES else None


@lru_cache(maxsize=1024)
def _parse(raw: bytes) -> Host | None:
    found = _is_host(raw.decode("latin-1").lower())
    if found is None:
        return None
    name, port = found[1].removesuffix("."), found[2]
    if name.startswith("[") and not _is_address(name):
        return None
    return name, None if port is None else int(port)


def parse_host_pattern(text: str) -> str | None:
    """Read an entry of the setting: a name, "*.name" for all below one, "*" for any."""
    found = _is_pattern(text.lower())
    return ANY if text == ANY else None if found is None else found[1]


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names that are answered for beside local ones; `endings` begin with a dot."""

    names: frozenset[str]
    endings: tuple[str, ...]
    allows_any: bool

    @classmethod
    def of(cls, patterns: Iterable[str]) -> "Hosts":
        """Make them of patterns that were read before."""
        every = frozenset(patterns)
        endings = tuple(sorted(each[1:] for each in every if each.startswith("*.")))
        return cls(every, endings, ANY in every)

    def allows(self, name: str) -> bool:
        """Tell whether requests for a host of this name are answered."""
        return (
            self.allows_any or name in self.names or name.endswith(self.endings) or is_local(name)
        )


@lru_cache(maxsize=1024)
def is_local(name: str) -> bool:
    """Tell whether a host is named by an address, or by a name that no stranger can own."""
    return "." not in name or name.endswith(LOCAL_ENDINGS) or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
