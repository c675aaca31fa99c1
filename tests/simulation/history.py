"""What happened in a simulated history, and what clients should have seen of it.

`History` is the oracle: it holds the tree after each commit, kept in the plainest way, and knows
by its own reckoning what each place looked like and who was allowed to read it. A `Listen` is one
incarnation of a listener, with everything that was written to its client for it.

Nothing on the wire names a revision. Every write of a history sets a value of its own, a *stamp*,
so what a client was told tells which commit it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.tree.naive_query import naive_window
from treedb.tree.commit import Commit
from treedb.tree.hashing import node_hash

Keys = tuple[str, ...]
Tree = Any

FIRST_STAMP = 1000
OPEN, CLOSED, MEMBERS, SIGNED = "open", "closed", "members", "signed"


@dataclass(frozen=True)
class Push:
    """One data message to a listener: the places it names, absolute, with their values.

    `on_disk` is the last revision that was durable when it was written, `uid` who the client was
    by then (None for nobody), and `may_start_anew` tells that the client had not kept up before,
    so that a whole fresh value may take the place of what it missed.
    """

    changes: tuple[tuple[Keys, Any], ...]
    on_disk: int
    uid: str | None
    may_start_anew: bool


@dataclass
class Listen:
    """One incarnation of a listener.

    It begins from `first`, the value it was sent or, with `is_resumed`, the copy that it claimed
    and that was confirmed; some revision from `asked_at` to `begun_at` looked like that. `ended`
    is how it came to its end, "" while it goes on; `cut` is that its connection was lost.
    """

    client: str
    place: Keys
    query: dict[str, Any] | None
    asked_at: int
    first: Tree = None
    begun_at: int = 0
    first_uid: str | None = None
    is_resumed: bool = False
    is_answered: bool = False
    pushes: list[Push] = field(default_factory=list)
    ended: str = ""
    end_uid: str | None = None
    end_on_disk: int = 0

    def __str__(self) -> str:
        return f"{self.client} at /{'/'.join(self.place)} {self.query or ''}"


@dataclass(frozen=True)
class Acknowledged:
    """A write that was answered with ok, and how far each plain listen beside it had been told."""

    stamp: int
    heard: tuple[tuple[Listen, int], ...]  # the listen, and the pushes it had had


@dataclass(frozen=True)
class Refused:
    """A listen that was answered with a denial."""

    listen: Listen
    uid: str | None
    may_have_expired: bool
    on_disk: int


@dataclass
class History:
    """The trees, the rules and the commits by revision, and what everybody was told."""

    trees: list[Tree] = field(default_factory=lambda: [None])
    rules: list[str] = field(default_factory=lambda: [MEMBERS])
    commits: list[Commit | None] = field(default_factory=lambda: [None])
    revision_of: dict[int, int] = field(default_factory=dict)
    listens: list[Listen] = field(default_factory=list)
    acknowledged: list[Acknowledged] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    happened: dict[str, int] = field(default_factory=dict)
    views: dict[tuple[Keys, str], list[Tree]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return len(self.trees) - 1

    def note(self, kind: str) -> None:
        self.happened[kind] = self.happened.get(kind, 0) + 1

    def append(self, commit: Commit, rules: str) -> None:
        """Take a commit that is on disk; `rules` names those in force from it on."""
        assert commit.revision == self.last + 1, "revisions are dense"
        tree = self.trees[-1]
        for path, value in commit.patch.changes:
            tree = changed(tree, path.keys, value)
        self.trees.append(tree)
        self.rules.append(rules)
        self.commits.append(commit)
        for stamp in stamps_in([value for _, value in commit.patch.changes]):
            self.revision_of.setdefault(stamp, commit.revision)

    def seen(self, listen: Listen) -> list[Tree]:
        """Return what the place, or the window of it, looked like at each revision."""
        view = self.views.setdefault((listen.place, str(listen.query)), [])
        for tree in self.trees[len(view) :]:
            value = value_at(tree, listen.place)
            view.append(naive_window(value, listen.query) if listen.query else value)
        return view

    def told(self, revision: int, place: Keys) -> tuple[tuple[Keys, Any], ...]:
        """Return the changes that a commit comes to at a place, none if it does not touch it."""
        commit = self.commits[revision]
        changes = commit.patch.changes if commit is not None else ()
        below = []
        for path, value in changes:
            keys = path.keys
            if place[: len(keys)] == keys:
                return ((place, value_at(value, place[len(keys) :])),)
            if keys[: len(place)] == place:
                below.append((keys, value))
        return tuple(sorted(below, key=lambda change: change[0]))

    def may_read(self, revision: int, listen: Listen, uid: str | None) -> bool:
        """Tell whether the rules and the tree of a revision let somebody have this listen."""
        rules, place = self.rules[revision], listen.place
        if rules == OPEN:
            return True
        if rules == CLOSED or len(place) < 2 or uid is None or place[0] == "members":
            return False
        if rules == SIGNED:
            return place[0] == "rooms" or (listen.query or {}).get("i") == "n"
        return value_at(self.trees[revision], ("members", place[1], uid)) is not None


def value_at(tree: Tree, keys: Keys) -> Tree:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def changed(tree: Tree, keys: Keys, value: Any) -> Tree:
    """Return a tree with another value at a place; nothing empty stays, nothing given changes."""
    if not keys:
        return value
    members = dict(tree) if isinstance(tree, dict) else {}
    child = changed(members.get(keys[0]), keys[1:], value)
    if child is None:
        members.pop(keys[0], None)
        # A leaf is replaced by what is written below it, and stays where nothing comes below.
        return members or (None if isinstance(tree, dict) else tree)
    members[keys[0]] = child
    return members


def hash_of(value: Tree) -> str:
    """Return the node hash of a value whose keys are words, so that their order is plain."""
    return node_hash(_in_order(value))


def _in_order(value: Tree) -> Tree:
    if not isinstance(value, dict):
        return value
    return {key: _in_order(value[key]) for key in sorted(value)}


def stamps_in(values: list[Any]) -> Iterator[int]:
    """Yield the stamps that values hold: integers from FIRST_STAMP on."""
    for value in values:
        if isinstance(value, dict):
            yield from stamps_in(list(value.values()))
        elif isinstance(value, int) and not isinstance(value, bool) and value >= FIRST_STAMP:
            yield value
