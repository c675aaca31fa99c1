"""REST: every place of the tree at /<path>.json.

A request is read into a `Call` and answered by the verb it names. Paths come from the raw URL
only: the server's decoded path could move the boundary of a key.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from treedb.errors import DataStale, InvalidQuery, MethodNotAllowed, UnsupportedRequest
from treedb.paths.path import Path
from treedb.rules.query_variables import query_variables
from treedb.rules.scope import REST_READ
from treedb.server.callers import Callers
from treedb.server.credentials import auth_of
from treedb.server.etags import NO_CONDITIONS, conditions_of
from treedb.server.http_answers import preflight_answer
from treedb.server.namespaces import Databases
from treedb.server.parameters import Parameters, parse_parameters
from treedb.server.rest_call import Call
from treedb.server.rest_patching import ACCEPTED, answer_patch, is_standard
from treedb.server.rest_reading import answer_read, answer_tagged
from treedb.server.rest_writing import answer_delete, answer_post, answer_put, answer_update
from treedb.tree.query import EVERYTHING

ENDING: Final = b".json"

Verb = Callable[[Call], Awaitable[Response]]


class Rest:
    """The REST half of the server."""

    def __init__(
        self, databases: Databases, callers: Callers, *, allows_jsonp: bool = False
    ) -> None:
        self._databases = databases
        self._callers = callers
        self._allows_jsonp = allows_jsonp

    async def answer(self, request: Request) -> Response:
        """Answer one request; raises the TreeError that refuses it."""
        if request.method == "OPTIONS":
            response = preflight_answer(request)
            response.headers["Accept-Patch"] = ACCEPTED
            return response
        parameters = parse_parameters(request.scope["query_string"])
        method = _method_of(request, parameters)
        verb = _verb_of(request, method)
        auth = auth_of(request.headers, parameters, self._callers.authenticate)
        _check_combination(parameters, verb, allows_jsonp=self._allows_jsonp)
        query = parameters.query
        variables = REST_READ if query is None else query_variables(query)
        caller = self._callers.caller(auth, variables, explains=parameters.explains)
        path = _path_of(request, method)
        may_match = verb is answer_patch  # a standard patch may be conditional, as RFC 5789 advises
        conditions = conditions_of(request.headers, method, may_match=may_match)
        database = await self._databases.get(parameters.namespace)
        call = Call(request, method, path, parameters, caller, database, conditions)
        try:
            return await verb(call)
        except DataStale:
            return await _stale_answer(call)


def _method_of(request: Request, parameters: Parameters) -> str:
    """Return the method to act as: a POST may name another, for clients that know only POST."""
    if request.method != "POST":
        return request.method
    named = request.headers.getlist("x-http-method-override")
    if parameters.method_override is not None:
        named.append(parameters.method_override)
    if len(named) > 1:
        raise InvalidQuery("x-http-method-override is given twice: give it once.")
    return named[0].upper() if named else "POST"


def _path_of(request: Request, method: str) -> Path:
    raw: bytes = request.scope["raw_path"]
    # A priority has no children to merge or push.
    return Path.parse_url(raw.removesuffix(ENDING), allow_priority=method not in ("PATCH", "POST"))


def _verb_of(request: Request, method: str) -> Verb:
    verb = _VERBS.get(method)
    if verb is None:
        raise MethodNotAllowed
    return answer_patch if verb is answer_update and is_standard(request) else verb


def _check_combination(parameters: Parameters, verb: Verb, *, allows_jsonp: bool) -> None:
    """Raise InvalidQuery or UnsupportedRequest for parameters that do not go with the request."""
    if verb is not answer_read:
        if parameters.query is not None:
            raise InvalidQuery("orderBy and its companions choose what is read: leave them out.")
        if parameters.callback is not None:
            raise InvalidQuery("callback is for GET: leave it out.")
    if parameters.callback is not None and not allows_jsonp:
        raise UnsupportedRequest(
            "callback: this server does not answer JavaScript (JSONP), which the setting jsonp "
            "allows; every answer may be read across origins (CORS)."
        )
    if parameters.is_strict or parameters.is_dry_run or parameters.side is not None:
        raise InvalidQuery(
            "format=strict, dryRun and mirrorBackfill are for /.settings/rules.json."
        )


async def _stale_answer(call: Call) -> Response:
    """Answer a write whose tag is not the value's any more: with the value, and its tag.

    Who may not read the value is told that, and nothing of it.
    """
    return await answer_tagged(replace(call, conditions=NO_CONDITIONS), EVERYTHING, 412)


_VERBS: Final[dict[str, Verb]] = {
    "GET": answer_read,
    "HEAD": answer_read,
    "PUT": answer_put,
    "PATCH": answer_update,
    "POST": answer_post,
    "DELETE": answer_delete,
}
