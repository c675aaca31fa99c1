"""A websocket client that sends bytes as they are, and reads what comes back frame by frame."""

import contextlib
import json
import socket
from types import TracebackType
from typing import Any, Self

from tests.server.live_server import HOST, TIMEOUT_SECONDS
from tests.server.serving import handshake
from tests.wire.dialogue import client_frames

TEXT, CLOSE, PING = 0x81, 0x88, 0x89
LARGEST = 125  # a payload whose length stands in the second byte


def masked(text: str, first: int = TEXT) -> bytes:
    """Make a client's frame, masked with zeros; a lone surrogate stays as it is."""
    payload = text.encode(errors="surrogatepass")
    size = len(payload)
    if size <= LARGEST:
        head = bytes((first, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((first, 0xFE)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, 0xFF)) + size.to_bytes(8, "big")
    return head + b"\0\0\0\0" + payload


class RawWebSocket:
    """One realtime connection, after its handshake and the server's first message."""

    def __init__(self, port: int, namespace: str = "default") -> None:
        self.socket = socket.create_connection((HOST, port), TIMEOUT_SECONDS)
        self._stream = self.socket.makefile("rb")
        self.socket.sendall(handshake(f"/.ws?v=5&ns={namespace}"))
        while self._stream.readline().strip():
            pass
        assert self.read()["d"]["t"] == "h"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stream.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes; whoever was closed meanwhile reads why."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)

    def say(self, *frames: str) -> None:
        self.send(b"".join(map(masked, frames)))

    def ask(self, number: int, action: str, body: Any) -> None:
        message = {"t": "d", "d": {"r": number, "a": action, "b": body}}
        self.say(*client_frames(json.dumps(message)))

    def read(self) -> Any:
        """Return the next message, or the code with which the server closes, None without one."""
        first, payload = self._frame()
        if first == CLOSE:
            return int.from_bytes(payload[:2], "big")
        if first is None:
            return None
        if first != TEXT:
            return self.read()
        text = payload.decode()
        if len(text) <= 6 and text.isdigit():
            text = "".join(self._frame()[1].decode() for _ in range(int(text)))
        return json.loads(text)

    def read_all(self) -> list[Any]:
        """Return all messages until the server closes, and its code or None."""
        heard = [self.read()]
        while isinstance(heard[-1], dict):
            heard.append(self.read())
        return heard

    def _frame(self) -> tuple[int | None, bytes]:
        try:
            head = self._stream.read(2)
            if len(head) < 2:
                return None, b""
            size = head[1]
            if size > LARGEST:
                size = int.from_bytes(self._stream.read(2 if size == LARGEST + 1 else 8), "big")
            return head[0], self._stream.read(size)
        except ConnectionError:
            return None, b""
