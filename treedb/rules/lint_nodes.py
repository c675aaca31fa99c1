"""Warnings about one node of the rules and its children."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from treedb.rules.lint_rules import is_method_of
from treedb.rules.rule import Rule, RuleNode
from treedb.rules.source import Mistake
from treedb.rules.syntax import Binary, Member, Node, every_part

_is_name: Final = re.compile(r"\$[A-Za-z0-9_]+").fullmatch


def _unknown_children(node: RuleNode) -> Iterator[Mistake]:
    """Find objects whose known fields are validated while any other field may be added."""
    validated = [name for name, child in node.children.items() if child.validate is not None]
    if validated and node.wildcard is None:
        names = ", ".join(validated[:5])
        message = f"Children of other names than {names} are not validated."
        yield remark_on(
            node.children[validated[0]], message, '"$other": {".validate": false} keeps out'
        )


def _optional_children(node: RuleNode) -> Iterator[Mistake]:
    """Find objects whose fields are validated while none of them has to be there."""
    validated = [name for name, child in node.children.items() if child.validate is not None]
    if not validated or (node.validate and _mentions_children(node.validate)):
        return
    if node.wildcard is not None and not _is_closed(node.wildcard):
        # A list of equals with some of them named, not an object with fields.
        return
    names = ", ".join(repr(name) for name in validated[:5])
    message = f"A value without {validated[0]} passes: .validate is not asked where nothing is."
    yield remark_on(
        node.children[validated[0]], message, f"newData.hasChildren([{names}]) asks for it"
    )


def _unchecked_literals(node: RuleNode) -> Iterator[Mistake]:
    """Find literal children that hide a wildcard's `.validate` and have none themselves."""
    wildcard = node.wildcard
    if wildcard is None or wildcard.validate is None or _is_closed(wildcard):
        return
    for name, child in node.children.items():
        if not child.validates:
            message = f"{name!r} is not validated: it hides {wildcard.keys[-1]} and its .validate."
            yield remark_on(child, message, "")


def _unusable_name(node: RuleNode) -> Iterator[Mistake]:
    name = node.keys[-1] if node.keys else ""
    if name.startswith("$") and _is_name(name) is None:
        message = f"No expression can use {name}: names are letters, digits and underscores."
        yield remark_on(node, message, "")


def _objects_compared(node: RuleNode) -> Iterator[Mistake]:
    """Find `newData.val() == data.val()` where the node has children."""
    if not node.children and node.wildcard is None:
        return
    for rule in filter(None, (node.read, node.write, node.validate)):
        for part in every_part(rule.node):
            if isinstance(part, Binary) and part.operator in {"==", "!="}:
                sides = (part.left, part.right)
                if all(_is_own_value(side) for side in sides):
                    message = "Values with children are never equal: compare them one by one."
                    place = f"{rule.pattern} {rule.access.value}"
                    yield Mistake(rule.text.offset(part.span.start), message, "", place)


def remark_on(node: RuleNode, message: str, hint: str) -> Mistake:
    """Make a warning that stands at the node itself."""
    return Mistake(node.offset, message, hint, "/" + "/".join(node.keys))


def _is_own_value(node: Node) -> bool:
    return is_method_of(node, "data", "val") or is_method_of(node, "newData", "val")


def _is_closed(node: RuleNode) -> bool:
    """Tell whether nothing may ever be at a node, as under `"$other": {".validate": false}`."""
    return node.validate is not None and node.validate.compiled.constant is False


def _mentions_children(rule: Rule) -> bool:
    """Tell whether a rule asks for children in any way: then its author has thought of them."""
    methods = {part.name for part in every_part(rule.node) if isinstance(part, Member)}
    return not methods.isdisjoint({"hasChildren", "hasChild", "child"})


NODE_CHECKS: Final[tuple[Callable[[RuleNode], Iterator[Mistake]], ...]] = (
    _unchecked_literals,
    _unusable_name,
    _objects_compared,
)
# Of interest only where somebody may write a whole value.
WRITABLE_NODE_CHECKS: Final[tuple[Callable[[RuleNode], Iterator[Mistake]], ...]] = (
    _unknown_children,
    _optional_children,
)
