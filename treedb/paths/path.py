"""A place in the tree: the keys that lead to it from the root.

The last key of a path may be `.priority`, where whoever parses allows it: it names the priority
of the node above it, is no child, and does not count for depth.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidPath
from treedb.paths.keys import SURELY_SHORT, check_key, find_bad_key, shown

PRIORITY_KEY: Final = ".priority"

_MAX_DEPTH: Final = DEFAULT_LIMITS.depth

# What makes the text of a path worth a closer look; the slash only parts its keys.
_find_forbidden: Final = re.compile(r"[.#$\[\]\x00-\x1f\x7f\ud800-\udfff]").search
# A slash written %2F would move a key's boundary depending on who decodes first: refused.
_find_bad_escape: Final = re.compile(rb"%(?:2[Ff]|(?![0-9A-Fa-f]{2}).{0,2})", re.DOTALL).search
_each_escape: Final = re.compile(rb"%(..)", re.DOTALL).sub
_find_raw_byte: Final = re.compile(rb"[^!-~]").search


@dataclass(frozen=True, slots=True)
class Path:
    """A place. The constructor takes keys known to be legal; foreign text goes through `parse`."""

    keys: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, *, allow_priority: bool = False) -> Self:
        """Read a path as the realtime protocol writes it: "/a/b", "a/b", "/" or "".

        Empty parts are dropped, nothing is unescaped. Raises InvalidPath naming the bad key or
        both depths. `allow_priority` accepts `.priority` as last key.
        """
        keys = tuple(filter(None, text.split("/")))
        if len(text) > SURELY_SHORT or len(keys) > _MAX_DEPTH or _find_forbidden(text) is not None:
            _check(keys, allow_priority)
        return cls(keys)

    @classmethod
    def parse_url(cls, raw: bytes, *, allow_priority: bool = False) -> Self:
        """Read a path from the still percent-encoded path of a URL, without its ".json".

        Every part is decoded exactly once as strict UTF-8. Raises InvalidPath for what `parse`
        refuses, and for escapes that are cut, not hexadecimal or a slash, for text that is not
        UTF-8, and for bytes no URL may hold unescaped (RFC 3986: printable ASCII only).
        """
        return cls.parse(_unescape(raw), allow_priority=allow_priority)

    def format(self) -> str:
        """Write the path as "/a/b", the root as "/"."""
        return "/" + "/".join(self.keys)

    def __str__(self) -> str:
        return self.format()

    @property
    def depth(self) -> int:
        """Count the levels below the root; `.priority` is none."""
        return len(self.keys) - self.is_priority

    @property
    def is_priority(self) -> bool:
        """Tell whether the path names a node's priority."""
        return self.keys[-1:] == (PRIORITY_KEY,)

    @property
    def parent(self) -> "Path | None":
        """Return the place above, None for the root."""
        return Path(self.keys[:-1]) if self.keys else None

    def child(self, key: str) -> "Path":
        """Return the place one key below; the key is known to be legal."""
        return Path((*self.keys, key))

    def join(self, keys: Sequence[str]) -> "Path":
        """Return the place some keys below; the keys are known to be legal."""
        return Path((*self.keys, *keys))

    def contains(self, other: "Path") -> bool:
        """Tell whether the other path is this place or below it."""
        return other.keys[: len(self.keys)] == self.keys

    def relative(self, other: "Path") -> tuple[str, ...]:
        """Return the keys that lead from this place to one at or below it."""
        assert self.contains(other), f"{other} is not below {self}"
        return other.keys[len(self.keys) :]


ROOT: Final = Path(())


def _check(keys: tuple[str, ...], allow_priority: bool) -> None:
    names = keys[:-1] if allow_priority and keys[-1:] == (PRIORITY_KEY,) else keys
    bad = find_bad_key(names)
    if bad is not None:
        check_key(bad)
    if len(names) > _MAX_DEPTH:
        raise InvalidPath(f"The path is {len(names)} keys deep: at most {_MAX_DEPTH} are allowed.")


def _unescape(raw: bytes) -> str:
    # With %2F refused no slash can appear by decoding, so decoding the whole at once and parting
    # it at slashes afterwards gives the same keys as the other way round.
    bad = _find_raw_byte(raw)
    if bad is not None:
        raise InvalidPath(f"The URL's path holds the byte 0x{bad[0][0]:02x} unescaped.")
    if b"%" not in raw:
        return raw.decode("ascii")
    bad = _find_bad_escape(raw)
    if bad is not None:
        raise InvalidPath(_escape_problem(bad[0].decode("ascii")))
    try:
        return _each_escape(_byte, raw).decode()
    except UnicodeDecodeError as error:
        raise InvalidPath(
            f"The URL's path is not UTF-8 when unescaped: byte 0x{error.object[error.start]:02x} "
            f"at {error.start} ({error.reason})."
        ) from error


def _byte(escape: re.Match[bytes]) -> bytes:
    return bytes((int(escape[1], 16),))


def _escape_problem(escape: str) -> str:
    if escape in ("%2F", "%2f"):
        return f"The URL's path holds {escape}, a slash: keys hold none of . # $ [ ] and /."
    return f"The URL's path holds {shown(escape)}: % is followed by two hexadecimal digits."
