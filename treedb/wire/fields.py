"""Read the members of a request's body: each function takes the body and one name.

A body that lacks what it needs, or holds the wrong kind of value, raises the TreeError that is
to be answered; the sentence says what was found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treedb.config import DEFAULT_LIMITS
from treedb.errors import (
    InvalidData,
    InvalidPath,
    InvalidQuery,
    InvalidToken,
    NoData,
    PermissionDenied,
    ProtocolError,
)
from treedb.paths.path import Path
from treedb.tree.range_hash import CompoundHash
from treedb.wire.query_object import QueryObject, query_object_of

NUMBER_END = 2**53  # the first integer a JavaScript client cannot count to
_KINDS = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "text"}


@dataclass(frozen=True, slots=True)
class Override:
    """What an admin asks rules to see in place of an admin; `variable` None is nobody."""

    variable: Mapping[str, Any] | None


def kind_of(raw: object) -> str:
    """Name the kind of a JSON value, for error texts."""
    return _KINDS.get(type(raw)) or ("an object" if isinstance(raw, dict) else "an array")


def number_of(content: Mapping[str, Any]) -> int:
    """Return the request number; ProtocolError when it is no integer from 0 to 2^53 - 1."""
    number = content.get("r")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < NUMBER_END:
        found = number if isinstance(number, int | float) else kind_of(number)
        raise ProtocolError(f'A request has an integer "r" from 0 to 2^53 - 1, found {found}.')
    return number


def read_place(body: Mapping[str, Any]) -> Path:
    """Return the path to read or to listen to."""
    return Path.parse(_path_text(body))


def merge_place(body: Mapping[str, Any]) -> Path:
    """Return the path to merge into; a priority has no children to merge."""
    path = write_place(body)
    return read_place(body) if path.is_priority else path


def write_place(body: Mapping[str, Any]) -> Path:
    """Return the path to write, whose last key may be `.priority`.

    Raises PermissionDenied below `/.info`, which is the client's own, InvalidPath otherwise.
    """
    text = _path_text(body)
    if text.lstrip("/").partition("/")[0] == ".info":
        raise PermissionDenied
    return Path.parse(text, allow_priority=True)


def _path_text(body: Mapping[str, Any]) -> str:
    text = body.get("p")
    if not isinstance(text, str):
        found = kind_of(text) if "p" in body else "none"
        raise InvalidPath(f'A request has a path as text in "p", found {found}.')
    return text


def data_of(body: Mapping[str, Any]) -> Any:
    """Return the value to write; null is a value, a missing one is NoData."""
    if "d" not in body:
        raise NoData('A write has its value in "d", found none.')
    return body["d"]


def hash_of(body: Mapping[str, Any]) -> str | None:
    """Return the hash of the client's copy, None when the request has none."""
    if "h" not in body:
        return None
    found = body["h"]
    if not isinstance(found, str):
        raise InvalidData(f'A hash is text in "h", found {kind_of(found)}.')
    return found


def compound_hash_of(body: Mapping[str, Any]) -> CompoundHash | None:
    """Return the hashes of the ranges of the client's copy, None when the request has none.

    Raises InvalidData when they are none, and InvalidPath where a range ends at no path.
    """
    if "ch" not in body:
        return None
    found = body["ch"]
    if not isinstance(found, dict):
        raise InvalidData(f'Hashes of ranges are an object in "ch", found {kind_of(found)}.')
    hashes, posts = (_texts_of(found, name) for name in ("hs", "ps"))
    if len(hashes) != len(posts) + 1:
        raise InvalidData(
            f'"ch" has one hash in "hs" more than paths in "ps", found {len(hashes)} and '
            f"{len(posts)}."
        )
    paths = tuple(Path.parse(post, allow_priority=True).keys for post in posts)
    return CompoundHash(tuple(hashes), paths)


def _texts_of(content: Mapping[str, Any], name: str) -> list[str]:
    texts = content.get(name)
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise InvalidData(f'"ch" has a list of texts in "{name}", found {kind_of(texts)}.')
    if len(texts) > DEFAULT_LIMITS.ranges:
        raise InvalidData(
            f'"ch" has {len(texts)} texts in "{name}", at most {DEFAULT_LIMITS.ranges} are allowed.'
        )
    return texts


def tag_of(body: Mapping[str, Any]) -> int | None:
    """Return the tag the client gives a filtered listen, None when there is none."""
    if "t" not in body:
        return None
    tag = body["t"]
    if isinstance(tag, bool) or not isinstance(tag, int):
        raise InvalidQuery(f'A tag is an integer in "t", found {kind_of(tag)}.')
    return tag


def query_of(body: Mapping[str, Any]) -> QueryObject:
    """Return what the request asks, everything when it has no query object."""
    query = body.get("q", {})
    if not isinstance(query, dict):
        raise InvalidQuery(f'A query is an object in "q", found {kind_of(query)}.')
    return query_object_of(query)


def credential_of(body: Mapping[str, Any]) -> tuple[str, Override | None]:
    """Return the credential, and whom to act as if an admin asks for that."""
    credential = body.get("cred")
    if not isinstance(credential, str):
        raise InvalidToken
    if body.get("noauth") is True:
        return credential, Override(None)
    variable = body.get("authvar")
    return credential, Override(variable) if isinstance(variable, dict) else None
