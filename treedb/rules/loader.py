"""Build a ruleset from its text, or tell everything that is wrong with it.

    document  := { "rules" : node }
    node      := { member* }
    member    := ".read" | ".write" | ".validate" : true, false or an expression
               | ".indexOn" : a name or an array of names
               | ".mirror"  : a path, or an object
               | "$name"    : node, at most one in a node
               | key        : node
Source of structure and messages: Firebase's service; `.mirror` is our own.
"""

from collections.abc import Sized
from difflib import get_close_matches
from typing import Final

from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import Finding, RulesError, RuleSyntaxError
from treedb.paths.keys import find_bad_key, key_problem, shown
from treedb.rules.checker import check_expression
from treedb.rules.counter import Counter, find_counted_twice, read_counter
from treedb.rules.document import Array, Document, Node, Object, Scalar, Text, read_document
from treedb.rules.mirror import Mirror, find_clashes, read_mirror
from treedb.rules.parser import parse_expression
from treedb.rules.rule import Rule, RuleNode, wildcards_of
from treedb.rules.ruleset import Index, Ruleset
from treedb.rules.signatures import Access
from treedb.rules.source import Mistake, Source, findings_of

_BAD_KEY: Final = 'String can\'t contain ".", "#", "$", "/", "[", or "]"'
_BAD_RULE: Final = "Invalid rule expression.  Expected 'true', 'false', or an expression string."
_BAD_INDEX: Final = "Invalid indexOn expression. Must be either a string or an array of strings"
_DOT_KEYS: Final = (".read", ".write", ".validate", ".indexOn", ".mirror", ".count")
_ACCESS: Final = {access.value: access for access in Access}


def parse_rules(text: str, limits: Limits = DEFAULT_LIMITS) -> Ruleset:
    """Return the ruleset that a rules file describes.

    Raises RulesError with all mistakes found, up to `limits.rules_findings`, in the file's order.
    """
    size = len(text.encode(errors="surrogatepass"))
    if size > limits.rules_bytes:
        message = f"The rules have {size} bytes: at most {limits.rules_bytes} are allowed."
        raise RulesError([Finding(1, 1, message)])
    source = Source.of(text)
    document = read_document(text, limits.rules_depth)
    loader = _Loader(source, limits)
    loader.mistakes.extend(document.mistakes)
    root = loader.load(document)
    if loader.mistakes:
        findings = findings_of(source, loader.mistakes, limits.rules_findings)
        raise RulesError(findings, is_unreadable=bool(document.mistakes))
    assert root is not None, "a document without mistakes has rules"
    assert document.value is not None, "likewise"
    return Ruleset(
        text,
        document.value,
        root,
        tuple(loader.rules),
        tuple(loader.indexes),
        tuple(loader.mirrors),
        tuple(loader.counters),
        source,
        limits,
    )


class _Loader:
    """One pass over a document: what was found, and what is wrong."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.mistakes: list[Mistake] = []
        self.rules: list[Rule] = []
        self.indexes: list[Index] = []
        self.mirrors: list[Mirror] = []
        self.counters: list[Counter] = []
        self.nodes = 0

    def load(self, document: Document) -> RuleNode | None:
        """Return the root of the rules, None if there is none or it has too many nodes."""
        rules = self._rules_of(document)
        if rules is None:
            return None
        try:
            root = self._node(rules, (), rules.start)
        except RuleSyntaxError as error:
            self._refuse(error.offset, error.reason)
            return None
        self.mistakes.extend(find_clashes(self.mirrors))
        self.mistakes.extend(find_counted_twice(self.counters, self.mirrors))
        return root

    def _rules_of(self, document: Document) -> Object | None:
        whole = document.value
        if not isinstance(whole, Object):
            if whole is not None:
                self._refuse(whole.start, "Expected '{'.")
            return None
        named = {key.value: value for key, value in whole.members}
        if "rules" not in named:
            if document.is_whole:
                hint = 'the file is {"rules": {...}}'
                self._refuse(whole.start + 1, "Expected 'rules' property.", hint)
            return None
        self._distinct(whole)
        for key, _ in whole.members:
            if key.value != "rules":
                self._refuse(key.start, f"Unexpected {shown(key.value)} beside 'rules'.")
        return self._as_object(named["rules"], ())

    def _node(self, node: Object, keys: tuple[str, ...], start: int) -> RuleNode:
        self.nodes += 1
        if self.nodes > self.limits.rules_nodes:
            most = self.limits.rules_nodes
            raise RuleSyntaxError(node.start, f"The rules have more than {most} nodes.")
        rules: dict[Access, Rule | None] = {}
        children: dict[str, RuleNode] = {}
        wildcard: RuleNode | None = None
        index_on: tuple[str, ...] = ()
        mirror: Mirror | None = None
        for key, value in self._distinct(node):
            name = key.value
            if name in _ACCESS:
                rules[_ACCESS[name]] = self._rule(value, _ACCESS[name], keys)
            elif name == ".indexOn":
                index_on = self._index_on(value, keys)
            elif name == ".mirror":
                mirror = self._mirror(value, keys)
            elif name == ".count":
                self._count(value, keys)
            elif (child := self._child(key, value, node, keys)) is None:
                continue
            elif name.startswith("$"):
                wildcard = child
            else:
                children[name] = child
        validate = rules.get(Access.VALIDATE)
        beneath = [*children.values(), wildcard] if wildcard else children.values()
        return RuleNode(
            keys,
            start,
            rules.get(Access.READ),
            rules.get(Access.WRITE),
            validate,
            index_on,
            mirror,
            children,
            wildcard,
            validate is not None or any(child.validates for child in beneath),
        )

    def _distinct(self, node: Object) -> list[tuple[Text, Node]]:
        """Return the members without those whose key stood before, which are refused."""
        first: dict[str, tuple[Text, Node]] = {}
        for key, value in node.members:
            if key.value in first:
                self._refuse(key.start, f"Duplicate key {shown(key.value)}.")
            else:
                first[key.value] = key, value
        return list(first.values())

    def _child(
        self, key: Text, value: Node, parent: Object, keys: tuple[str, ...]
    ) -> RuleNode | None:
        name = key.value
        if name.startswith("."):
            self._unknown_dot_key(key, value, keys)
            return None
        if name.startswith("$"):
            self._check_wildcard(key, parent, keys)
        elif find_bad_key((name,)) is not None:
            self._refuse(key.start, *_key_refusal(name), keys=keys)
            return None
        child = self._as_object(value, (*keys, name))
        return None if child is None else self._node(child, (*keys, name), key.start)

    def _unknown_dot_key(self, key: Text, value: Node, keys: tuple[str, ...]) -> None:
        close = get_close_matches(key.value[:60], _DOT_KEYS, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(_DOT_KEYS)}"
        if isinstance(value, Object):
            self._refuse(key.start, _BAD_KEY, hint, keys=keys)
        else:
            self._refuse(value.start, "Expected '{'.", hint, keys=keys)

    def _check_wildcard(self, key: Text, parent: Object, keys: tuple[str, ...]) -> None:
        name = key.value
        first = next(other.value for other, _ in parent.members if other.value.startswith("$"))
        if name == "$":
            self._refuse(key.start, "A wildcard has no name.", "write $ and a name", keys=keys)
        elif find_bad_key((name[1:],)) is not None:
            self._refuse(key.start, *_key_refusal(name[1:]), keys=keys)
        elif first != name:
            message = f"Cannot have multiple default rules ('{first}' and '{name}')."
            self._refuse(key.start, message, keys=keys)
        elif name in keys:
            message = f"Wildcard '{name}' is already used on this path."
            self._refuse(key.start, message, keys=keys)

    def _as_object(self, value: Node, keys: tuple[str, ...]) -> Object | None:
        if isinstance(value, Object):
            return value
        self._refuse(value.start, "Expected '{'.", keys=keys)
        return None

    def _rule(self, value: Node, access: Access, keys: tuple[str, ...]) -> Rule | None:
        place = f"/{'/'.join(keys)} {access.value}"
        if isinstance(value, Scalar) and isinstance(value.value, bool):
            value = Text(value.start, str(value.value).lower(), ((0, value.start),))
        if not isinstance(value, Text):
            self.mistakes.append(Mistake(value.start, _BAD_RULE, place=place))
            return None
        try:
            node = parse_expression(value.value, self.limits)
        except RuleSyntaxError as error:
            offset = value.offset(error.offset)
            self.mistakes.append(Mistake(offset, error.reason, error.hint, place))
            return None
        checked = check_expression(node, access, wildcards_of(keys), self.limits)
        for mistake in checked.mistakes:
            offset = value.offset(mistake.offset)
            self.mistakes.append(Mistake(offset, mistake.message, mistake.hint, place))
        if checked.mistakes:
            return None
        rule = Rule(access, keys, value, node, checked.types, self.limits, self.source)
        self.rules.append(rule)
        return rule

    def _index_on(self, value: Node, keys: tuple[str, ...]) -> tuple[str, ...]:
        names = value.items if isinstance(value, Array) else [value]
        if len(names) > self.limits.rules_indexes:
            most = self.limits.rules_indexes
            message = f"The node has {len(names)} indexes: at most {most} are allowed."
            self._refuse(value.start, message, keys=keys)
            return ()
        found: list[Index] = []
        for name in names:
            if not isinstance(name, Text):
                self._refuse(name.start, _BAD_INDEX, keys=keys)
            elif (problem := _index_problem(name.value)) is not None:
                self._refuse(name.start, _BAD_INDEX, problem, keys=keys)
            else:
                plain = "/".join(filter(None, name.value.split("/")))
                found.append(Index(keys, plain, *self.source.position(name.start)))
        self.indexes.extend(found)
        return tuple(index.name for index in found)

    def _mirror(self, value: Node, keys: tuple[str, ...]) -> Mirror | None:
        self._check_room(self.mirrors, value, "mirrors")
        mirror = read_mirror(value, keys)
        if isinstance(mirror, Mistake):
            self._refuse(mirror.offset, mirror.message, mirror.hint, keys=keys)
            return None
        self.mirrors.append(mirror)
        return mirror

    def _count(self, value: Node, keys: tuple[str, ...]) -> None:
        self._check_room(self.counters, value, "counts")
        counter = read_counter(value, keys)
        if isinstance(counter, Mistake):
            self._refuse(counter.offset, counter.message, counter.hint, keys=keys)
        else:
            self.counters.append(counter)

    def _check_room(self, declared: Sized, value: Node, kind: str) -> None:
        most = self.limits.rules_mirrors
        if len(declared) >= most:
            raise RuleSyntaxError(value.start, f"The rules have more than {most} {kind}.")

    def _refuse(
        self, offset: int, message: str, hint: str = "", *, keys: tuple[str, ...] = ()
    ) -> None:
        place = "/" + "/".join(keys) if keys else ""
        self.mistakes.append(Mistake(offset, message, hint, place))


def _key_refusal(key: str) -> tuple[str, str]:
    """Return the message and the hint for a key that cannot be one."""
    problem = key_problem(key) or ""
    is_forbidden = " holds " in problem
    return (_BAD_KEY, problem) if is_forbidden else (problem, "")


def _index_problem(name: str) -> str | None:
    """Tell what is wrong with the name of an index: it is `.value` or the path of a child."""
    if name == ".value":
        return None
    keys = list(filter(None, name.split("/")))
    if not keys:
        return "the name is empty"
    bad = find_bad_key(keys)
    return None if bad is None else key_problem(bad)
