"""The websocket end of one socket: uvicorn's protocol, with a door for ready frames.

ASGI knows one way to send: `await send(...)` for each message and each socket, which frames the
text anew every time. For a fan-out that is most of the cost, so this protocol also hands the
application a door, in `scope["extensions"]["treedb.frames"]`, that writes framed bytes straight
to the transport. Everything else about websockets stays uvicorn's.
"""

import asyncio
from functools import partial
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame
from websockets.http11 import Request

from treedb.config import Limits
from treedb.errors import CloseCode
from treedb.server.door import DOOR
from treedb.server.http_protocol import TreeHttpProtocol


def uvicorn_options(limits: Limits) -> dict[str, Any]:
    """Return the keyword arguments for uvicorn.Config that make it serve treedb.

    uvicorn's own log lines are off: they would print URLs, and those may hold tokens.
    """
    return {
        "http": partial(TreeHttpProtocol, limits=limits),
        "ws": partial(TreeWebSocketProtocol, limits=limits),
        "loop": "uvloop",
        "ws_max_size": limits.frame_bytes,
        "ws_ping_interval": limits.ping_interval_ms / 1000,
        "ws_ping_timeout": limits.ping_timeout_ms / 1000,
        "ws_per_message_deflate": False,
        "server_header": False,
        "proxy_headers": False,
        "access_log": False,
        "log_level": "warning",
        "backlog": 4096,
        "timeout_keep_alive": limits.idle_timeout_ms / 1000,
        "timeout_graceful_shutdown": 5,
    }


class FrameDoor:
    """The door of one socket under uvicorn (see treedb.server.door).

    A fan-out comes through here once for each listener, so what it looks at is kept close.
    """

    __slots__ = ("_is_open", "_protocol", "_transport", "congested")

    def __init__(self, protocol: "TreeWebSocketProtocol") -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self._is_open = True
        self.congested = False  # kept right by the protocol

    def write(self, ready: bytes) -> None:
        """Write frames to the transport, unless the connection is closing."""
        if self._is_open and not self._transport.is_closing():
            self._transport.write(ready)

    def buffered(self) -> int:
        """Count the bytes that wait in this process for the socket to take them."""
        return self._transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Wait until the transport lets its writers go on, or the connection is lost."""
        await self._protocol.writable.wait()

    def close(self, code: int, reason: str) -> None:
        """Begin the closing handshake, or cut the connection if it never began."""
        self._protocol.begin_close(code, reason)

    def shut(self) -> None:
        """Take nothing more: a close frame is the last one."""
        self._is_open = False


class TreeWebSocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's websocket protocol with a door, and a keep-alive that spares slow peers."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: Limits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.close_timeout = limits.close_timeout_ms / 1000
        self._door: FrameDoor | None = None
        self._pings_per_second = limits.pings_per_second
        self._pings = 0
        self._pings_since = 0.0
        self._heard = False
        self._backlog = 0

    def handle_connect(self, event: Request) -> None:
        """Answer the handshake and give the application its door."""
        super().handle_connect(event)
        if self.response.status_code == 101:
            self._door = FrameDoor(self)
            extensions: dict[str, Any] = self.scope["extensions"] or {}
            extensions[DOOR] = self._door

    def send_receive_event_to_app(self) -> None:
        """Hand a message on; text that is not UTF-8 ends the connection, and is no fault of ours.

        uvicorn would log a traceback, with which any client could fill the log.
        """
        if self.curr_msg_data_type == "text" and not self.close_sent:
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                self.conn.send_close(CloseCode.NOT_UTF_8)
                self.handle_parser_exception()
                return
        super().send_receive_event_to_app()

    def begin_close(self, code: int, reason: str) -> None:
        """Send a close frame and wake the application; cut a peer that does not answer it.

        The timer aborts where uvicorn's closes: closing waits for what is unsent, for ever if
        the peer does not read, and such peers are the ones this is used on.
        """
        if self.close_sent or self.transport.is_closing():
            return
        if self._door is not None:
            self._door.shut()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if not self.handshake_complete:
            self.transport.abort()
            return
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)

    def pause_writing(self) -> None:
        """Note that the peer reads slower than we write."""
        self._mark(congested=True)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the peer has caught up."""
        self._mark(congested=False)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let whoever waits for the peer go on, and let go of the door."""
        self._mark(congested=False)
        self._door = None
        super().connection_lost(exc)

    def _mark(self, *, congested: bool) -> None:
        if self._door is not None:
            self._door.congested = congested

    # Keep-alive. A large message in either direction can hold a pong back for longer than the
    # timeout, and a peer whose reading we paused cannot answer at all: neither is dead.

    def send_keepalive_ping(self) -> None:
        """Ping the peer, and begin to watch for other signs of life."""
        self._look_again()
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """Fail the connection, unless the peer sent a frame or took bytes since the last look."""
        if self._heard or self.read_paused or self._backlog > self._unsent():
            self._look_again()
            self.pong_timer = self.loop.call_later(self.ping_timeout or 0, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        if self._unsent():
            self.transport.abort()

    def _look_again(self) -> None:
        self._heard = False
        self._backlog = self._unsent()

    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def handle_text(self, event: Frame) -> None:
        """Take a text frame."""
        self._heard = True
        super().handle_text(event)

    def handle_cont(self, event: Frame) -> None:
        """Take a fragment of a frame."""
        self._heard = True
        super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping; a peer that floods with them is closed (1008)."""
        self._heard = True
        super().handle_ping()
        now = self.loop.time()
        if now - self._pings_since >= 1:
            self._pings_since, self._pings = now, 0
        self._pings += 1
        if self._pings > self._pings_per_second:
            reason = f"more than {self._pings_per_second} pings a second"
            self.begin_close(CloseCode.POLICY_VIOLATION, reason)
