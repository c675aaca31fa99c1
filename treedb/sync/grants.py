"""Who may go on listening, and what that depends on.

Rights outlive their reason: rules change, a client signs out, or the data that a rule read is
changed. A grant remembers the places the permission depended on, so that a commit finds the
grants it may end. It decides nothing itself; whoever asks it asks the rules again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from treedb.paths.path import Path
from treedb.paths.trie import PathTrie
from treedb.rules.authority import Caller
from treedb.sync.delivery import Listener, Watch
from treedb.tree.patch import Patch


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """A listener's permission for one watch; `checked_at` is in seconds of a monotonic clock."""

    watch: Watch
    listener: Listener
    caller: Caller
    depends_on: frozenset[Path]
    checked_at: float


@dataclass(slots=True)
class Grants:
    """The grants of one database, by listener and by what they depend on."""

    _by_listener: dict[Listener, dict[Watch, Grant]] = field(default_factory=dict)
    _by_dependency: PathTrie[dict[Grant, None]] = field(default_factory=PathTrie)

    def add(self, grant: Grant) -> None:
        """Keep a grant, in place of the one this listener had for the watch."""
        self.remove(grant.watch, grant.listener)
        self._by_listener.setdefault(grant.listener, {})[grant.watch] = grant
        for place in grant.depends_on:
            dependent = self._by_dependency.get(place)
            if dependent is None:
                dependent = {}
                self._by_dependency.set(place, dependent)
            dependent[grant] = None

    def remove(self, watch: Watch, listener: Listener) -> None:
        """Forget a grant; nothing happens when there is none."""
        grants = self._by_listener.get(listener)
        grant = grants.pop(watch, None) if grants is not None else None
        if grant is None:
            return
        if not grants:
            del self._by_listener[listener]
        for depended in grant.depends_on:
            dependent = self._by_dependency.get(depended)
            assert dependent is not None, "a grant stands at what it depends on"
            del dependent[grant]
            if not dependent:
                self._by_dependency.remove(depended)

    def get(self, watch: Watch, listener: Listener) -> Grant | None:
        """Return the grant a listener has for a watch, None without one."""
        return self._by_listener.get(listener, {}).get(watch)

    def of(self, listener: Listener) -> list[Grant]:
        """Return the grants of one listener."""
        return list(self._by_listener.get(listener, {}).values())

    def every(self) -> list[Grant]:
        """Return all grants."""
        return [grant for grants in self._by_listener.values() for grant in grants.values()]

    def depending_on(self, patch: Patch) -> list[Grant]:
        """Return the grants that depend on a place at, above or below a change."""
        if not len(self._by_dependency):
            return []
        return list(dict.fromkeys(self._touched(patch)))

    def _touched(self, patch: Patch) -> Iterator[Grant]:
        for path, _ in patch.changes:
            for _, dependent in self._by_dependency.along(path):
                yield from dependent
            for _, dependent in self._by_dependency.below(path):
                yield from dependent
