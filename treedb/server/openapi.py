"""The HTTP interface described in OpenAPI 3.1, which /.openapi.json answers to everybody.

What the description is made of stands in tables: parameters in `openapi_parameters.py`, values and
errors in `openapi_schemas.py`, requests here. Tests hold them against what the server knows, and
send requests that are made of the description. Not described are realtime connections (/.ws and
/.lp), which speak another protocol, and files.
"""

from functools import cache
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from treedb import __version__
from treedb.server import openapi_parameters as known
from treedb.server.http_answers import json_answer
from treedb.server.openapi_schemas import JSON, SCHEMAS, answer, refusals
from treedb.server.reserved import COVERAGE, COVERAGE_JSON, MIRRORS, RULES
from treedb.server.rest_patching import ACCEPTED
from treedb.tree.json_text import format_json

PATH: Final = "/.openapi.json"
ROOT: Final = "/.json"
PLACE: Final = "/{path}.json"
EVENTS: Final = "text/event-stream"
SCRIPT: Final = "application/javascript"

Described = dict[str, Any]

_VALUE: Final = {"$ref": "#/components/schemas/Value"}
_ANYBODY: Final[list[Described]] = [{}, {"bearer": []}, {"auth": []}, {"access_token": []}]
_ADMINISTRATOR: Final = _ANYBODY[1:]

# Which refusals a request may get: any, and those of its kind.
_ALL: Final = (400, 401, 403, 404, 408, 414, 421, 431, 500, 503)
_BODY: Final = (413, 415, 507)

_TAG: Final = {"ETag": {"description": "The tag of the value.", "schema": {"type": "string"}}}
_NOTHING: Final = {"204": {"description": "Done, and nothing is answered."}}
_UNCHANGED: Final = {"304": {"description": "The value has the tag given.", "headers": _TAG}}


async def answer_openapi(request: Request) -> Response:
    """Answer with the description."""
    return json_answer(request, _text())


@cache
def _text() -> bytes:
    return format_json(description())


def description() -> Described:
    """Return the description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "treedb",
            "version": __version__,
            "description": (
                "Every place in the tree has a URL: its path, then .json. In a path the slashes "
                "between keys stay as they are, which OpenAPI cannot tell of a parameter."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": {
            ROOT: _place("Root", []),
            PLACE: _place("Place", [{"$ref": "#/components/parameters/path"}]),
            **_reserved(),
        },
        "components": {
            "schemas": SCHEMAS,
            "parameters": {"path": _PATH, **_components(_QUERY, "query"), **_headers()},
            "responses": refusals(),
            "securitySchemes": _CREDENTIALS,
        },
    }


# Parameters


_PATH: Final = {
    "name": "path",
    "in": "path",
    "required": True,
    "description": "The keys of the place with slashes between, percent-encoded UTF-8.",
    "schema": {"type": "string", "minLength": 1},
}
_CREDENTIALS: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The admin or a client token."},
    "auth": {"type": "apiKey", "in": "query", "name": "auth"},
    "access_token": {"type": "apiKey", "in": "query", "name": "access_token"},
}
_QUERY: Final = (
    known.NAMESPACE, known.CALLER, known.SHAPE, known.QUERY, known.READ, known.WRITE, known.POST,
)  # fmt: skip
_HEADERS: Final = (
    known.WANTS_TAG, known.NONE_MATCH, known.MATCH, known.LAST_EVENT, known.OVERRIDE,
    known.PREFLIGHT,
)  # fmt: skip


def _components(tables: tuple[Described, ...], place: str) -> Described:
    return {
        name: {"name": name, "in": place, **about}
        for table in tables
        for name, about in table.items()
    }


def _headers() -> Described:
    return _components(_HEADERS, "header")


def _named(*tables: Described) -> list[Described]:
    return [{"$ref": f"#/components/parameters/{name}"} for table in tables for name in table]


# Requests to places of the tree


def _place(name: str, path: list[Described]) -> Described:
    caller = (known.NAMESPACE, known.CALLER)
    read = (*caller, known.SHAPE, known.READ, known.QUERY, known.WANTS_TAG, known.NONE_MATCH)
    write = (*caller, known.SHAPE, known.WRITE)
    tagged = (*write, known.WANTS_TAG)
    return {
        "parameters": path,
        "get": _operation(
            f"read{name}", "Reads the value.", _named(*read, known.LAST_EVENT), _read()
        ),
        "head": _operation(f"look{name}", "As GET, without a body.", _named(*read), _looked()),
        "put": _operation(
            f"set{name}",
            "Replaces the value.",
            _named(*tagged, known.MATCH),
            _written(_VALUE, 412),
            _body({JSON: _VALUE}),
        ),
        "patch": _operation(
            f"update{name}",
            "Changes the places that the body names, all or none.",
            _named(*write, known.MATCH),
            _written({"type": "object"}, 409, 412),
            _body({JSON: {"$ref": "#/components/schemas/Update"}, **_standard_patches()}),
        ),
        "post": _operation(
            f"push{name}",
            "Adds a child under a generated key, or acts as another method.",
            _named(*tagged, known.POST, known.OVERRIDE),
            {**_written(_pushed(), 405), **_UNCHANGED},
            _body({JSON: _VALUE}),
        ),
        "delete": _operation(
            f"remove{name}",
            "Removes the value.",
            _named(*tagged, known.MATCH),
            _written({"type": "null"}, 412),
        ),
        "options": {
            **_operation(
                f"ask{name}",
                "Answers a browser's preflight.",
                _named(known.PREFLIGHT),
                {"200": {"description": "What is allowed.", "headers": _ALLOWS}, **_refused()},
            ),
            "security": [{}],
        },
    }


_ALLOWS: Final = {
    name: {"required": True, "schema": {"type": "string"}}
    for name in ("Allow", "Accept-Patch", "Access-Control-Allow-Methods")
}


def _operation(
    name: str,
    about: str,
    parameters: list[Described],
    responses: Described,
    body: Described | None = None,
) -> Described:
    described = {
        "operationId": name,
        "summary": about,
        "security": _ANYBODY,
        "parameters": parameters,
        "responses": responses,
    }
    return described if body is None else {**described, "requestBody": body}


def _refused(*statuses: int) -> Described:
    return {
        str(status): {"$ref": f"#/components/responses/{status}"}
        for status in sorted((*_ALL, *statuses))
    }


def _read() -> Described:
    value = answer("The value, its changes as events, or a call of a function.", _VALUE)
    value["content"] |= {each: {"schema": _TEXT} for each in (EVENTS, SCRIPT)}
    return {"200": {**value, "headers": _TAG}, **_NOTHING, **_UNCHANGED, **_refused()}


def _looked() -> Described:
    found = {"description": "There is a value, or null.", "headers": _TAG}
    without_body = {status: {"description": "As GET."} for status in _refused()}
    return {"200": found, **_NOTHING, **_UNCHANGED, **without_body}


def _written(schema: Described, *statuses: int) -> Described:
    done = {**answer("What was written.", schema), "headers": _TAG}
    return {"200": done, **_NOTHING, **_refused(*_BODY, *statuses)}


def _pushed() -> Described:
    return {"anyOf": [{"$ref": "#/components/schemas/Name"}, _VALUE]}


def _body(content: dict[str, Described]) -> Described:
    return {
        "required": True,
        "content": {media_type: {"schema": schema} for media_type, schema in content.items()},
    }


def _standard_patches() -> dict[str, Described]:
    json_patch, merge_patch = ACCEPTED.split(", ")
    return {json_patch: {"$ref": "#/components/schemas/JsonPatch"}, merge_patch: _VALUE}


# Paths that begin with a dot


def _reserved() -> Described:
    return {
        PATH: {"get": _open("readDescription", "Reads this description.", answer("This.", {}))},
        "/.health": {
            "get": _open(
                "readHealth",
                "Tells that the server serves.",
                answer("It does.", {"$ref": "#/components/schemas/Health"}),
            )
        },
        "/.metrics": {
            "get": _administrative(
                "readMetrics",
                "Measures of every open namespace.",
                answer("Text as Prometheus reads it.", _TEXT, "text/plain"),
            )
        },
        RULES: {"get": _read_rules(), "put": _put_rules()},
        COVERAGE: {
            "get": _counted("readCoverage", answer("A page.", _TEXT, "text/html")),
        },
        COVERAGE_JSON: {
            "get": _counted("readCoverageJson", answer("The counts.", {"type": "object"})),
        },
        MIRRORS: {
            "get": _mirrors("readMirrors", "Tells what the rules keep, and the last check of it."),
            "post": _mirrors("checkMirrors", "Holds what the rules keep against the data."),
        },
    }


def _open(name: str, about: str, found: Described) -> Described:
    operation = _operation(name, about, [], {"200": found, **_refused()})
    return {**operation, "security": [{}]}


def _administrative(
    name: str, about: str, found: Described, parameters: Described | None = None
) -> Described:
    """Describe a request that only an administrator may send."""
    described = parameters or {}
    given = [{"name": each, "in": "query", **described[each]} for each in described]
    operation = _operation(name, about, given, {"200": found, **_refused()})
    return {**operation, "security": _ADMINISTRATOR}


def _read_rules() -> Described:
    found = answer("The rules; their comments are no part of JSON.", _RULES)
    parameters = {**known.NAMESPACE, **known.RULES_READ}
    return _administrative("readRules", "Reads the rules as written.", found, parameters)


def _put_rules() -> Described:
    done = answer("They are in force, or would be.", {"$ref": "#/components/schemas/Done"})
    parameters = {**known.NAMESPACE, **known.RULES_WRITE}
    operation = _administrative(
        "putRules", "Puts rules in force, or checks them.", done, parameters
    )
    responses = {**operation["responses"], **_refused(*_BODY)}
    return {**operation, "responses": responses, "requestBody": _body({JSON: _RULES})}


def _counted(name: str, found: Described) -> Described:
    about = "How often each rule came to what; in development only."
    return _administrative(name, about, found, known.NAMESPACE)


def _mirrors(name: str, about: str) -> Described:
    found = answer("The mirrors and counts.", {"$ref": "#/components/schemas/Mirrors"})
    return _administrative(name, about, found, known.NAMESPACE)


_RULES: Final = {"$ref": "#/components/schemas/Rules"}
_TEXT: Final = {"type": "string"}
