"""A REST request, understood, and what its verbs do with JSON text."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import orjson
from starlette.requests import Request

from treedb.database import Database
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.server.etags import NO_CONDITIONS, Conditions
from treedb.server.parameters import Parameters

INLINE_BYTES: Final = 256 * 1024  # larger texts are parsed, checked and written on a thread

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call:
    """One REST request, understood."""

    request: Request
    method: str
    path: Path
    parameters: Parameters
    caller: Caller
    database: Database
    conditions: Conditions = NO_CONDITIONS


async def on_text_of(size_bytes: int, work: Callable[[], Result]) -> Result:
    """Do work on text of a size: here when it is small, else on a thread."""
    return work() if size_bytes <= INLINE_BYTES else await asyncio.to_thread(work)


def pretty(pieces: list[bytes]) -> bytes:
    """Return JSON text indented."""
    return orjson.dumps(orjson.loads(b"".join(pieces)), option=orjson.OPT_INDENT_2)
