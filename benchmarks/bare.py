"""The floor of small reads: an ASGI application that knows its one answer.

BARE_ANSWER='{"headers": [["content-type", "..."]], "body": "..."}' uvicorn benchmarks.bare:app
"""

import json
import os

from starlette.types import Receive, Scope, Send

_answer = json.loads(os.environ["BARE_ANSWER"])
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(name.encode(), value.encode()) for name, value in _answer["headers"]],
}
BODY = {"type": "http.response.body", "body": _answer["body"].encode()}


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer every request with the same headers and bytes."""
    if scope["type"] == "http":
        await send(START)
        await send(BODY)
