"""Warnings about one expression: each check is a function from a rule to remarks on it."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from treedb.rules.regex import translate
from treedb.rules.rule import Rule
from treedb.rules.signatures import Access, Type
from treedb.rules.syntax import Binary, Call, Logical, Member, Name, Node, Regex, every_part

# What is wrong at an offset of the expression, and the way out.
Remark: TypeAlias = tuple[int, str, str]

_CONCRETE: Final = frozenset({Type.BOOLEAN, Type.NUMBER, Type.STRING, Type.NULL})


def _open_to_all(rule: Rule) -> Iterator[Remark]:
    if rule.access is Access.VALIDATE or rule.compiled.constant is not True:
        return
    verb = "read" if rule.access is Access.READ else "change or delete"
    if not rule.keys:
        yield 0, f"Everybody may {verb} the whole database.", "put the rule where it is needed"
    elif rule.access is Access.WRITE and len(rule.keys) == 1:
        yield 0, f"Everybody may {verb} all of {rule.pattern}.", "ask for auth != null at least"


def _true_for_strangers(rule: Rule) -> Iterator[Remark]:
    """Find comparisons with `auth` that hold when it is null."""
    parts = list(every_part(rule.node))
    if rule.access is Access.VALIDATE or any(_asks_for_auth(part, rule) for part in parts):
        return
    for part in parts:
        if not isinstance(part, Binary) or part.operator not in {"==", "!="}:
            continue
        types = {rule.types[part.left.span.index], rule.types[part.right.span.index]}
        if Type.AUTH not in types or Type.NULL in types:
            continue
        if part.operator == "!=":
            message = "This is true for everybody who is not signed in: auth is null then."
            yield part.span.start, message, "add auth != null &&"
        elif types == {Type.AUTH, Type.VALUE}:
            message = "Nobody signed in and no data there are equal: both are null."
            yield part.span.start, message, "add auth != null &&"


def _asks_for_auth(node: Node, rule: Rule) -> bool:
    """Tell whether a part is `auth != null`, or says the same of a member."""
    if not isinstance(node, Binary) or node.operator != "!=":
        return False
    types = {rule.types[node.left.span.index], rule.types[node.right.span.index]}
    return types == {Type.AUTH, Type.NULL}


def _path_from_client(rule: Rule) -> Iterator[Remark]:
    for part in every_part(rule.node):
        if not isinstance(part, Call) or not isinstance(part.function, Member):
            continue
        if part.function.name not in {"child", "hasChild"}:
            continue
        for argument in part.arguments:
            if _names_in(argument) & {"newData"}:
                message = "The path is made of what the client writes, which may hold slashes."
                hint = "check it with matches(), or take the key from a $wildcard"
                yield argument.span.start, message, hint


def _never_equal(rule: Rule) -> Iterator[Remark]:
    for part in every_part(rule.node):
        if not isinstance(part, Binary):
            continue
        left, right = rule.types[part.left.span.index], rule.types[part.right.span.index]
        if left is right or not {left, right} <= _CONCRETE:
            continue
        kinds = f"a {left.value.lower()} and a {right.value.lower()}"
        if part.operator in {"==", "!="}:
            outcome = "false" if part.operator == "==" else "true"
            message = f"This is always {outcome}: {kinds} are never equal."
            yield part.span.start, message, "wildcards and keys are strings"
        elif part.operator in {"<", "<=", ">", ">="}:
            yield part.span.start, f"This always fails: {kinds} have no order.", ""


def _query_in_write(rule: Rule) -> Iterator[Remark]:
    if rule.access is Access.READ:
        return
    for part in every_part(rule.node):
        if isinstance(part, Name) and part.name == "query":
            yield part.span.start, "A write has no query: its members are null.", ""


def _odd_regex(rule: Rule) -> Iterator[Remark]:
    for part in every_part(rule.node):
        if isinstance(part, Regex):
            for warning in translate(part.body, part.flags, rule.limits).warnings:
                hint = "escape it with \\ if that is meant; there is no (?: ) here"
                yield part.span.start, f"{warning}.", hint


def _forbids_deletion(rule: Rule) -> Iterator[Remark]:
    if rule.access is not Access.VALIDATE:
        return
    whole = rule.node
    parts = whole.operands if isinstance(whole, Logical) and whole.operator == "&&" else (whole,)
    for part in parts:
        if isinstance(part, Call) and is_method_of(part, "newData", "exists"):
            message = "This is always true: .validate is not asked where data is removed."
            yield part.span.start, message, "forbid deletion in .write"


def _names_in(node: Node) -> set[str]:
    return {part.name for part in every_part(node) if isinstance(part, Name)}


def is_method_of(node: Node, variable: str, method: str) -> bool:
    """Tell whether a part is a call of a method of a variable itself, as `data.val()`."""
    return (
        isinstance(node, Call)
        and isinstance(node.function, Member)
        and node.function.name == method
        and isinstance(node.function.target, Name)
        and node.function.target.name == variable
    )


RULE_CHECKS: Final[tuple[Callable[[Rule], Iterator[Remark]], ...]] = (
    _open_to_all,
    _true_for_strangers,
    _path_from_client,
    _never_equal,
    _query_in_write,
    _odd_regex,
    _forbids_deletion,
)
