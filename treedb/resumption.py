"""Resumption: what a listener missed while it was away, from the journal.

Whoever comes back with a bookmark is told the commits after it, cut to its place by a hub like any
other. It is told only if all of them are there, and only if it may know them: that it may read the
place now does not mean that it might have known what stood there in between and is gone. So for
what it missed to be told, its permission has to have stood all the time. A rule is a function of
the rules, the tree, the caller and the time; the caller is the same, and so the permission stood
when none of the missed commits put other rules, or changed what the rule read, and no rule on the
way to the place looks at the time. Rules do not bind an administrator.

    bookmark at 12, the tree at 15    commits 13, 14 and 15 are told
    commit 14 put other rules         a fresh value
    commit 14 made the caller member  a fresh value, for the rule has read that
    nothing changed at the place      nothing is told, whatever else happened
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.rules.cascade import along
from treedb.rules.ruleset import Ruleset
from treedb.store.journal import JournalEntry, JournalReader
from treedb.store.reading import Steps
from treedb.sync.delivery import Delivery, Listener, Watch
from treedb.sync.grants import Grant, Grants
from treedb.sync.hub import Hub
from treedb.tree.bookmark import Bookmark
from treedb.tree.commit import Commit

MIB: Final = 1024 * 1024
# More is read neither from the journal nor for one listener: decoding it takes a tenth of a second.
MOST_COMMITS: Final = 10_000
MOST_BYTES: Final = 8 * MIB
SLICE_ENTRIES: Final = 500  # read before others have their turn

Encode = Callable[[Delivery], bytes]


@dataclass(frozen=True, slots=True)
class Permission:
    """What a permission to read stands on: its caller, and the places that its rule read.

    `is_lasting` is False when time alone may change it.
    """

    caller: Caller
    depends_on: frozenset[Path]
    is_lasting: bool

    @classmethod
    def of(
        cls, place: Path, caller: Caller, ruleset: Ruleset, depends_on: frozenset[Path]
    ) -> "Permission":
        """Return the permission that a caller has by rules at a place."""
        rules = (node.read for node, _ in along(ruleset.root, place.keys))
        is_lasting = not any(rule is not None and "now" in rule.variables for rule in rules)
        return cls(caller, depends_on, is_lasting)

    def stood(self, watch: Watch, listener: Listener, commits: Iterable[Commit]) -> bool:
        """Tell whether it is sure that the permission was there before each of the last commits."""
        if self.caller.is_admin:
            return True
        if not self.is_lasting:
            return False
        grants = Grants()
        grants.add(Grant(watch, listener, self.caller, self.depends_on, 0.0))
        return not any(
            commit.rules is not None or grants.depending_on(commit.patch) for commit in commits
        )


def entries_since(journal: JournalReader, since: Bookmark) -> Steps[list[JournalEntry] | None]:
    """Read the entries after a bookmark; None when they are not all there, or are too many."""
    if not journal.holds(since):
        return None
    entries: list[JournalEntry] = []
    size = 0
    for entry in journal.entries_after(since.revision):
        entries.append(entry)
        size += len(entry.raw)
        if len(entries) > MOST_COMMITS or size > MOST_BYTES:
            return None
        if len(entries) % SLICE_ENTRIES == 0:
            yield
    return entries


def deliveries_of(place: Path, listener: Listener, commits: Iterable[Commit]) -> Iterator[Delivery]:
    """Yield what commits come to for who listens to everything at a place."""
    hub = Hub()
    hub.join(Watch(place), listener, 0)
    for commit in commits:
        for view, changes in hub.touched(commit):
            delivery = view.learn(changes, commit.revision)
            assert isinstance(delivery, Delivery), "who listens to everything needs to read nothing"
            yield replace(delivery, time_ms=commit.time_ms)


def told_of(
    watch: Watch,
    listener: Listener,
    entries: Iterable[JournalEntry],
    permission: Permission,
    encode: Encode,
) -> list[bytes] | None:
    """Return what journal entries come to for a listener, encoded; None if it may not know it."""
    commits = [entry.commit() for entry in entries]
    deliveries = list(deliveries_of(watch.place, listener, commits))
    if deliveries and not permission.stood(watch, listener, commits):
        return None
    return [encode(delivery) for delivery in deliveries]
