"""The application: which URL leads where, and what becomes of errors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path as FilePath
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, NoMatchFound, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from treedb.config import Limits, Settings
from treedb.errors import TreeError
from treedb.server import openapi
from treedb.server.callers import Authenticate, Callers
from treedb.server.edge import Edge, hosts_of
from treedb.server.files import Files, client_folder
from treedb.server.http_answers import (
    on_disconnect,
    on_http_exception,
    on_tree_error,
    on_unexpected,
)
from treedb.server.longpoll import LongPolling
from treedb.server.namespaces import Databases
from treedb.server.origins import Origins
from treedb.server.realtime import Realtime
from treedb.server.reserved import ADMINISTRATIVE, Reserved
from treedb.server.rest import ENDING, Rest
from treedb.server.websocket import WebSockets

CLIENT = "/.client/"
PACKAGE = FilePath(__file__).parent.parent
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}  # pages of any origin may import the client

Endpoint = Callable[[Request], Awaitable[Response]]


def build_app(
    databases: Databases, settings: Settings, limits: Limits, authenticate: Authenticate
) -> Starlette:
    """Compose the application; it closes the databases when the server stops."""
    callers = Callers(authenticate, explains_to_all=settings.dev)
    realtime = Realtime(databases.get, limits, databases.clock, callers)
    long_polling = LongPolling(realtime, limits)
    websockets = WebSockets(realtime, limits, long_polling.client_of)
    rest = Rest(databases, callers, allows_jsonp=settings.jsonp)
    reserved = Reserved(databases, settings, limits, callers)
    routes = [
        RawRoute(_is_plain_place, rest.answer),  # again below; asked first, for most are
        Route("/.health", reserved.health),
        Route("/.metrics", reserved.metrics),
        Route(openapi.PATH, openapi.answer_openapi),
        WebSocketRoute("/.ws", websockets.serve),
        Route("/.ws", websockets.refuse_plain),
        Route("/.lp", long_polling.answer),
        *_files(CLIENT, client_folder(PACKAGE), ANY_ORIGIN),
        RawRoute(lambda raw: raw.startswith(ADMINISTRATIVE), reserved.administrative),
        RawRoute(lambda raw: raw.endswith(ENDING), rest.answer),
        *_files("/", settings.static, {}),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await databases.end_left_sessions()
        following = asyncio.create_task(databases.follow_rules_file())
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait((following,))
            await long_polling.close()
            await databases.close()

    handlers = {
        TreeError: on_tree_error,
        HTTPException: on_http_exception,
        ClientDisconnect: on_disconnect,
        Exception: on_unexpected,
    }
    origins = Origins.of(settings.allowed_origins, is_dev=settings.dev)
    edge = Middleware(Edge, hosts_of(settings), origins)
    app = Starlette(
        routes=routes, middleware=[edge], exception_handlers=handlers, lifespan=lifespan
    )
    app.router.redirect_slashes = False
    return app


class RawRoute(BaseRoute):
    """A route by the raw path of the URL, for every method.

    starlette's own routes look at the decoded path, in which %2F has become a slash and bad
    UTF-8 something else.
    """

    def __init__(self, takes: Callable[[bytes], bool], endpoint: Endpoint) -> None:
        self._takes = takes
        self._endpoint = endpoint

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether the route takes a request."""
        takes = scope["type"] == "http" and self._takes(scope["raw_path"])
        return (Match.FULL if takes else Match.NONE), {}

    def url_path_for(self, name: str, /, **path_params: Any) -> NoReturn:
        """Refuse to build URLs: the route has no name."""
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        response = await self._endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


def _is_plain_place(raw: bytes) -> bool:
    """Tell a place that no path of our own, which all begin with a dot, can be meant for."""
    return raw.endswith(ENDING) and not raw.startswith(b"/.")


def _files(prefix: str, folder: FilePath | None, headers: Mapping[str, str]) -> Iterator[BaseRoute]:
    """Yield the route of a folder, when there is one."""
    if folder is not None:
        raw = prefix.encode()
        yield RawRoute(lambda path: path.startswith(raw), Files(folder, prefix, headers).answer)
