"""The description of the HTTP interface is OpenAPI, and says what the server knows and no more."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate
from starlette.routing import Route

from tests.server.live_server import live_server
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Settings
from treedb.server.app import build_app
from treedb.server.namespaces import Databases
from treedb.server.openapi import PATH, PLACE, ROOT, description
from treedb.server.parameters import _KNOWN
from treedb.server.reserved import _ENDPOINTS
from treedb.server.rest import _VERBS

ROOT_FOLDER = Path(__file__).parents[2]
DESCRIBED = description()
PATHS = DESCRIBED["paths"]
COMPONENTS = DESCRIBED["components"]
METHODS = ("get", "head", "put", "post", "patch", "delete", "options", "trace")
REALTIME = {"/.ws", "/.lp"}  # they speak another protocol, which OpenAPI has no words for

# Headers that every HTTP server reads, or that OpenAPI tells of in other ways.
HTTP = {
    "accept", "accept-encoding", "authorization", "content-encoding", "content-length",
    "content-type", "host",
}  # fmt: skip


def operations() -> Iterator[tuple[str, str, Any]]:
    for path, item in PATHS.items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def in_full(described: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference leads to, anything else as it is."""
    if "$ref" not in described:
        return described
    _, _, kind, name = described["$ref"].split("/")
    found: dict[str, Any] = COMPONENTS[kind][name]
    return found


def names_in(place: str) -> set[str]:
    """Find the names of all parameters in a place: query, header or path."""
    parameters = [
        in_full(each)
        for path, _, operation in operations()
        for each in (*operation["parameters"], *PATHS[path].get("parameters", ()))
    ]
    return {each["name"] for each in parameters if each["in"] == place}


def test_it_is_openapi() -> None:
    validate(DESCRIBED)


def test_everybody_may_read_it(tmp_path: Path) -> None:
    with live_server(tmp_path, settings=Settings(data=tmp_path / "data")) as server:
        answer = server.ask("GET", PATH)
    assert (answer.status, answer.json) == (200, DESCRIBED)


def test_it_has_the_parameters_that_are_known() -> None:
    credentials = {
        each["name"] for each in COMPONENTS["securitySchemes"].values() if "name" in each
    }
    assert names_in("query") | credentials == _KNOWN
    assert names_in("path") == {"path"}


def test_it_has_the_headers_that_are_read() -> None:
    texts = [path.read_text() for path in (ROOT_FOLDER / "treedb/server").glob("*.py")]
    read = {
        name
        for text in texts
        for name in re.findall(r'headers\.get(?:list)?\(\s*"([a-z-]+)"', text)
    }
    looked_at = {"origin", "access-control-request-method"}  # by server/edge.py, and by browsers
    assert {name.lower() for name in names_in("header")} == (read - HTTP) | looked_at


@pytest.mark.parametrize("path", [ROOT, PLACE])
def test_it_has_the_methods_of_places(path: str) -> None:
    methods = {method.upper() for of_path, method, _ in operations() if of_path == path}
    assert methods == {*_VERBS, "OPTIONS"}


def test_it_has_the_reserved_paths_with_their_methods() -> None:
    found: dict[str, set[str]] = {}
    for path, method, _ in operations():
        found.setdefault(path, set()).add(method.upper())
    assert {path: found[path] for path in _ENDPOINTS} == {
        path: set(methods) for path, methods in _ENDPOINTS.items()
    }


def test_it_has_the_paths_of_the_application(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    databases = Databases(settings, DEFAULT_LIMITS, SystemClock())
    app = build_app(databases, settings, DEFAULT_LIMITS, nobody)
    routes = {each.path for each in app.routes if isinstance(each, Route)}
    assert PATHS.keys() - {ROOT, PLACE} == (routes - REALTIME) | _ENDPOINTS.keys()


def nobody(_: str) -> Any:
    raise NotImplementedError


def test_every_refusal_is_one_that_some_request_gets() -> None:
    used = {status for _, _, operation in operations() for status in operation["responses"]}
    assert used == COMPONENTS["responses"].keys() | {"200", "204", "304"}


def test_every_part_is_used() -> None:
    text = str(DESCRIBED)
    unused = [
        f"{kind}/{name}"
        for kind in ("schemas", "parameters", "responses")
        for name in COMPONENTS[kind]
        if f"#/components/{kind}/{name}'" not in text
    ]
    assert unused == []


def test_no_operation_has_the_name_of_another() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))
