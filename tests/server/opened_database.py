"""A database in a folder of the test's own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database


@asynccontextmanager
async def opened_database(folder: Path, limits: Limits = DEFAULT_LIMITS) -> AsyncIterator[Database]:
    """Open and start an empty database, and close it at the end."""
    database = Database.open(folder / "default", "default", limits, SystemClock(), fsync=False)
    await database.start()
    try:
        yield database
    finally:
        await database.close()
