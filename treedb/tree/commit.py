"""A numbered patch: what the journal keeps and everyone follows."""

from collections.abc import Iterable
from dataclasses import dataclass

from treedb.paths.path import Path
from treedb.tree.patch import Patch


@dataclass(frozen=True, slots=True)
class Commit:
    """One change of the tree that is on disk.

    `revision` numbers the commits of one database from 1, without gaps; `time_ms` is the server's
    time, that of its server values too; `write_id` is the sender's, if it gave one; `author` is
    the uid of who wrote, None without one. `rules` is the text of the rules that are in force
    from this commit on, None where they stay. `derived` are the numbers of the patch's changes that
    nobody asked for, which mirrors and counts added; ascending, and the first change is 0. They
    are numbers because a patch is in the order to apply it, whoever asked for what.
    """

    revision: int
    time_ms: int
    patch: Patch
    write_id: str | None
    author: str | None
    rules: str | None = None
    derived: tuple[int, ...] = ()


def derived_in(patch: Patch, named: Iterable[Path]) -> tuple[int, ...]:
    """Return the numbers of a patch's changes at places that nobody named."""
    places = frozenset(named)
    return tuple(number for number, (path, _) in enumerate(patch.changes) if path not in places)
