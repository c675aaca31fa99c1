"""A numbered patch: what the journal keeps and everyone follows."""

from dataclasses import dataclass

from treedb.tree.patch import Patch


@dataclass(frozen=True, slots=True)
class Commit:
    """One change of the tree that is on disk.

    `revision` numbers the commits of one database from 1, without gaps; `time_ms` is the server's
    time, that of its server values too; `write_id` is the sender's, if it gave one; `author` is
    the uid of who wrote, None without one. `rules` is the text of the rules that are in force
    from this commit on, None where they stay.
    """

    revision: int
    time_ms: int
    patch: Patch
    write_id: str | None
    author: str | None
    rules: str | None = None
