"""What the description of the HTTP interface says of values and of answers.

Errors are those of `errors.py`, each under its status with its text, so that none can be left out.
"""

from typing import Any, Final

from treedb import errors
from treedb.errors import TreeError
from treedb.server.answers import INTERNAL, METHODS, RETRY_SECONDS

JSON: Final = "application/json"
Described = dict[str, Any]

# Errors that no answer over HTTP has: realtime's, the command line's, and parents of others.
UNSENT: Final = (
    errors.TreeError,
    errors.TooManyListens,
    errors.SettingsError,
    errors.WrongUse,
    errors.ProtocolError,
    errors.RuleSyntaxError,
    errors.RuleFailure,
    errors.RuleBudgetExceeded,
)

_KEY: Final = r"[^.#$\[\]/\u0000-\u001f\u007f]{1,768}"
_LEAF: Final = {"type": ["null", "boolean", "number", "string"]}
_PRIORITY: Final = {"type": ["null", "number", "string"]}

SCHEMAS: Final[dict[str, Described]] = {
    "Value": {
        "description": (
            "A value of the tree. Empty objects and arrays are null, arrays are objects with the "
            "keys 0, 1 and so on. Keys have at most 768 bytes, a place is at most 32 levels deep."
        ),
        "anyOf": [
            *({"type": kind} for kind in ("null", "boolean", "number", "string")),
            {"type": "array", "items": {"$ref": "#/components/schemas/Value"}},
            {"$ref": "#/components/schemas/Children"},
            {"$ref": "#/components/schemas/LeafWithPriority"},
            {"$ref": "#/components/schemas/ServerValue"},
        ],
    },
    "Children": {
        "type": "object",
        "properties": {".priority": _PRIORITY},
        "patternProperties": {f"^{_KEY}$": {"$ref": "#/components/schemas/Value"}},
        "additionalProperties": False,
    },
    "LeafWithPriority": {
        "type": "object",
        "properties": {".value": _LEAF, ".priority": _PRIORITY},
        "required": [".value"],
        "additionalProperties": False,
    },
    "ServerValue": {
        "description": "The server's time in milliseconds, or the number there plus another.",
        "type": "object",
        "properties": {
            ".sv": {
                "anyOf": [
                    {"const": "timestamp"},
                    {
                        "type": "object",
                        "properties": {"increment": {"type": "number"}},
                        "required": ["increment"],
                        "additionalProperties": False,
                    },
                ]
            }
        },
        "required": [".sv"],
        "additionalProperties": False,
    },
    "Update": {
        "description": "Places below the one that is named, by their paths, and their new values.",
        "type": "object",
        "patternProperties": {
            f"^/?{_KEY}(/{_KEY})*$": {"$ref": "#/components/schemas/Value"},
            f"^(/?{_KEY}/)*\\.priority$": _PRIORITY,
        },
        "additionalProperties": False,
    },
    "JsonPatch": {
        "description": "The operations of RFC 6902.",
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
                "path": {"type": "string", "format": "json-pointer"},
                "from": {"type": "string", "format": "json-pointer"},
                "value": {"$ref": "#/components/schemas/Value"},
            },
            "required": ["op", "path"],
        },
    },
    "Name": {
        "description": "The key that was generated.",
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
    "Rules": {
        "description": "Security rules: JSON, with comments where they are written.",
        "type": "object",
        "properties": {"rules": {"type": "object"}},
        "required": ["rules"],
    },
    "Done": {
        "type": "object",
        "properties": {
            "status": {"const": "ok"},
            "backfills": {
                "description": "How many mirrors and counts the data is brought to agree with.",
                "type": "integer",
                "minimum": 0,
            },
        },
        "required": ["status"],
        "additionalProperties": False,
    },
    "Health": {
        "type": "object",
        "properties": {
            "status": {"const": "ok"},
            "durability": {"enum": ["fsync", "unsafe_no_fsync"]},
            "version": {"type": "string"},
        },
        "required": ["status", "durability", "version"],
        "additionalProperties": False,
    },
    "Mirrors": {
        "description": "The mirrors and counts of the rules, and what the last check found.",
        "type": "object",
        "properties": {
            "mirrors": {"type": "array", "items": {"$ref": "#/components/schemas/Kept"}},
            "counts": {"type": "array", "items": {"$ref": "#/components/schemas/Kept"}},
            "lastCheck": {
                "type": ["object", "null"],
                "properties": {"time": {"type": "integer"}, "revision": {"type": "integer"}},
            },
        },
        "required": ["mirrors", "counts", "lastCheck"],
        "additionalProperties": False,
    },
    "Kept": {
        "description": "A mirror (source, target, value) or a count (collection, count).",
        "type": "object",
        "properties": {
            "entries": {"type": ["integer", "null"]},
            "faults": {"type": ["integer", "null"]},
            "examples": {"type": "array"},
            "backfill": {"type": ["object", "null"]},
        },
        "required": ["line", "column", "meaning", "entries", "faults", "examples", "backfill"],
    },
    "Error": {
        "type": "object",
        "properties": {
            "error": {"description": "One of the fixed texts.", "type": "string"},
            "detail": {"description": "A sentence about the case at hand.", "type": "string"},
            "explanation": {"description": "Why something is denied.", "type": "string"},
            "findings": {
                "description": "All mistakes of rules that are refused.",
                "type": "array",
                "items": {"$ref": "#/components/schemas/Finding"},
            },
            "operation": {
                "description": "The number of the operation of a JSON Patch that does not fit.",
                "type": "integer",
                "minimum": 0,
            },
        },
        "required": ["error"],
        "additionalProperties": False,
    },
    "Finding": {
        "type": "object",
        "properties": {
            "line": {"type": "integer", "minimum": 1},
            "column": {"type": "integer", "minimum": 1},
            "message": {"type": "string"},
            "hint": {"description": "The way out.", "type": "string"},
        },
        "required": ["line", "column", "message"],
        "additionalProperties": False,
    },
}

_CASES: Final = {
    400: "The request cannot be.",
    401: "Who asks may not, or is not who they say.",
    403: "The page that asks is of an origin that is not allowed.",
    404: "There is nothing at the URL, or no such namespace.",
    405: "Another method.",
    408: "The request did not come in time.",
    409: "A JSON Patch does not fit the value.",
    412: "The value has changed meanwhile; it is in the body, its tag in the header.",
    413: "The body is too large.",
    414: "The URL is too long.",
    415: "The body is compressed.",
    421: "The server is asked for by a name that is not allowed.",
    431: "The headers are too large.",
    500: "A fault of the server.",
    503: "The server cannot answer now.",
    507: "The disk is full; reads go on.",
}
_TAG_HEADER: Final = {
    "ETag": {"description": "The tag of the value.", "schema": {"type": "string"}},
}
_HEADERS: Final[dict[int, Described]] = {
    405: {"Allow": {"required": True, "schema": {"const": METHODS}}},
    503: {"Retry-After": {"required": True, "schema": {"const": RETRY_SECONDS}}},
}


def answer(about: str, schema: Described, media_type: str = JSON) -> Described:
    """Describe an answer with a body."""
    return {"description": about, "content": {media_type: {"schema": schema}}}


def refusals() -> dict[str, Described]:
    """Describe the answer of each status that errors have, by its status."""
    texts = _texts()
    described = {str(status): _refusal(status, texts[status]) for status in sorted(texts)}
    return {**described, "412": _stale()}


def _texts() -> dict[int, list[str]]:
    texts: dict[int, list[str]] = {500: [INTERNAL]}
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, TreeError) and each not in UNSENT:
            of_status = texts.setdefault(each.http_status, [])
            if each.text not in of_status:
                of_status.append(each.text)
    return texts


def _refusal(status: int, texts: list[str]) -> Described:
    said = "\n".join(f"- `{text}`" for text in texts)
    described = answer(f"{_CASES[status]}\n\n{said}", {"$ref": "#/components/schemas/Error"})
    return {**described, "headers": _HEADERS[status]} if status in _HEADERS else described


def _stale() -> Described:
    return {**answer(_CASES[412], {}), "headers": _TAG_HEADER}
