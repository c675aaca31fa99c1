"""What the query string of a REST request asks for.

A parameter that is documented and has a wrong value is refused by name, and so is one that a
later version will understand, where leaving it out would give a different answer than was asked
for. Parameters nobody knows are ignored. What of it is a query is read in `query_parameters.py`. Source: Firebase's page "Firebase Database REST API".
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidJson, InvalidQuery, NoData, UnsupportedRequest
from treedb.paths.keys import shown
from treedb.server.query_parameters import QUERY_NAMES, parse_query
from treedb.tree.forms import Form
from treedb.tree.json_text import parse_json
from treedb.tree.query import Query
from treedb.wire.fields import Override

MOST_PARAMETERS: Final = 100  # more than all that exist

_UNSUPPORTED: Final = {
    "callback": "JSONP is not offered; every answer may be read across origins (CORS)",
    "timeout": "reads have no time limit of the caller's choice",
}

_WRITE_SIZES: Final = ("tiny", "small", "medium", "large", "unlimited")
Read = TypeVar("Read")
_bad_escape: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})").search


@dataclass(frozen=True, slots=True)
class Parameters:
    """One request's parameters, read and checked.

    `namespace` is as given, "" when it is not. `levels` is how many levels of objects are
    answered before `true` stands for the rest; None answers all. `is_strict` and `is_dry_run` are
    for rules alone. `query` is what is asked of the children, None without any of its parameters.
    `credentials` are the values of `auth` and `access_token`, `override` is whom an admin wants to
    act as. `explains` asks to be told why something is denied.
    """

    namespace: str = ""
    is_pretty: bool = False
    is_silent: bool = False
    levels: int | None = None
    form: Form = Form.PLAIN
    is_strict: bool = False
    is_dry_run: bool = False
    query: Query | None = None
    credentials: tuple[str, ...] = ()
    method_override: str | None = None
    override: Override | None = None
    explains: bool = False


_NONE: Final = Parameters()


def parse_parameters(query: bytes) -> Parameters:
    """Read a raw query string; InvalidQuery or UnsupportedRequest name the parameter refused."""
    if not query:
        return _NONE
    given = _decode(query)
    _refuse_unsupported(given)
    printing = _read(given, "print", _one_of("pretty", "silent"))
    form = _read(given, "format", _one_of("export", "strict"))
    levels = _levels(given)
    return Parameters(
        namespace=given.get("ns", ""),
        is_pretty=printing == "pretty",
        is_silent=printing == "silent",
        levels=levels,
        form=Form.EXPORT if form == "export" else Form.PLAIN,
        is_strict=form == "strict",
        is_dry_run=_read(given, "dryRun", _one_of("true", "false")) == "true",
        query=_query(given, levels),
        credentials=tuple(given[name] for name in ("auth", "access_token") if name in given),
        method_override=given.get("x-http-method-override"),
        override=_read(given, "auth_variable_override", _override),
        explains=_read(given, "explain", _one_of("1")) is not None,
    )


def _refuse_unsupported(given: Mapping[str, str]) -> None:
    found = [name for name in _UNSUPPORTED if name in given]
    if found:
        raise UnsupportedRequest(f"{found[0]}: {_UNSUPPORTED[found[0]]}.")
    size = _read(given, "writeSizeLimit", _one_of(*_WRITE_SIZES))
    if size not in (None, "unlimited"):
        raise UnsupportedRequest(
            f"writeSizeLimit={size}: this version does not estimate how long a write takes; "
            "leave it out, or say unlimited."
        )


def _query(given: Mapping[str, str], levels: int | None) -> Query | None:
    query = parse_query(given)
    if query is not None and levels is not None:
        cutting = "depth" if "depth" in given else "shallow"
        first = next(name for name in QUERY_NAMES if name in given)
        raise InvalidQuery(f"{cutting} cannot be combined with {first}.")
    return query


def _levels(given: Mapping[str, str]) -> int | None:
    shallow = _read(given, "shallow", _one_of("true", "false"))
    depth = _read(given, "depth", _level)
    if shallow == "true" and depth is not None:
        raise InvalidQuery("shallow cannot be combined with depth: shallow=true is depth=1.")
    return 1 if shallow == "true" else depth


# Values: each reader takes a parameter's name and text.


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text not in allowed:
            raise InvalidQuery(f"{name} is {shown(text)}; allowed: {', '.join(allowed)}.")
        return text

    return read


def _override(name: str, text: str) -> Override:
    variable = _json(text)
    if variable is not None and not isinstance(variable, dict):
        raise InvalidQuery(f"{name} is {shown(text)}; allowed: a JSON object, or null.")
    return Override(variable)


def _json(text: str) -> object:
    try:
        return parse_json(text.encode())
    except (InvalidJson, NoData):
        return text


def _level(name: str, text: str) -> int:
    most = DEFAULT_LIMITS.depth
    if not re.fullmatch("[1-9][0-9]?", text) or int(text) > most:
        raise InvalidQuery(f"{name} is {shown(text)}; allowed: a whole number from 1 to {most}.")
    return int(text)


def _read(given: Mapping[str, str], name: str, reader: Callable[[str, str], Read]) -> Read | None:
    return reader(name, given[name]) if name in given else None


_KNOWN: Final = frozenset((*_UNSUPPORTED, *QUERY_NAMES)) | {
    "ns", "print", "shallow", "depth", "format", "auth", "access_token", "writeSizeLimit",
    "x-http-method-override", "auth_variable_override", "explain", "dryRun",
}  # fmt: skip


def _decode(query: bytes) -> dict[str, str]:
    """Part and unescape a query string (WHATWG URL, form encoding), strictly."""
    given: dict[str, str] = {}
    parts = query.split(b"&")
    if len(parts) > MOST_PARAMETERS:
        raise InvalidQuery(f"{len(parts)} parameters, at most {MOST_PARAMETERS} are allowed.")
    for part in parts:
        raw_name, _, raw_text = part.partition(b"=")
        name = _unescape(raw_name, "the name of a parameter")
        if name in given and name in _KNOWN:
            raise InvalidQuery(f"{name} is given twice: give it once.")
        given[name] = _unescape(raw_text, shown(name))
    return given


def _unescape(raw: bytes, what: str) -> str:
    if _bad_escape(raw):
        raise InvalidQuery(f"{what} holds a % that no two hexadecimal digits follow.")
    try:
        return unquote_to_bytes(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise InvalidQuery(f"{what} is not UTF-8 when unescaped.") from None
