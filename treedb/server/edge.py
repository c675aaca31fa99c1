"""The first look at a request: which host it asks for, and whose page sends it.

A request for a host that is not ours is refused, whatever it asks. Of a foreign page, simple reads
are answered, and the browser keeps the answer from the page; everything else is refused: what
changes something, what is an administrator's, and realtime connections, whose answers browsers
would let the page read. Who sends no Origin is no page.
"""

from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from treedb.config import Settings
from treedb.errors import ForeignOrigin, Misdirected, TreeError, UnsupportedRequest
from treedb.paths.keys import shown
from treedb.server.hosts import Hosts, parse_host, parse_host_pattern
from treedb.server.http_answers import error_answer
from treedb.server.http_head import ONE_HOST, Headers
from treedb.server.origins import NO_PAGE, SHARING, Origins, page_of
from treedb.server.websocket import refuse_handshake

POLLING: Final = b"/.lp"
CALLBACK: Final = b"callback="
GUARDED: Final = (b"/.settings/", b"/.inspect/", b"/.metrics")
SIMPLE: Final = ("GET", "HEAD")


class Edge:
    """The application behind a look at hosts and origins."""

    def __init__(self, app: ASGIApp, hosts: Hosts, origins: Origins) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._last_host: bytes | None = None  # that was allowed, mostly the next one's too

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
        except TreeError as error:
            await _refuse(error, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        host, origin = _host_and_origin(scope["headers"])
        if host is None or host != self._last_host:
            self._last_host = self._checked(host)
        is_http = scope["type"] == "http"
        if origin is None and is_http and _is_script(scope):
            origin = _page_around(scope["headers"])
        is_foreign = origin is not None and self._origins.is_foreign(origin, host or b"")
        scope[SHARING] = self._origins.sharing(None if is_foreign else origin)
        if is_foreign and not (is_http and _is_simple(scope)):
            raise ForeignOrigin(
                f"The page that asks is of the origin {shown(origin or NO_PAGE)}; the setting "
                "allowed_origins lists those that may."
            )

    def _checked(self, host: bytes | None) -> bytes | None:
        found = None if host is None else parse_host(host)
        if found is None:
            raise UnsupportedRequest(ONE_HOST)
        if not self._hosts.allows(found[0]):
            raise Misdirected(
                f"This server is not asked for as {shown(found[0])}; the setting allowed_hosts "
                "lists the names by which it is."
            )
        return host


def hosts_of(settings: Settings) -> Hosts:
    """Return the hosts of settings: those listed, and the one that is listened at by its name."""
    own = parse_host_pattern(settings.host)
    return Hosts.of(settings.allowed_hosts if own is None else (own, *settings.allowed_hosts))


def _host_and_origin(headers: Headers) -> tuple[bytes | None, str | None]:
    """Return what a request is for and whose page sends it; several make none that could be good."""
    host: bytes | None = None
    origin: str | None = None
    for name, value in headers:
        if name == b"host":
            host = value if host is None else b""
        elif name == b"origin":
            origin = value.decode("latin-1") if origin is None else NO_PAGE
    return host, origin


def _is_script(scope: Scope) -> bool:
    """Tell whether the answer is one that pages load as a script: then they read it all."""
    query: bytes = scope["query_string"]
    return scope["raw_path"] == POLLING or (query != b"" and CALLBACK in unquote_to_bytes(query))


def _page_around(headers: Headers) -> str | None:
    found = {name: value.decode("latin-1") for name, value in headers}
    return page_of(found.get(b"referer"), found.get(b"sec-fetch-site"))


def _is_simple(scope: Scope) -> bool:
    if scope["method"] not in SIMPLE or scope["raw_path"].startswith(GUARDED):
        return False
    return not _is_script(scope)


async def _refuse(error: TreeError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await refuse_handshake(WebSocket(scope, receive, send), error)
    else:
        await error_answer(Request(scope, receive), error)(scope, receive, send)
