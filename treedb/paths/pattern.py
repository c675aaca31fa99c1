"""A path with `$names` in place of some keys, as rules and mirrors write it.

`/users/$uid/groups/$gid` matches every path of four keys whose first is "users" and whose third
is "groups"; it captures the other two as the bindings {"$uid": ..., "$gid": ...}. Names keep
their `$` everywhere, as in the expressions that use them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidPath
from treedb.paths.keys import check_key, shown
from treedb.paths.path import Path

_is_name: Final = re.compile(r"\$[A-Za-z0-9_]+").fullmatch


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path whose keys starting with `$` stand for any key; each name stands once.

    `names` are the names in the order they stand, each with its `$`.
    """

    keys: tuple[str, ...]
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Asked for with every entry of a mirror that is met.
        object.__setattr__(self, "names", tuple(filter(is_name, self.keys)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a pattern: "/users/$uid", "users/$uid", "/" or "".

        Raises InvalidPath for keys that are not legal, names that are empty, twice or of other
        characters than letters, digits and underscores, and for more levels than data may have.
        """
        keys = tuple(filter(None, text.split("/")))
        if len(keys) > DEFAULT_LIMITS.depth:
            raise InvalidPath(
                f"The pattern {shown(text)} is {len(keys)} keys deep: "
                f"at most {DEFAULT_LIMITS.depth} are allowed."
            )
        seen: set[str] = set()
        for key in keys:
            if not is_name(key):
                check_key(key)
                continue
            _check_name(key)
            if key in seen:
                raise InvalidPath(f"The pattern {shown(text)} has the name {key} twice.")
            seen.add(key)
        return cls(keys)

    def format(self) -> str:
        """Write the pattern as "/users/$uid", the empty one as "/"."""
        return "/" + "/".join(self.keys)

    def __str__(self) -> str:
        return self.format()

    def match(self, path: Path) -> dict[str, str] | None:
        """Return what the names stand for in a path of the same depth, None if it differs.

        A name never stands for `.priority`, which is no key.
        """
        if len(path.keys) != len(self.keys) or path.is_priority:
            return None
        bindings: dict[str, str] = {}
        for mine, key in zip(self.keys, path.keys, strict=True):
            if is_name(mine):
                bindings[mine] = key
            elif mine != key:
                return None
        return bindings

    def fill(self, bindings: Mapping[str, str]) -> Path:
        """Put keys in the names' places; the keys are known to be legal, more names are fine."""
        assert bindings.keys() >= set(self.names), f"no binding for some name of {self}"
        return Path(tuple([bindings[key] if key[0] == "$" else key for key in self.keys]))


def is_name(key: str) -> bool:
    """Tell whether a pattern's key is a `$name`; no legal key of data is one."""
    return key.startswith("$")


def _check_name(name: str) -> None:
    if name == "$":
        raise InvalidPath("A name is empty: $ is followed by letters, digits or underscores.")
    if _is_name(name) is None:
        raise InvalidPath(
            f"The name {shown(name)} is not one: $ is followed by letters, digits or underscores."
        )
