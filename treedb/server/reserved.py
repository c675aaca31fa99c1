"""Paths that begin with a dot: they can never be data."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from treedb import __version__
from treedb.config import Limits, Settings
from treedb.database import Database
from treedb.errors import (
    Finding,
    MethodNotAllowed,
    NotFound,
    PermissionDenied,
    RulesError,
)
from treedb.server.bodies import read_body
from treedb.server.callers import Callers
from treedb.server.coverage_page import coverage_page
from treedb.server.credentials import auth_of
from treedb.server.http_answers import json_answer
from treedb.server.metrics import CONTENT_TYPE, measure, metrics_text
from treedb.server.mirrors_page import mirrors_report
from treedb.server.namespaces import Databases
from treedb.server.parameters import Parameters, parse_parameters
from treedb.store.kept_derived import KeptCheck
from treedb.store.kept_rules import Origin
from treedb.tree.json_text import format_json

ADMINISTRATIVE = (b"/.settings/", b"/.inspect/")
RULES: Final = "/.settings/rules.json"
COVERAGE: Final = "/.inspect/coverage"
COVERAGE_JSON: Final = "/.inspect/coverage.json"
MIRRORS: Final = "/.inspect/mirrors.json"
PAGE_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Referrer-Policy": "no-referrer",  # the URL may hold a credential
    "X-Content-Type-Options": "nosniff",
}
PUT_ANSWER: Final = {"status": "ok"}


@dataclass(frozen=True, slots=True)
class _Call:
    """One request of an administrator."""

    request: Request
    parameters: Parameters
    database: Database
    limits: Limits


class Reserved:
    """What the server tells about itself, and what only an administrator may ask."""

    def __init__(
        self, databases: Databases, settings: Settings, limits: Limits, callers: Callers
    ) -> None:
        self._databases = databases
        self._settings = settings
        self._limits = limits
        self._callers = callers

    async def health(self, request: Request) -> Response:
        """Answer that the server serves, and how durably."""
        content = {
            "status": "ok",
            "durability": "unsafe_no_fsync" if self._settings.unsafe_no_fsync else "fsync",
            "version": __version__,
        }
        return json_answer(request, format_json(content))

    async def metrics(self, request: Request) -> Response:
        """Answer an administrator with the measures of every open namespace."""
        self._check_administrator(request)
        measures = [measure(each) for each in self._databases.opened]
        text = await asyncio.to_thread(metrics_text, measures)
        return Response(text, headers={"Cache-Control": "no-cache", "Content-Type": CONTENT_TYPE})

    async def administrative(self, request: Request) -> Response:
        """Answer an administrator; deny everyone else. Source: Firebase's emulator and tools."""
        parameters = self._check_administrator(request)
        path = request.scope["raw_path"].decode("ascii")
        methods = _ENDPOINTS.get(path)
        if methods is None:
            raise NotFound(f"{path} is not there; there is {', '.join(_ENDPOINTS)}.")
        answer = methods.get(request.method)
        if answer is None:
            raise MethodNotAllowed(", ".join(methods))
        makes = request.method == "PUT" and not parameters.is_dry_run
        database = await self._databases.get(parameters.namespace, create=makes)
        return await answer(_Call(request, parameters, database, self._limits))

    def _check_administrator(self, request: Request) -> Parameters:
        """Return an administrator's parameters; PermissionDenied for everyone else."""
        parameters = parse_parameters(request.scope["query_string"])
        auth = auth_of(request.headers, parameters, self._callers.authenticate)
        if auth is None or not auth.is_admin:
            raise PermissionDenied
        return parameters


async def _get_rules(call: _Call) -> Response:
    """Answer the rules as they were written; `format=strict` without comments."""
    ruleset = call.database.ruleset
    text = ruleset.strict_json() if call.parameters.is_strict else ruleset.text.encode()
    return json_answer(call.request, text)


async def _put_rules(call: _Call) -> Response:
    """Put rules in force, or with `dryRun=true` only check them, against the data as well.

    With `mirrorBackfill` the answer tells how many mirrors and counts the data is, or would be,
    brought to agree with.
    """
    text = _text_of(await read_body(call.request, call.limits.rules_bytes))
    side = call.parameters.side
    if call.parameters.is_dry_run:
        gained, _ = await call.database.check_rules(text, side)
    else:
        gained = await call.database.put_rules(text, Origin.ADMIN, side)
    backfills = {} if side is None else {"backfills": len(gained.declarations)}
    return json_answer(call.request, format_json({**PUT_ANSWER, **backfills}))


def _text_of(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = "The rules are not UTF-8 text."
        raise RulesError((Finding(line, column, message),), is_unreadable=True) from None


async def _coverage_json(call: _Call) -> Response:
    return json_answer(call.request, format_json(_report_of(call)))


async def _coverage_page(call: _Call) -> Response:
    page = coverage_page(call.database.namespace, call.database.ruleset, _report_of(call))
    return HTMLResponse(page, headers=PAGE_HEADERS)


def _report_of(call: _Call) -> dict[str, object]:
    report = call.database.coverage()
    if report is None:
        raise NotFound("rules are counted only by a server started with --dev.")
    return report


async def _mirrors(call: _Call) -> Response:
    """Answer what the rules keep, with what the last check found."""
    return _mirrors_answer(call, call.database.last_check())


async def _check_mirrors(call: _Call) -> Response:
    """Hold what the rules keep against the data, and answer what was found."""
    return _mirrors_answer(call, await call.database.check_derived())


def _mirrors_answer(call: _Call, check: KeptCheck | None) -> Response:
    database = call.database
    report = mirrors_report(database.ruleset, database.backfills(), check)
    return json_answer(call.request, format_json(report))


_ENDPOINTS: Final[dict[str, dict[str, Callable[[_Call], Awaitable[Response]]]]] = {
    RULES: {"GET": _get_rules, "PUT": _put_rules},
    COVERAGE: {"GET": _coverage_page},
    COVERAGE_JSON: {"GET": _coverage_json},
    MIRRORS: {"GET": _mirrors, "POST": _check_mirrors},
}
