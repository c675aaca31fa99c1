"""Read an expression: the grammar, from the loosest operator to the tightest.

expression  = or [ "?" expression ":" expression ]
or          = and { "||" and }
and         = equality { "&&" equality }
equality    = relation { ("==" | "!=" | "===" | "!==") relation }
relation    = sum { ("<" | ">" | "<=" | ">=") sum }
sum         = product { ("+" | "-") product }
product     = unary { ("*" | "/" | "%") unary }
unary       = ("!" | "-") unary | postfix
postfix     = primary { "." NAME | "[" expression "]" | "(" [ expression { "," expression } ] ")" }
primary     = NUMBER | STRING | REGEX | NAME | "(" expression ")" | "[" [ ... ] "]"
"""

from collections.abc import Callable
from typing import Final

from treedb.config import Limits
from treedb.errors import RuleSyntaxError
from treedb.rules.lexer import Kind, Token, tokens_of
from treedb.rules.syntax import (
    Array,
    Binary,
    Call,
    Conditional,
    Index,
    Literal,
    Logical,
    Member,
    Name,
    Node,
    Regex,
    Span,
    Unary,
)
from treedb.tree.values import MAX_INTEGER

LOOSEST: Final = 1
LEVELS: Final = {
    "||": 1, "&&": 2,
    "==": 3, "!=": 3, "===": 3, "!==": 3,
    "<": 4, "<=": 4, ">": 4, ">=": 4,
    "+": 5, "-": 5,
    "*": 6, "/": 6, "%": 6,
}  # fmt: skip
CHAINED: Final = frozenset({"||", "&&"})
SAME_AS: Final = {"===": "==", "!==": "!="}
CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
# JavaScript's reserved words: members may have such names, variables may not.
RESERVED: Final = frozenset({
    "break", "case", "catch", "class", "const", "continue", "debugger", "default",
    "delete", "do", "else", "enum", "export", "extends", "finally", "for",
    "function", "if", "import", "in", "instanceof", "let", "new", "return",
    "static", "super", "switch", "this", "throw", "try", "typeof", "var",
    "void", "while", "with", "yield",
})  # fmt: skip


def parse_expression(text: str, limits: Limits) -> Node:
    """Return the parts of an expression; RuleSyntaxError, at an offset of the text, if it is none."""
    if len(text) > limits.expression_chars:
        raise RuleSyntaxError(
            0,
            f"The expression has {len(text)} characters: at most {limits.expression_chars} are "
            "allowed.",
        )
    parser = _Parser(tokens_of(text), limits)
    whole = parser.expression()
    parser.expect_end()
    return whole


class _Parser:
    """One pass over the tokens of an expression.

    Few frames of Python's stack go to a level of nesting: operators are read by climbing their
    levels in a loop, prefixes and suffixes by loops too.
    """

    def __init__(self, tokens: list[Token], limits: Limits) -> None:
        self.tokens = tokens
        self.limits = limits
        self.at = 0
        self.count = 0
        self.nesting = 0
        # Where the parentheses around a part stand, by its number.
        self.outside: dict[int, tuple[int, int]] = {}

    def expression(self) -> Node:
        self.nesting += 1
        if self.nesting > self.limits.expression_depth:
            raise self._too_deep(self.tokens[self.at].start)
        test = self._operation(LOOSEST)
        if self._accept("?"):
            then = self.expression()
            self._expect(":")
            otherwise = self.expression()
            parts = (test, then, otherwise)
            test = Conditional(self._span_over(*parts), *parts)
        self.nesting -= 1
        return test

    def expect_end(self) -> None:
        if self.tokens[self.at].kind is not Kind.END:
            raise self._unexpected()

    def _operation(self, loosest: int) -> Node:
        """Read operands joined by operators of at least the given level."""
        left = self._operand()
        while (level := self._level()) >= loosest:
            operator = self._sign()
            right = self._operation(level + 1)
            if operator in CHAINED:
                left = self._chain(operator, left, right)
            else:
                operator = SAME_AS.get(operator, operator)
                left = Binary(self._span_over(left, right), operator, left, right)
        return left

    def _chain(self, operator: str, *first: Node) -> Node:
        operands = list(first)
        while self._accept(operator):
            operands.append(self._operation(LEVELS[operator] + 1))
        return Logical(self._span_over(*operands), operator, tuple(operands))

    def _operand(self) -> Node:
        prefixes = []
        while self._is("!") or self._is("-"):
            prefixes.append(self.tokens[self.at])
            self.at += 1
        node = self._primary()
        while (longer := self._suffixed(node)) is not None:
            node = longer
        for prefix in reversed(prefixes):
            span = self._span(prefix.start, self._end(node), node)
            node = Unary(span, prefix.text, node)
        return node

    def _suffixed(self, node: Node) -> Node | None:
        """Read one `.name`, `[index]` or `(arguments)` after a part, None if there is none."""
        start = self._start(node)
        if self._accept("."):
            token = self._take(Kind.NAME, "expected a name after '.'")
            return Member(self._span(start, token.end, node), node, token.text)
        if self._accept("["):
            return self._subscript(node, start)
        if self._accept("("):
            arguments, end = self._list(")")
            return Call(self._span(start, end, node, *arguments), node, arguments)
        return None

    def _subscript(self, target: Node, start: int) -> Node:
        index = self.expression()
        end = self._expect("]").end
        if isinstance(index, Literal) and isinstance(index.value, str):
            return Member(self._span(start, end, target), target, index.value)
        return Index(self._span(start, end, target, index), target, index)

    def _primary(self) -> Node:
        token = self.tokens[self.at]
        if self._accept("("):
            inner = self.expression()
            self.outside[inner.span.index] = token.start, self._expect(")").end
            return inner
        if self._accept("["):
            items, end = self._list("]")
            return Array(self._span(token.start, end, *items), items)
        read = _OPERANDS.get(token.kind)
        if read is None or (token.kind is Kind.NAME and token.text in RESERVED):
            raise self._unexpected()
        self.at += 1
        return read(self._span(token.start, token.end), token)

    def _list(self, closing: str) -> tuple[tuple[Node, ...], int]:
        """Read expressions up to a closing bracket; return them and where the bracket ends."""
        items: list[Node] = []
        if not self._is(closing):
            items.append(self.expression())
            while self._accept(","):
                items.append(self.expression())
        return tuple(items), self._expect(closing).end

    def _span(self, start: int, end: int, *parts: Node) -> Span:
        """Give a new part its number and depth, within the limits."""
        index = self.count
        self.count += 1
        if self.count > self.limits.expression_nodes:
            most = self.limits.expression_nodes
            raise RuleSyntaxError(start, f"The expression has more than {most} parts.")
        depth = 1 + max((part.span.depth for part in parts), default=0)
        if depth > self.limits.expression_depth:
            raise self._too_deep(start)
        return Span(start, end, index, depth)

    def _too_deep(self, offset: int) -> RuleSyntaxError:
        most = self.limits.expression_depth
        return RuleSyntaxError(offset, f"The expression is nested deeper than {most} levels.")

    def _span_over(self, *parts: Node) -> Span:
        return self._span(self._start(parts[0]), self._end(parts[-1]), *parts)

    def _start(self, node: Node) -> int:
        around = self.outside.get(node.span.index)
        return around[0] if around else node.span.start

    def _end(self, node: Node) -> int:
        around = self.outside.get(node.span.index)
        return around[1] if around else node.span.end

    def _level(self) -> int:
        """Return the level of the operator that comes next, 0 if none does."""
        token = self.tokens[self.at]
        return LEVELS.get(token.text, 0) if token.kind is Kind.SIGN else 0

    def _sign(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1].text

    def _is(self, sign: str) -> bool:
        token = self.tokens[self.at]
        return token.kind is Kind.SIGN and token.text == sign

    def _accept(self, sign: str) -> bool:
        if not self._is(sign):
            return False
        self.at += 1
        return True

    def _expect(self, sign: str) -> Token:
        if not self._is(sign):
            raise self._unexpected(f"expected '{sign}'")
        self.at += 1
        return self.tokens[self.at - 1]

    def _take(self, kind: Kind, expected: str) -> Token:
        token = self.tokens[self.at]
        if token.kind is not kind:
            raise self._unexpected(expected)
        self.at += 1
        return token

    def _unexpected(self, expected: str = "") -> RuleSyntaxError:
        token = self.tokens[self.at]
        if token.kind is Kind.END:
            return RuleSyntaxError(token.start, "Unexpected end of expression.", expected)
        shown = token.text if token.kind in {Kind.NAME, Kind.SIGN} else f"a {token.kind.value}"
        quoted = f"'{shown[:60]}'" if token.kind in {Kind.NAME, Kind.SIGN} else shown
        return RuleSyntaxError(token.start, f"Unexpected {quoted}.", expected)


def _read_name(span: Span, token: Token) -> Node:
    if token.text in CONSTANTS:
        return Literal(span, CONSTANTS[token.text])
    return Name(span, token.text)


def _read_number(span: Span, token: Token) -> Node:
    if token.text[:2] in {"0x", "0X"}:
        number = float(int(token.text, 16)) if len(token.text) <= 200 else float("inf")
    else:
        number = float(token.text)
    if number.is_integer() and number <= MAX_INTEGER:
        return Literal(span, int(number))
    return Literal(span, number)


def _read_string(span: Span, token: Token) -> Node:
    return Literal(span, token.text)


def _read_regex(span: Span, token: Token) -> Node:
    return Regex(span, token.text, token.flags)


_OPERANDS: Final[dict[Kind, Callable[[Span, Token], Node]]] = {
    Kind.NAME: _read_name,
    Kind.NUMBER: _read_number,
    Kind.STRING: _read_string,
    Kind.REGEX: _read_regex,
}
