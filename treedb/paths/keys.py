"""What a key may be: the one place that refuses a name.

A key is 1 to 768 bytes of UTF-8 holding none of `. # $ [ ] /` and no ASCII control character
(Firebase documentation, "Structure your database": limits and restrictions of keys). Everything
else is a key as it stands: spaces, quotes, `__proto__`, right-to-left marks; nothing is trimmed
and no Unicode normalisation happens, so two spellings of one word are two keys.
"""

import re
from collections.abc import Iterable
from typing import Final

from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidPath

# A string of at most this many characters is within the limit whatever they are: a character
# takes four bytes at most. Saves encoding keys only to measure them.
SURELY_SHORT: Final = DEFAULT_LIMITS.key_bytes // 4

_FORBIDDEN: Final = re.compile(r"[.#$\[\]/\x00-\x1f\x7f\ud800-\udfff]")
_SHOWN_CHARACTERS: Final = 60


def find_bad_key(keys: Iterable[str]) -> str | None:
    """Return the first key that is not legal, or None when all are.

    Made for whole objects: legal keys are recognised by one search over all of them joined.
    """
    every = list(keys)
    joined = "".join(every)
    if (
        _FORBIDDEN.search(joined) is None
        and all(every)
        and (len(joined) <= SURELY_SHORT or max(map(len, every)) <= SURELY_SHORT)
    ):
        return None
    return next((key for key in every if key_problem(key) is not None), None)


def check_key(key: str) -> None:
    """Raise InvalidPath naming the key and what is wrong with it, unless it is legal."""
    problem = key_problem(key)
    if problem is not None:
        raise InvalidPath(problem)


def key_problem(key: str) -> str | None:
    """Tell in one sentence why a key is not legal, or return None when it is."""
    if not key:
        return "A key is empty: a key has at least one character."
    found = _FORBIDDEN.search(key)
    if found is not None:
        return f"The key {shown(key)} {_what_is_wrong_with(found[0])}"
    if len(key) > SURELY_SHORT:
        size, limit = len(key.encode()), DEFAULT_LIMITS.key_bytes
        if size > limit:
            return f"The key {shown(key)} has {size} bytes of UTF-8: at most {limit} are allowed."
    return None


def shown(text: str) -> str:
    """Quote foreign text for a message: on one line, printable, and cut when long."""
    if len(text) <= _SHOWN_CHARACTERS:
        return repr(text)
    return f"{text[:_SHOWN_CHARACTERS]!r}..."


def _what_is_wrong_with(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return f"holds the lone surrogate {character!r}, which is no character."
    if character < " " or character == "\x7f":
        return f"holds the control character {character!r}: keys hold none of 0-31 and 127."
    return f"holds {character!r}: keys hold none of . # $ [ ] and /."
