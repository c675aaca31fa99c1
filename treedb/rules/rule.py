"""A rule ready to be asked, and the tree of places that have rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from treedb.config import Limits
from treedb.errors import RuleFailure
from treedb.rules.compiler import Compiled, compile_fast, compile_traced
from treedb.rules.document import Text
from treedb.rules.methods import Evaluate
from treedb.rules.mirror import Mirror
from treedb.rules.scope import Scope, Trace
from treedb.rules.signatures import Access, Type
from treedb.rules.source import Source
from treedb.rules.syntax import Name, Node, every_part


@dataclass(slots=True, eq=False)
class Rule:
    """One `.read`, `.write` or `.validate`.

    `keys` is the pattern of its place, `text` the expression as it stands in the file, `node` its
    parts and `types` their types by number. `size` is the number of parts: what asking it costs.
    """

    access: Access
    keys: tuple[str, ...]
    text: Text
    node: Node
    types: tuple[Type, ...]
    limits: Limits
    source: Source
    compiled: Compiled = field(init=False)
    size: int = field(init=False)
    _traced: Evaluate | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.compiled = compile_fast(self.node, self.types, wildcards_of(self.keys), self.limits)
        self.size = self.node.span.index + 1

    @property
    def expression(self) -> str:
        return self.text.value

    @property
    def pattern(self) -> str:
        """Return the rule's place as "/rooms/$id", "/" for the root."""
        return "/" + "/".join(self.keys)

    @property
    def variables(self) -> frozenset[str]:
        """Return the names the expression uses: `auth`, `$uid`, ..."""
        return frozenset(part.name for part in every_part(self.node) if isinstance(part, Name))

    def position(self, index: int = 0) -> tuple[int, int]:
        """Return line and column in the file of a character of the expression."""
        return self.source.position(self.text.offset(index))

    def holds(self, scope: Scope) -> bool:
        """Tell whether the rule is true at `scope.keys`; one that fails is not.

        Raises RuleBudgetExceeded when the operation has no steps left.
        """
        if self.compiled.constant is not None:
            return self.compiled.constant
        scope.budget.spend(self.size)
        try:
            return self.compiled.evaluate(scope) is True
        except RuleFailure:
            return False

    def traced(self, scope: Scope) -> "Evaluation":
        """Evaluate the rule and keep what each of its parts came to."""
        if self._traced is None:
            wildcards = wildcards_of(self.keys)
            self._traced = compile_traced(self.node, self.types, wildcards, self.limits)
        scope.budget.spend(self.size)
        scope.trace = Trace()
        try:
            result = self._traced(scope) is True
        except RuleFailure:
            return Evaluation(self, scope.keys, None, scope.trace)
        return Evaluation(self, scope.keys, result, scope.trace)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A rule asked at a place; `result` is None when it failed."""

    rule: Rule
    keys: tuple[str, ...]
    result: bool | None
    trace: Trace


@dataclass(frozen=True, slots=True, eq=False)
class RuleNode:
    """A place with rules: a literal child hides the wildcard from its key, at every depth.

    `validates` tells whether there is a `.validate` here or below, `offset` where in the file the
    node stands.
    """

    keys: tuple[str, ...]
    offset: int
    read: Rule | None
    write: Rule | None
    validate: Rule | None
    index_on: tuple[str, ...]
    mirror: Mirror | None
    children: Mapping[str, "RuleNode"]
    wildcard: "RuleNode | None"
    validates: bool

    def below(self, key: str) -> "RuleNode | None":
        """Return the rules for a child, None when there are none."""
        return self.children.get(key) or self.wildcard


def wildcards_of(keys: tuple[str, ...]) -> dict[str, int]:
    """Return for each `$name` of a pattern which key it stands for."""
    return {key: place for place, key in enumerate(keys) if key.startswith("$")}
