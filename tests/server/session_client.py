"""A client of a Session, without a socket: it asks, and waits for the answer to its number."""

import json
from collections.abc import Callable
from typing import Any

from tests.server.recording_door import RecordingDoor
from tests.wire.dialogue import client_frames
from treedb.auth.dev_tokens import parse_dev_credential
from treedb.auth.identity import Auth
from treedb.database import Database
from treedb.server.callers import Callers
from treedb.server.session import Session


class SessionClient:
    """One client; `heard` are the server's data messages so far, without their envelope."""

    def __init__(
        self,
        database: Database,
        authenticate: Callable[[str], Auth] = parse_dev_credential,
        *,
        explains: bool = False,
    ) -> None:
        self.door = RecordingDoor()
        callers = Callers(authenticate, explains_to_all=explains)
        self.session = Session(database, self.door, callers)
        self._number = 0

    @property
    def heard(self) -> list[Any]:
        return [message["d"] for message in self.door.messages if message["t"] == "d"]

    @property
    def pushes(self) -> list[Any]:
        return [message for message in self.heard if "r" not in message]

    async def send(self, action: str, body: Any) -> int:
        """Send a request without waiting for its answer; return its number."""
        self._number += 1
        message = {"t": "d", "d": {"r": self._number, "a": action, "b": body}}
        for frame in client_frames(json.dumps(message)):
            await self.session.receive(frame)
        return self._number

    async def ask(self, action: str, **body: Any) -> tuple[str, Any]:
        """Send a request and return its answer's status and data."""
        return await self.answer(await self.send(action, body))

    async def answer(self, number: int) -> tuple[str, Any]:
        """Wait for the answer to a request already sent."""
        await self.door.until(lambda: any(each.get("r") == number for each in self.heard))
        (answer,) = (each["b"] for each in self.heard if each.get("r") == number)
        return answer["s"], answer["d"]
