"""A ruleset: the rules of one database, to be asked about reads and writes.

Rules bind clients. Whoever calls lets admins by without asking, and gives every other operation's
auth as the variable that rules see (`scope.auth_variable`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from treedb.config import Limits
from treedb.errors import Finding, RuleBudgetExceeded
from treedb.paths.path import ROOT, Path
from treedb.rules.cascade import (
    OVER_BUDGET,
    Ask,
    Verdict,
    judge_read,
    judge_write,
    owner_keys,
)
from treedb.rules.counter import Counter
from treedb.rules.derivation import Derivation, find_derivation, meanings_of
from treedb.rules.document import Node, plain_value
from treedb.rules.explain import explain_read, explain_write
from treedb.rules.explanation import Explanation
from treedb.rules.mirror import Mirror
from treedb.rules.rule import Rule, RuleNode
from treedb.rules.scope import NO_QUERY, REALTIME_READ, AuthVariable, QueryVariables, Scope
from treedb.rules.source import Source
from treedb.rules.trees import Budget, NewTree, OldTree
from treedb.tree.json_text import format_json
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader


@dataclass(frozen=True, slots=True)
class Index:
    """One name of an `.indexOn`: the path of a child, or `.value`; `keys` is the place's pattern."""

    keys: tuple[str, ...]
    name: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class Ruleset:
    """The rules of a file, in its order, and as the tree of places they stand at."""

    text: str
    document: Node
    root: RuleNode
    rules: tuple[Rule, ...]
    indexes: tuple[Index, ...]
    mirrors: tuple[Mirror, ...]
    counters: tuple[Counter, ...]
    source: Source
    limits: Limits

    def check_read(
        self,
        path: Path,
        reader: Reader,
        *,
        auth: AuthVariable | None,
        now_ms: int,
        query: QueryVariables = REALTIME_READ,
        ask: Ask = Rule.holds,
    ) -> Verdict:
        """Tell whether a place may be read.

        `query` is what the read asks for; without a query it is REALTIME_READ or REST_READ.
        """
        scope = read_scope(self.limits, reader, auth, now_ms, query)
        try:
            return judge_read(self.root, owner_keys(path), scope, ask)
        except RuleBudgetExceeded:
            return OVER_BUDGET

    def check_write(
        self,
        patch: Patch,
        before: Reader,
        after: Reader,
        *,
        auth: AuthVariable | None,
        now_ms: int,
        named: Sequence[Path] | None = None,
        ask: Ask = Rule.holds,
    ) -> Verdict:
        """Tell whether a patch, its server values resolved, may be applied.

        `after` is the tree as the whole patch makes it, `now_ms` the time its timestamps got.
        `named` are the places that the client named and needs a `.write` for, those of the patch
        when None: changes that the server adds on its own are only validated.
        """
        scope = write_scope(self.limits, before, after, auth, now_ms)
        places = [path for path, _ in patch.changes] if named is None else named
        try:
            return judge_write(self.root, patch, places, scope, ask)
        except RuleBudgetExceeded:
            return OVER_BUDGET

    def explain_read(
        self,
        path: Path,
        reader: Reader,
        *,
        auth: AuthVariable | None,
        now_ms: int,
        query: QueryVariables = REALTIME_READ,
    ) -> Explanation:
        """Tell why a place may be read or not: the verdict of `check_read`, rule by rule."""
        verdict = self.check_read(path, reader, auth=auth, now_ms=now_ms, query=query)
        scope = read_scope(self.limits, reader, auth, now_ms, query)
        return explain_read(self.root, path, scope, verdict)

    def explain_write(
        self,
        patch: Patch,
        before: Reader,
        after: Reader,
        *,
        auth: AuthVariable | None,
        now_ms: int,
        named: Sequence[Path] | None = None,
        operation: str = "write",
        path: Path = ROOT,
    ) -> Explanation:
        """Tell why a patch may be applied or not: the verdict of `check_write`, rule by rule.

        `operation` and `path` say what the client asked for ("set", "update", ...), to be shown.
        """
        places = [place for place, _ in patch.changes] if named is None else named
        verdict = self.check_write(patch, before, after, auth=auth, now_ms=now_ms, named=places)
        scope = write_scope(self.limits, before, after, auth, now_ms)
        derived = self._derived(patch, frozenset(places))
        asked = operation, path
        return explain_write(self.root, patch, places, scope, verdict, derived=derived, asked=asked)

    def index_on(self, path: Path) -> tuple[str, ...]:
        """Return the names that the children of a place are indexed by."""
        node: RuleNode | None = self.root
        for key in path.keys:
            node = node.below(key) if node else None
        return node.index_on if node else ()

    def meanings(self) -> tuple[Finding, ...]:
        """Return what each mirror and count means, in the order of the file."""
        found = meanings_of([*self.mirrors, *self.counters], self.source)
        return tuple(Finding(line, column, sentence) for line, column, sentence in found)

    def _derived(self, patch: Patch, named: frozenset[Path]) -> dict[Path, Derivation]:
        """Return what derives each place of a patch that the client did not name."""
        derived: dict[Path, Derivation] = {}
        for path, _ in patch.changes:
            if path not in named:
                found = find_derivation(path, [*self.mirrors, *self.counters], self.source)
                assert found is not None, f"the server adds nothing but what is derived: {path}"
                derived[path] = found
        return derived

    def strict_json(self) -> bytes:
        """Return the rules as JSON without comments; `text` has them as they were written."""
        return format_json(plain_value(self.document))


def read_scope(
    limits: Limits,
    reader: Reader,
    auth: AuthVariable | None,
    now_ms: int,
    query: QueryVariables,
) -> Scope:
    """Return what the rules of a read see; there is no other tree than the one that stands."""
    budget = Budget(limits.rules_steps)
    tree = OldTree(reader, budget)
    return Scope((tree, tree), auth, now_ms, query, budget)


def write_scope(
    limits: Limits, before: Reader, after: Reader, auth: AuthVariable | None, now_ms: int
) -> Scope:
    """Return what the rules of a write see."""
    budget = Budget(limits.rules_steps)
    trees = OldTree(before, budget), NewTree(OldTree(after, budget))
    return Scope(trees, auth, now_ms, NO_QUERY, budget)
