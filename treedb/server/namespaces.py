"""The databases of this process, one for each namespace, opened when first asked for.

A namespace's folder is its name under the data folder. A name is letters, digits and hyphens, so
it can lead nowhere else, and the data folder holds no symbolic links.
"""

import asyncio
import logging
import re
from contextlib import closing
from pathlib import Path as FilePath
from typing import Final

from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import Limits, Settings
from treedb.database import Database
from treedb.errors import (
    InvalidNamespace,
    NotFound,
    SettingsError,
    StoreError,
    TreeError,
    Unavailable,
)
from treedb.paths.keys import shown
from treedb.server.rules_file import RulesFile
from treedb.store.environment import sync_directory
from treedb.store.store import Store
from treedb.writes.mend import Side

DEFAULT: Final = "default"
RULES_FILE_SECONDS: Final = 1.0  # how soon an edit of the rules file is noticed
OPEN_RULES: Final = '{"rules": {".read": true, ".write": true}}'
LOCKED_RULES: Final = '{"rules": {".read": false, ".write": false}}'

DATA_FILE: Final = "data.mdb"

log = logging.getLogger("treedb.namespaces")

_is_name: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}").fullmatch


class Databases:
    """Open databases by namespace, and close them all."""

    def __init__(
        self,
        settings: Settings,
        limits: Limits,
        clock: SystemClock,
        rules_file: RulesFile | None = None,
    ) -> None:
        self.clock = clock
        self._settings = settings
        self._rules_file = rules_file
        self._side = Side(settings.mirror_backfill) if settings.mirror_backfill else None
        self._access = Access(
            OPEN_RULES if settings.dev and rules_file is None else LOCKED_RULES,
            counts_coverage=settings.dev,
            rechecks_data=settings.recheck_listens,
        )
        self._limits = limits
        self._databases: dict[str, Database] = {}
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def get(self, namespace: str, *, create: bool = False) -> Database:
        """Return a namespace's database, "" for the default one.

        Raises InvalidNamespace for a name that none can have, NotFound for one that does not
        exist. With `create`, which is for administrators, and in development mode it is made.
        """
        name = namespace or DEFAULT
        if name in self._databases:
            return self._databases[name]
        check_namespace(name)
        async with self._opening:
            if self._is_closed:
                raise Unavailable("The server is shutting down, try again later.")
            if name not in self._databases:
                self._databases[name] = await self._open(name, create=create)
            return self._databases[name]

    @property
    def opened(self) -> tuple[Database, ...]:
        """Return the databases that are open."""
        return tuple(self._databases.values())

    async def follow_rules_file(self) -> None:
        """Apply every good edit of the rules file to the namespaces that follow it, for ever."""
        while self._rules_file is not None:
            await asyncio.sleep(RULES_FILE_SECONDS)
            if await asyncio.to_thread(self._rules_file.reload):
                async with self._opening:  # one that is being opened may have the text before
                    for database in self._databases.values():
                        await self._rules_file.apply_to(database, self._side)

    async def end_left_sessions(self) -> None:
        """Open the namespaces where a server died with sessions to end: that ends them."""
        for name in await asyncio.to_thread(self._with_left_sessions):
            try:
                await self.get(name)
            except TreeError as error:
                log.warning("the sessions of %s end when it is opened: %s", name, error.reason)

    async def close(self) -> None:
        """Close every database; no more are opened."""
        async with self._opening:
            self._is_closed = True
            databases, self._databases = self._databases, {}
            for database in databases.values():
                await database.close()

    def _with_left_sessions(self) -> list[str]:
        data = self._settings.data
        folders = sorted(data.iterdir()) if data.is_dir() else []
        return [each.name for each in folders if _is_name(each.name) and self._has_sessions(each)]

    def _has_sessions(self, directory: FilePath) -> bool:
        if not (directory / DATA_FILE).is_file():
            return False
        try:
            store = Store.open(directory, self._limits)
        except StoreError as error:  # whoever asks for the namespace is told, too
            log.warning("%s", error.reason)
            return False
        with closing(store), store.snapshot() as snapshot:
            return bool(snapshot.sessions())

    async def _open(self, name: str, *, create: bool) -> Database:
        most = self._limits.namespaces
        if len(self._databases) >= most:
            raise Unavailable(f"{most} namespaces are open, at most {most} are allowed at once.")
        directory = self._settings.data / name
        may_create = create or self._settings.dev or name == DEFAULT
        if not may_create and not directory.exists():
            raise NotFound(f"There is no namespace {name}.")
        database = await asyncio.to_thread(
            Database.open,
            directory,
            name,
            self._limits,
            self.clock,
            self._access,
            fsync=not self._settings.unsafe_no_fsync,
        )
        await database.start()
        if self._rules_file is not None:
            try:
                await self._rules_file.apply_to(database, self._side)
            except BaseException:
                await database.close()  # nobody else knows of it
                raise
        return database


def check_namespace(name: str) -> None:
    """Raise InvalidNamespace for a name that none can have."""
    if not _is_name(name):
        raise InvalidNamespace(
            f"The namespace {shown(name)}: a name is 1 to 63 characters out of a-z, 0-9 and -, "
            "and does not begin with -."
        )


def prepare_data_folder(folder: FilePath) -> None:
    """Make the data folder when it is absent, for its owner only; SettingsError if it is no good."""
    try:
        for each in (*reversed(folder.absolute().parents), folder.absolute()):
            if not each.exists():
                each.mkdir(mode=0o700)
                sync_directory(each.parent)
        links = [entry.name for entry in folder.iterdir() if entry.is_symlink()]
    except OSError as error:
        raise SettingsError(f"data: the folder {folder} cannot be used: {error}.") from error
    if links:
        raise SettingsError(
            f"data: {folder / links[0]} is a symbolic link; the data folder holds real folders "
            "only. Move what it points to here, or choose another folder."
        )
