"""The trees a rule can ask about: the one before a write, and the one after it.

A rule stands at a node and asks of nodes around it, mostly nearby and often the same one again. No
question reads more than it needs: whether a node exists, whether it has children, its leaf.
`OldTree` remembers its answers for the time of one operation. `NewTree` answers from the value
being written wherever that reaches, without asking any reader.

Every question costs steps of the operation's budget, so that no write can hold up others for long.
"""

from typing import Final, Protocol, TypeAlias

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleBudgetExceeded
from treedb.paths.path import Path
from treedb.rules.runtime import CHILDREN, RuntimeValue
from treedb.tree.reader import Reader
from treedb.tree.values import Value

Keys: TypeAlias = tuple[str, ...]

# What asking a reader costs, in evaluated parts of an expression: both measured.
LOOKUP_STEPS: Final = 50

_DEEPEST: Final = DEFAULT_LIMITS.depth


class Budget:
    """The steps one operation has left."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps away; RuleBudgetExceeded when there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise RuleBudgetExceeded


class Tree(Protocol):
    """What a snapshot asks of its tree; keys that hold "" lead nowhere."""

    def leaf(self, keys: Keys) -> RuntimeValue:
        """Return a node's leaf, CHILDREN if it has children, None if there is nothing."""

    def exists(self, keys: Keys) -> bool: ...

    def has_children(self, keys: Keys) -> bool: ...

    def priority(self, keys: Keys) -> RuntimeValue: ...


class OldTree:
    """A tree behind a reader; what was asked once is remembered."""

    __slots__ = ("_budget", "_exists", "_leaves", "_reader")

    def __init__(self, reader: Reader, budget: Budget) -> None:
        self._reader = reader
        self._budget = budget
        # Both stay small: each entry cost LOOKUP_STEPS.
        self._leaves: dict[Keys, RuntimeValue] = {}
        self._exists: dict[Keys, bool] = {}

    def leaf(self, keys: Keys) -> RuntimeValue:
        if keys in self._leaves:
            return self._leaves[keys]
        leaf = self._read_leaf(keys)
        self._leaves[keys] = leaf
        return leaf

    def exists(self, keys: Keys) -> bool:
        if keys in self._leaves:
            return self._leaves[keys] is not None
        known = self._exists.get(keys)
        if known is None:
            known = self._is_possible(keys) and self._reader.exists(Path(keys))
            self._exists[keys] = known
        return known

    def has_children(self, keys: Keys) -> bool:
        return self.leaf(keys) is CHILDREN

    def priority(self, keys: Keys) -> RuntimeValue:
        if not self._is_possible(keys):
            return None
        return self._reader.get(Path((*keys, ".priority")))

    def _read_leaf(self, keys: Keys) -> RuntimeValue:
        if not self._is_possible(keys):
            return None
        path = Path(keys)
        # One key tells that there are children; reading the value would read them all.
        if next(self._reader.keys(path), None) is not None:
            return CHILDREN
        return leaf_or_children(self._reader.get(path))

    def _is_possible(self, keys: Keys) -> bool:
        self._budget.spend(LOOKUP_STEPS)
        return "" not in keys and len(keys) <= _DEEPEST


class NewTree:
    """The tree as a write would leave it.

    `focus_on` names a place whose new value is at hand: what is asked at or below it is looked up
    there. There are two such places, for validation walks down from the written place (`outer`)
    node by node (`inner`), and a rule often asks for its node's siblings.
    """

    __slots__ = ("_inner", "_inner_value", "_outer", "_outer_value", "_rest")

    def __init__(self, rest: OldTree) -> None:
        self._rest = rest
        self._outer: Keys | None = None
        self._inner: Keys | None = None
        self._outer_value: Value = None
        self._inner_value: Value = None

    def focus_on(self, keys: Keys, value: Value) -> None:
        """Take the new value of a place that the write replaces as a whole."""
        self._outer = self._inner = keys
        self._outer_value = self._inner_value = value

    def focus_inside(self, keys: Keys, value: Value) -> None:
        """Take the new value of a place below the one that is replaced."""
        self._inner = keys
        self._inner_value = value

    def blur(self) -> None:
        """Forget the places: the write changes no value as a whole, only a priority."""
        self._outer = self._inner = None

    def leaf(self, keys: Keys) -> RuntimeValue:
        found, value = self._written(keys)
        return leaf_or_children(value) if found else self._rest.leaf(keys)

    def exists(self, keys: Keys) -> bool:
        found, value = self._written(keys)
        return value is not None if found else self._rest.exists(keys)

    def has_children(self, keys: Keys) -> bool:
        return self.leaf(keys) is CHILDREN

    def priority(self, keys: Keys) -> RuntimeValue:
        found, value = self._written(keys)
        if not found:
            return self._rest.priority(keys)
        return value.get(".priority") if type(value) is dict else None

    def _written(self, keys: Keys) -> tuple[bool, Value]:
        inner, outer = self._inner, self._outer
        if inner is None or outer is None:
            return False, None
        depth = len(inner)
        if keys[:depth] == inner:
            value = self._inner_value
        elif keys[: (depth := len(outer))] == outer:
            value = self._outer_value
        else:
            return False, None
        for key in keys[depth:]:
            if type(value) is not dict:
                return True, None
            value = value.get(key)
        return True, value


def leaf_or_children(value: Value) -> RuntimeValue:
    """Return a value's leaf, CHILDREN if it has children, None for nothing."""
    if type(value) is not dict:
        return value
    return value.get(".value", CHILDREN)
