"""The methods of snapshots and strings, each as a maker of closures.

A maker gets the closure of its receiver and what its arguments come to: a path argument is the
tuple of its keys when it is constant, else a closure that gives the tuple.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleFailure
from treedb.rules.regex import Matcher
from treedb.rules.runtime import RuntimeValue, as_text, replace
from treedb.rules.scope import Scope
from treedb.rules.trees import Keys

Evaluate: TypeAlias = Callable[[Scope], RuntimeValue]
KeysOf: TypeAlias = Callable[[Scope], Keys]
PathArgument: TypeAlias = Keys | KeysOf

# Shorter strings cost no more than any value does; longer ones a step for each so many characters.
_SHORT: Final = 1024
_LONGEST: Final = DEFAULT_LIMITS.string_bytes


def spend_on(text: str, scope: Scope) -> None:
    """Take the steps that work on a string costs."""
    if len(text) > _SHORT:
        scope.budget.spend(len(text) // _SHORT)


def child(receiver: Evaluate, path: PathArgument) -> Evaluate:
    if isinstance(path, tuple):

        def constant(scope: Scope) -> RuntimeValue:
            tree, keys = receiver(scope)
            return tree, keys + path

        return constant

    def computed(scope: Scope) -> RuntimeValue:
        tree, keys = receiver(scope)
        return tree, keys + path(scope)

    return computed


def has_child(receiver: Evaluate, path: PathArgument) -> Evaluate:
    return exists(child(receiver, path))


def has_children_named(receiver: Evaluate, paths: Sequence[PathArgument]) -> Evaluate:
    """Make `hasChildren([...])`; of no names it is true, even where nothing is."""
    constant = [path for path in paths if isinstance(path, tuple)]

    def all_constant(scope: Scope) -> bool:
        tree, keys = receiver(scope)
        # A loop, for all() would make a generator each time: half of what this costs.
        for path in constant:  # noqa: SIM110
            if not tree.exists(keys + path):
                return False
        return True

    def computed(scope: Scope) -> bool:
        tree, keys = receiver(scope)
        # All names come first, for one that is no string fails the rule.
        named = [path if isinstance(path, tuple) else path(scope) for path in paths]
        return all(tree.exists(keys + path) for path in named)

    return all_constant if len(constant) == len(paths) else computed


def exists(receiver: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        tree, keys = receiver(scope)
        return tree.exists(keys)

    return run


def _has_children(receiver: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        tree, keys = receiver(scope)
        return tree.has_children(keys)

    return run


def _val(receiver: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        tree, keys = receiver(scope)
        leaf = tree.leaf(keys)
        if type(leaf) is str and len(leaf) > _SHORT:
            spend_on(leaf, scope)
        return leaf

    return run


def _get_priority(receiver: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        tree, keys = receiver(scope)
        priority = tree.priority(keys)
        if type(priority) is str:
            spend_on(priority, scope)
        return priority

    return run


def _parent(receiver: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        tree, keys = receiver(scope)
        if not keys:
            raise RuleFailure("parent() of the root: there is nothing above it.")
        return tree, keys[:-1]

    return run


def _leaf_is(*types: type) -> Callable[[Evaluate], Evaluate]:
    wanted = frozenset(types)

    def make(receiver: Evaluate) -> Evaluate:
        def run(scope: Scope) -> RuntimeValue:
            tree, keys = receiver(scope)
            return type(tree.leaf(keys)) in wanted

        return run

    return make


def _of_text(function: Callable[[str], RuntimeValue]) -> Callable[[Evaluate], Evaluate]:
    def make(receiver: Evaluate) -> Evaluate:
        def run(scope: Scope) -> RuntimeValue:
            text = function(as_text(receiver(scope)))
            spend_on(text, scope)
            return _limited(text)

        return run

    return make


def _of_two_texts(
    function: Callable[[str, str], bool],
) -> Callable[[Evaluate, Evaluate], Evaluate]:
    def make(receiver: Evaluate, argument: Evaluate) -> Evaluate:
        def run(scope: Scope) -> RuntimeValue:
            text, other = receiver(scope), argument(scope)
            return function(as_text(text), as_text(other))

        return run

    return make


def replaced(receiver: Evaluate, old: Evaluate, new: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        text = replace(receiver(scope), old(scope), new(scope))
        spend_on(text, scope)
        return text

    return run


def matched(receiver: Evaluate, matcher: Matcher) -> Evaluate:
    matches, size = matcher.matches, matcher.size

    def run(scope: Scope) -> RuntimeValue:
        text = as_text(receiver(scope))
        # At worst every instruction of the expression looks at every character.
        steps = len(text) * size // _SHORT
        if steps:
            scope.budget.spend(steps)
        return matches(text)

    return run


def _limited(text: str) -> str:
    if len(text) > _LONGEST:
        raise RuleFailure(f"The string grows past {_LONGEST} characters.")
    return text


# By the name of the method. `child`, `hasChild`, `hasChildren([...])`, `replace` and `matches` have
# arguments of their own kinds and stand above.
SNAPSHOT_MAKERS: Final[dict[str, Callable[[Evaluate], Evaluate]]] = {
    "val": _val,
    "parent": _parent,
    "exists": exists,
    "hasChildren": _has_children,
    "getPriority": _get_priority,
    "isString": _leaf_is(str),
    "isNumber": _leaf_is(int, float),
    "isBoolean": _leaf_is(bool),
}

CASE_MAKERS: Final = {
    "toLowerCase": _of_text(str.lower),
    "toUpperCase": _of_text(str.upper),
}

SEARCH_MAKERS: Final = {
    "contains": _of_two_texts(str.__contains__),
    "beginsWith": _of_two_texts(str.startswith),
    "endsWith": _of_two_texts(str.endswith),
}
