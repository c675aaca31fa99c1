"""What the query string of a REST request asks for.

A parameter that is documented and has a wrong value is refused by name. Parameters nobody knows
are ignored, and so are `ac` and `disableTriggers`, which mean nothing here. What of it is a query
is read in `query_parameters.py`. Source: Firebase's page "Firebase Database REST API".
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidJson, InvalidQuery, NoData
from treedb.paths.keys import shown
from treedb.server.query_parameters import QUERY_NAMES, parse_query
from treedb.tree.forms import Form
from treedb.tree.json_text import parse_json
from treedb.tree.query import Query
from treedb.wire.fields import Override
from treedb.writes.mend import Side

MOST_PARAMETERS: Final = 100  # more than all that exist
MOST_CALLBACK: Final = 100  # characters of a name that somebody calls a function by

# Seconds that a write may be estimated to take, None for any.
_WRITE_SIZES: Final = {"tiny": 1, "small": 10, "medium": 30, "large": 60, "unlimited": None}
_UNITS_MS: Final = {"ms": 1, "s": 1000, "min": 60_000}
Read = TypeVar("Read")
_is_timeout: Final = re.compile(r"([0-9]{1,9})(ms|s|min)").fullmatch
_is_callback: Final = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*", re.ASCII).fullmatch
_bad_escape: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})").search


@dataclass(frozen=True, slots=True)
class Parameters:
    """One request's parameters, read and checked.

    `namespace` is as given, "" when it is not. `levels` is how many levels of objects are
    answered before `true` stands for the rest; None answers all. `is_strict`, `is_dry_run` and
    `side`, which side of a mirror is right, are for rules alone. `query` is what is asked of the children, None without any of its parameters.
    `credentials` are the values of `auth` and `access_token`, `override` is whom an admin wants to
    act as. `explains` asks to be told why something is denied. `callback` is the function that
    JavaScript is answered for, `download` the name of the file that a browser saves the answer as.
    """

    namespace: str = ""
    is_pretty: bool = False
    is_silent: bool = False
    levels: int | None = None
    form: Form = Form.PLAIN
    is_strict: bool = False
    is_dry_run: bool = False
    side: Side | None = None
    query: Query | None = None
    credentials: tuple[str, ...] = ()
    method_override: str | None = None
    override: Override | None = None
    explains: bool = False
    timeout_ms: int | None = None
    most_write_seconds: int | None = None
    callback: str | None = None
    download: str | None = None


_NONE: Final = Parameters()


def parse_parameters(query: bytes) -> Parameters:
    """Read a raw query string; InvalidQuery names the parameter refused."""
    if not query:
        return _NONE
    given = _decode(query)
    printing = _read(given, "print", _one_of("pretty", "silent"))
    form = _read(given, "format", _one_of("export", "strict"))
    levels = _levels(given)
    size = _read(given, "writeSizeLimit", _one_of(*_WRITE_SIZES)) or "unlimited"
    return Parameters(
        namespace=given.get("ns", ""),
        is_pretty=printing == "pretty",
        is_silent=printing == "silent",
        levels=levels,
        form=Form.EXPORT if form == "export" else Form.PLAIN,
        is_strict=form == "strict",
        is_dry_run=_read(given, "dryRun", _one_of("true", "false")) == "true",
        side=_read(given, "mirrorBackfill", _side),
        query=_query(given, levels),
        credentials=tuple(given[name] for name in ("auth", "access_token") if name in given),
        method_override=given.get("x-http-method-override"),
        override=_read(given, "auth_variable_override", _override),
        explains=_read(given, "explain", _one_of("1")) is not None,
        timeout_ms=_read(given, "timeout", _timeout),
        most_write_seconds=_WRITE_SIZES[size],
        callback=_read(given, "callback", _callback),
        download=given.get("download"),
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


def _side(name: str, text: str) -> Side:
    return Side(_one_of(*(side.value for side in Side))(name, text))


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


def _timeout(name: str, text: str) -> int:
    found = _is_timeout(text)
    most = DEFAULT_LIMITS.read_timeout_ms
    timeout_ms = int(found[1]) * _UNITS_MS[found[2]] if found else 0
    if not 1 <= timeout_ms <= most:
        raise InvalidQuery(
            f"{name} is {shown(text)}; allowed: a time such as 300ms, 3s or 3min, of at most "
            f"{most // _UNITS_MS['min']}min."
        )
    return timeout_ms


def _callback(name: str, text: str) -> str:
    if len(text) > MOST_CALLBACK or _is_callback(text) is None:
        raise InvalidQuery(
            f"{name} is {shown(text)}; allowed: a function of JavaScript, such as f or app.f, in "
            f"at most {MOST_CALLBACK} characters."
        )
    return text


def _level(name: str, text: str) -> int:
    most = DEFAULT_LIMITS.depth
    if not re.fullmatch("[1-9][0-9]?", text) or int(text) > most:
        raise InvalidQuery(f"{name} is {shown(text)}; allowed: a whole number from 1 to {most}.")
    return int(text)


def _read(given: Mapping[str, str], name: str, reader: Callable[[str, str], Read]) -> Read | None:
    return reader(name, given[name]) if name in given else None


_KNOWN: Final = frozenset(QUERY_NAMES) | {
    "ns", "print", "shallow", "depth", "format", "auth", "access_token", "writeSizeLimit",
    "x-http-method-override", "auth_variable_override", "explain", "dryRun", "timeout", "callback",
    "download", "mirrorBackfill",
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
