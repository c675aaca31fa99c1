"""The rules file that the server was started with, and the namespaces that follow it.

A namespace without rules of its own takes the file's. Rules that an administrator has put since
are the namespace's own: the file no longer changes them. An edit of the file is applied when it
is valid; else the last good rules stay, and the log says what is wrong and where.
"""

import logging
from pathlib import Path as FilePath
from typing import Final

from treedb.database import Database
from treedb.errors import RulesError, SettingsError, TreeError
from treedb.rules.cache import ruleset_of
from treedb.rules.source import format_findings
from treedb.store.kept_rules import Origin
from treedb.writes.mend import Side

log = logging.getLogger("treedb.rules")

# The file itself is good: it was read before, and only what stands in a namespace refuses it.
_REFUSED: Final = (
    "namespace %s keeps the rules it had: its data stands against a mirror or a count that %s "
    "brings.\n%s\n  Mend the data, or start the server with --mirror-backfill source, target or "
    "union, whichever is right. The file is tried again when it changes, and at the next start."
)


class RulesFile:
    """The last good text of a rules file."""

    def __init__(self, path: FilePath, text: str, stamp: str) -> None:
        self.path = path
        self.text = text
        self._stamp = stamp

    @classmethod
    def load(cls, path: FilePath) -> "RulesFile":
        """Read a rules file; SettingsError with every mistake and its place when it is wrong."""
        try:
            stamp = _stamp_of(path)
            text = _read(path)
            ruleset_of(text)
        except RulesError as error:
            raise SettingsError(
                f"rules: {path} is wrong.\n{format_findings(error.findings, str(path))}"
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"rules: {path} cannot be read: {error}.") from error
        return cls(path, text, stamp)

    def reload(self) -> bool:
        """Read the file again if it was changed; tell whether there is another good text.

        To be called on a thread: the file may be far away, and large.
        """
        seen, self._stamp = self._stamp, _stamp_of(self.path)
        if self._stamp == seen:
            return False
        try:
            text = _read(self.path)
            ruleset_of(text)
        except RulesError as error:
            findings = format_findings(error.findings, str(self.path))
            log.error("the rules file is wrong, the last good rules stay:\n%s", findings)  # noqa: TRY400
            return False
        except (OSError, UnicodeDecodeError) as error:
            log.error("the rules file cannot be read, the last good rules stay: %s", error)  # noqa: TRY400
            return False
        changed, self.text = text != self.text, text
        return changed

    async def apply_to(self, database: Database, side: Side | None = None) -> None:
        """Put the file's rules in force in a namespace that follows the file.

        `side` is right where they bring a mirror over data that disagrees; see Database.put_rules.
        """
        try:
            await self._apply_to(database, side)
        except RulesError as error:
            log.error(_REFUSED, database.namespace, self.path, self._listed(error))  # noqa: TRY400
        except TreeError:
            log.exception("the rules of namespace %s stay as they were", database.namespace)

    async def _apply_to(self, database: Database, side: Side | None) -> None:
        kept = database.kept_rules()
        if kept is not None and kept.text == self.text:
            return
        if kept is not None and kept.origin is not Origin.FILE:
            log.warning(
                "namespace %s has rules of its own, put by an administrator; %s does not change "
                "them",
                database.namespace,
                self.path,
            )
            return
        await database.put_rules(self.text, Origin.FILE, side)
        log.info("namespace %s has the rules of %s now", database.namespace, self.path)

    def _listed(self, error: RulesError) -> str:
        return "\n".join(f"  {self.path}:{finding}" for finding in error.findings)


def _read(path: FilePath) -> str:
    # Byte for byte: newlines stay as they are.
    return path.read_bytes().decode()


def _stamp_of(path: FilePath) -> str:
    """Return what tells one state of a file from another, "" for a file that is not there."""
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"
