"""What is to be there after each request of a history: the tree, the rules, what sessions left."""

from dataclasses import dataclass, field, replace

from tests.naive_tree import Keys, NaiveTree
from tests.writes.derived_oracle import Kept, RefusedError, after

NOW_MS = 1_700_000_000_000  # by the clock of all histories


@dataclass(frozen=True)
class State:
    """What is to be there after a request: the tree, and what sessions left to be written."""

    revision: int
    tree: NaiveTree
    kept: Kept
    sessions: dict[str, dict[Keys, object]] = field(default_factory=dict)

    def written(self, tree: NaiveTree) -> "State":
        return replace(self, revision=self.revision + 1, tree=tree)

    def with_session(self, session: str, entries: dict[Keys, object]) -> "State":
        others = {each: left for each, left in self.sessions.items() if each != session}
        return replace(self, sessions={**others, session: entries} if entries else others)

    def resolved(self, changes: dict[Keys, object]) -> dict[Keys, object]:
        return {place: _resolved(value, place, self.tree) for place, value in changes.items()}

    def after(self, changes: dict[Keys, object]) -> "State":
        return self.written(after(self.tree, self.resolved(changes), self.kept))

    def ended(self, session: str) -> "State":
        """End a session: all it left together, else what may be written, the first of two that
        contradict one another."""
        entries = self.sessions.get(session)
        if entries is None:
            return self
        state = self.with_session(session, {})
        try:
            return state.after(entries)
        except RefusedError:
            pass
        valid = {
            place: value
            for place, value in self.resolved(entries).items()
            if self.may_be({place: value}, validates=True)
        }
        agreeing: dict[Keys, object] = {}
        for place, value in valid.items():
            if self.may_be(valid) or self.may_be({**agreeing, place: value}):
                agreeing[place] = value
        if not agreeing:
            return state
        return state.written(after(self.tree, agreeing, self.kept, validates=False))

    def may_be(self, changes: dict[Keys, object], *, validates: bool = False) -> bool:
        try:
            after(self.tree, changes, self.kept, validates=validates)
        except RefusedError:
            return False
        return True


def _resolved(value: object, place: Keys, tree: NaiveTree) -> object:
    if not isinstance(value, dict):
        return value
    if ".sv" not in value:
        return {key: _resolved(each, (*place, key), tree) for key, each in value.items()}
    if value[".sv"] == "timestamp":
        return NOW_MS
    present = tree.leaves.get(place)
    is_number = isinstance(present, int) and not isinstance(present, bool)
    return (present if is_number else 0) + value[".sv"]["increment"]
