"""A database in a folder of the test's own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path as FilePath

from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database
from treedb.paths.path import Path
from treedb.rules.authority import SERVER
from treedb.server.namespaces import OPEN_RULES
from treedb.writes.request import set_write


@asynccontextmanager
async def opened_database(
    folder: FilePath, limits: Limits = DEFAULT_LIMITS, rules: str = OPEN_RULES
) -> AsyncIterator[Database]:
    """Open and start an empty database, and close it at the end."""
    directory, access = folder / "default", Access(rules)
    database = Database.open(directory, "default", limits, SystemClock(), access, fsync=False)
    await database.start()
    try:
        yield database
    finally:
        await database.close()


async def write(database: Database, path: str, value: object) -> None:
    """Write as the server itself, whom no rule binds."""
    place = Path.parse(path)
    await database.write(set_write(place, value, database.limits, caller=SERVER))
