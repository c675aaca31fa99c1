"""What the description of the HTTP interface says of parameters and headers.

Each is a table from a name to what is allowed, in JSON Schema, and what it is for. Values that are
JSON text in the URL, such as orderBy="height", say so with `content`, as OpenAPI has it.
"""

from typing import Any, Final

from treedb.config import DEFAULT_LIMITS
from treedb.server.parameters import MOST_CALLBACK
from treedb.wire.query_object import MAX_LIMIT
from treedb.writes.mend import Side

Described = dict[str, Any]


def _said(about: str, **schema: Any) -> Described:
    return {"description": about, "schema": schema}


def _json(about: str, **schema: Any) -> Described:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _one_of(about: str, *allowed: str) -> Described:
    return _said(about, type="string", enum=list(allowed))


def _bound(keeps: str) -> Described:
    about = (
        f'Keeps the children {keeps}. A key may follow behind a comma, as in 5,"dino", which '
        "parts children of one value; in the order of keys the bound is a key, in quotes."
    )
    return _json(about, type=["null", "boolean", "number", "string"])


def _limit(end: str) -> Described:
    return _said(
        f"Keeps so many children at the {end} of the order.",
        type="integer",
        minimum=1,
        maximum=MAX_LIMIT,
    )


NAMESPACE: Final = {
    "ns": _said("The namespace, `default` when it is left out.", type="string"),
}
CALLER: Final = {
    "auth_variable_override": _json(
        "An administrator acts as the client whose `auth` this is, or as nobody.",
        type=["object", "null"],
    ),
    "explain": _one_of("Asks to be told why something is denied, where that may be told.", "1"),
}
SHAPE: Final = {
    "print": _one_of("Indents the answer, or answers 204 without a body.", "pretty", "silent"),
    "format": _one_of("Keeps priorities, and makes no arrays.", "export"),
}
QUERY: Final = {
    "orderBy": _json(
        'The order of the children: "$key", "$value", "$priority" or the path of a child. The '
        "quotes belong to it.",
        type="string",
        minLength=1,
    ),
    "limitToFirst": _limit("beginning"),
    "limitToLast": _limit("end"),
    "startAt": _bound("from it on"),
    "startAfter": _bound("behind it"),
    "endAt": _bound("up to and with it"),
    "endBefore": _bound("before it"),
    "equalTo": _bound("at it"),
}
READ: Final = {
    "shallow": _one_of("Children that are objects become true.", "true", "false"),
    "depth": _said(
        "Objects more than so many levels down become true.",
        type="integer",
        minimum=1,
        maximum=DEFAULT_LIMITS.depth,
    ),
    "timeout": _said(
        "The time that the read may take, at most 15min.",
        type="string",
        pattern="^[1-9][0-9]{0,2}(ms|s)$",
        examples=["300ms", "3s", "3min"],
    ),
    "callback": _said(
        "Answers JavaScript that calls this function, where the setting `jsonp` allows it.",
        type="string",
        pattern=r"^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*$",
        maxLength=MOST_CALLBACK,
    ),
    "download": _said("Has a browser save the answer as a file of this name.", type="string"),
}
WRITE: Final = {
    "writeSizeLimit": _one_of(
        "Refuses a write that is estimated to take longer than 1, 10, 30 or 60 s.",
        "tiny",
        "small",
        "medium",
        "large",
        "unlimited",
    ),
}
POST: Final = {
    "x-http-method-override": _one_of(
        "The method to act as, for clients that know only POST; case does not count.",
        "GET",
        "HEAD",
        "PUT",
        "PATCH",
        "POST",
        "DELETE",
    ),
}
RULES_READ: Final = {"format": _one_of("Answers plain JSON, without comments.", "strict")}
RULES_WRITE: Final = {
    "dryRun": _one_of("Only checks.", "true", "false"),
    "mirrorBackfill": _one_of(
        "Brings the data to agree with new mirrors and counts; where two places differ, this side "
        "is right.",
        *(side.value for side in Side),
    ),
}

# Headers; Accept, Authorization and Content-Type are not for OpenAPI to describe as such.

_TAG: Final = '"?[A-Za-z0-9+/=_-]{1,64}"?'
WANTS_TAG: Final = {
    "X-Firebase-ETag": _said("`true` asks for the value's ETag.", type="string"),
}
NONE_MATCH: Final = {
    "If-None-Match": _said(
        "Answers 304 if the value has this tag.", type="string", pattern=f"^{_TAG}$"
    ),
}
MATCH: Final = {
    "if-match": _said(
        "Writes only if the value has this tag, `null_etag` where there is none.",
        type="string",
        pattern=f"^{_TAG}$",
    ),
}
LAST_EVENT: Final = {
    "Last-Event-ID": _said("The id of the last event of a stream that is taken up.", type="string"),
}
OVERRIDE: Final = {
    "X-HTTP-Method-Override": POST["x-http-method-override"],
}
PREFLIGHT: Final = {
    "Origin": _said("The origin of the page that asks.", type="string"),
    "Access-Control-Request-Method": _said("The method it wants to use.", type="string"),
    "Access-Control-Request-Headers": _said("The headers it wants to send.", type="string"),
}
