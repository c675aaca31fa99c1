"""ETags: a value's tag is its node hash, as the realtime protocol has it, and nothing's `null_etag`.

A client asks for tags with `X-Firebase-ETag: true`, reads only what changed with `If-None-Match`,
and writes only over what it has seen with `if-match`. Tags stand without quotes, as Firebase sends
them; with quotes they are taken too. Source: Firebase's "Saving Data: conditional requests".
"""

import re
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers

from treedb.errors import InvalidQuery
from treedb.paths.keys import shown
from treedb.tree.hashing import node_hash
from treedb.tree.values import Value

NULL: Final = "null_etag"
TAGGED: Final = frozenset(("GET", "HEAD", "PUT", "POST", "DELETE"))
CONDITIONAL: Final = frozenset(("PUT", "DELETE"))
READING: Final = frozenset(("GET", "HEAD"))

_is_tag: Final = re.compile(r'"?([A-Za-z0-9+/=_-]{1,64})"?').fullmatch


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a request says about tags: it wants one, or holds only for some tag, or for no tag."""

    wants_tag: bool = False
    match: str | None = None
    none_match: str | None = None

    @property
    def needs_tag(self) -> bool:
        """Tell whether the answer to a read depends on the value's tag."""
        return self.wants_tag or self.none_match is not None

    @property
    def expected_hash(self) -> str | None:
        """Return the hash that a write expects, "" where it expects nothing; None without one."""
        return "" if self.match == NULL else self.match


NO_CONDITIONS: Final = Conditions()


def tag_of(value: Value) -> str:
    """Return the tag of a value in export form."""
    return node_hash(value) or NULL


def conditions_of(headers: Headers, method: str, *, may_match: bool = False) -> Conditions:
    """Read the conditions of a request; InvalidQuery where they make no sense with its method.

    `may_match` allows `if-match` beyond the methods that always take it.
    """
    wants = headers.get("x-firebase-etag", "").lower() == "true"
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
    if wants and method not in TAGGED:
        raise InvalidQuery(f"X-Firebase-ETag is not for {method}: leave it out.")
    if match is not None and method not in CONDITIONAL and not may_match:
        raise InvalidQuery(f"if-match is for PUT and DELETE, not for {method}: leave it out.")
    return Conditions(
        wants,
        None if match is None else _tag("if-match", match),
        None if none_match is None or method not in READING else _tag("if-none-match", none_match),
    )


def _tag(name: str, text: str) -> str:
    found = _is_tag(text.strip())
    if found is None:
        raise InvalidQuery(
            f"{name} is {shown(text[:80])}; it is one tag, as an ETag header has it."
        )
    return found[1]
