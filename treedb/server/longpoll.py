"""The long-polling endpoint, /.lp: calls of pages without websockets, as scripts to load.

An id that is unknown, and a password that is wrong, are answered with the script that closes the
client: a page hears of nothing else, and it then begins anew.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from treedb.config import Limits
from treedb.errors import MethodNotAllowed, ProtocolError
from treedb.server.jsonp import JAVASCRIPT
from treedb.server.poll_client import PollClient, begin_polls
from treedb.server.poll_door import Turn
from treedb.server.realtime import Realtime
from treedb.wire.poll import CLOSE, callback_of, segments_of, start_script

# The page that tells us when the page around it goes: its own URL has all there is to say. By the
# time a page is left a browser lets only such requests go that need nobody to wait for them.
_LEAVE: Final = """
addEventListener("pagehide", () => {
  const url = location.pathname + location.search.replace("dframe=", "disconn=");
  fetch(url, { keepalive: true });
});
"""
_FRAME: Final = f"<!doctype html><title>treedb</title><script>{_LEAVE}</script>"
_LEAVE_HASH: Final = base64.b64encode(hashlib.sha256(_LEAVE.encode()).digest()).decode()

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "cross-origin",  # whose pages may load it: all
    "Referrer-Policy": "no-referrer",  # the URL holds the password
    "X-Content-Type-Options": "nosniff",
}
_SCRIPT_HEADERS: Final = {**_HEADERS, "Content-Type": JAVASCRIPT}
_FRAME_HEADERS: Final = {
    **_HEADERS,
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'sha256-{_LEAVE_HASH}'; connect-src 'self'"
    ),
}


class LongPolling:
    """All clients of this process that poll."""

    def __init__(self, realtime: Realtime, limits: Limits) -> None:
        self._realtime = realtime
        self._limits = limits
        self._clients: dict[str, PollClient] = {}
        self._by_session: dict[tuple[str, str], PollClient] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def answer(self, request: Request) -> Response:
        """Answer one call."""
        if request.method != "GET":
            raise MethodNotAllowed("GET")
        parameters = request.query_params
        if "start" in parameters:
            return _script(await self._start(request, parameters))
        client = self._known(parameters)
        if "dframe" in parameters:
            return Response("" if client is None else _FRAME, headers=_FRAME_HEADERS)
        if client is None:
            return _script(CLOSE)
        if "disconn" in parameters:
            client.leave()
            return _script(CLOSE)
        return _script(await _call(client, request, parameters))

    def client_of(self, namespace: str, session_id: str) -> PollClient | None:
        """Return the client whose session has an id, None when none polls."""
        return self._by_session.get((namespace, session_id))

    async def close(self) -> None:
        """End every session, as the server stops."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _start(self, request: Request, parameters: Mapping[str, str]) -> bytes:
        callback = callback_of(parameters)
        database = await self._realtime.database_of(parameters)
        with ExitStack() as until_gone:
            until_gone.enter_context(self._realtime.connection())
            host = request.headers.get("host", "")
            polls = begin_polls(self._realtime, database, host, parameters)
            client = PollClient(self._realtime, self._limits, polls)
            until_gone.enter_context(self._registered(client))
            task = asyncio.create_task(_serve(client, until_gone.pop_all()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return start_script(callback, polls.id, polls.password) + await client.first_packet()

    @contextmanager
    def _registered(self, client: PollClient) -> Iterator[None]:
        polls = client.polls
        session = polls.opened.namespace, polls.opened.id
        self._clients[polls.id] = client
        self._by_session[session] = client
        try:
            yield
        finally:
            del self._clients[polls.id]
            del self._by_session[session]

    def _known(self, parameters: Mapping[str, str]) -> PollClient | None:
        """Return the client that makes a call, if it presents its password."""
        client = self._clients.get(parameters.get("id", ""))
        password = parameters.get("pw", "").encode()
        if client is None or not hmac.compare_digest(client.polls.password.encode(), password):
            return None
        return client


async def _serve(client: PollClient, until_gone: ExitStack) -> None:
    with until_gone:
        await client.run()


async def _call(client: PollClient, request: Request, parameters: Mapping[str, str]) -> bytes:
    try:
        segments = segments_of(parameters)
    except ProtocolError as error:
        client.fail(error)
        segments = ()
    turn = Turn()
    watching = asyncio.create_task(_watch(request, turn))
    try:
        return await client.call(segments, turn)
    finally:
        watching.cancel()


async def _watch(request: Request, turn: Turn) -> None:
    """End the wait of a call whose peer has gone, or when the server has something to tell it."""
    await request.receive()  # the request itself
    message = await request.receive()
    if message["type"] == "http.disconnect":
        turn.leave()
    else:
        turn.wake()


def _script(content: bytes) -> Response:
    return Response(content, headers=_SCRIPT_HEADERS)
