"""Random expressions that load, as text, by the type of what they come to; and worlds for them."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

KEYS = ["a", "b", "k", "w", "a/b", "", "x.y", "𝄞", "k/a", "/a//b/"]
TEXTS = ["'a'", "'b'", "''", "'k'", "'aba'", "'\\ufb01'", "'𝄞'", "'5'", '"w/k"']
NUMBERS = ["0", "1", "2", "5", "1.5", "9007199254740992", "1e308", ".25"]
LEAVES = ["a", "aba", "", "k", "𝄞", "ﬁ", 0, 1, 5, 1.5, -7, True, False, 2**53]


def binary_of(operators: list[str], left: Any, right: Any) -> Any:
    return st.builds(
        lambda a, operator, b: f"({a} {operator} {b})", left, st.sampled_from(operators), right
    )


@cache
def expressions(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Return expressions of a type; each is made once, for making strategies takes long."""
    choices = CHOICES if depth > 0 else SIMPLE
    return st.deferred(lambda: st.one_of(*choices[kind](depth - 1)))


def simple_boolean(_: int) -> list[Any]:
    return [
        st.sampled_from(["true", "false"]),
        expressions("snapshot", 0).map(lambda snap: f"{snap}.exists()"),
        expressions("value", 0).map(lambda value: f"({value} == null)"),
    ]


def boolean(depth: int) -> list[Any]:
    one, value, string = (
        expressions("boolean", depth),
        expressions("value", depth),
        expressions("string", depth),
    )
    any_value = st.one_of(value, string, expressions("number", depth), one, st.just("null"))
    ordered_value = st.one_of(value, string, expressions("number", depth))
    method = st.sampled_from(["contains", "beginsWith", "endsWith"])
    snap = expressions("snapshot", depth)
    return [
        binary_of(["&&", "||"], one, one),
        st.builds(lambda a, b, c: f"({a} && {b} && {c})", one, one, one),
        one.map(lambda a: f"!{a}"),
        st.builds(lambda a, b, c: f"({a} ? {b} : {c})", one, one, one),
        binary_of(["==", "!=", "===", "!=="], any_value, any_value),
        binary_of(["<", "<=", ">", ">="], ordered_value, ordered_value),
        st.builds(lambda a, m, b: f"{a}.{m}({b})", st.one_of(string, value), method, string),
        st.builds(
            lambda s, m: f"{s}.{m}()",
            snap,
            st.sampled_from(["exists", "isString", "isNumber", "isBoolean", "hasChildren"]),
        ),
        st.builds(lambda s, t: f"{s}.hasChild({t})", snap, st.one_of(string, value)),
        st.builds(
            lambda s, names: f"{s}.hasChildren([{', '.join(names)}])",
            snap,
            st.lists(st.one_of(string, value), max_size=3),
        ),
    ]


def simple_value(_: int) -> list[Any]:
    return [
        expressions("snapshot", 0).map(lambda snap: f"{snap}.val()"),
        st.sampled_from(["auth.uid", "auth.token.plan", "auth.x.y", "auth", "auth.token"]),
    ]


def value(depth: int) -> list[Any]:
    snap = expressions("snapshot", depth)
    return [
        snap.map(lambda a: f"{a}.val()"),
        snap.map(lambda a: f"{a}.getPriority()"),
        st.sampled_from(["auth.uid.length", "auth.token['n']", "auth[$k]", "auth.token.n"]),
        st.builds(
            lambda a, b, c: f"({a} ? {b} : {c})",
            expressions("boolean", depth),
            expressions("value", depth),
            expressions("value", depth),
        ),
    ]


def simple_string(_: int) -> list[Any]:
    return [st.sampled_from(TEXTS), st.just("$k")]


def string(depth: int) -> list[Any]:
    one = expressions("string", depth)
    other = st.one_of(one, expressions("value", depth), expressions("number", depth))
    case = st.sampled_from(["toLowerCase", "toUpperCase"])
    return [
        binary_of(["+"], one, other),
        st.builds(lambda a, b, c: f"{a}.replace({b}, {c})", one, one, one),
        st.builds(lambda a, m: f"{a}.{m}()", st.one_of(one, expressions("value", depth)), case),
    ]


def simple_number(_: int) -> list[Any]:
    return [st.sampled_from(NUMBERS), st.just("now")]


def a_number(depth: int) -> list[Any]:
    one = st.one_of(expressions("number", depth), expressions("value", depth))
    return [
        binary_of(["-", "*", "/", "%", "+"], one, one),
        one.map(lambda a: f"(-{a})"),
        expressions("string", depth).map(lambda a: f"{a}.length"),
    ]


def simple_snapshot(_: int) -> list[Any]:
    return [st.sampled_from(["data", "newData", "root"])]


def snapshot(depth: int) -> list[Any]:
    snap = expressions("snapshot", depth)
    return [
        st.builds(lambda a, key: f"{a}.child('{key}')", snap, st.sampled_from(KEYS)),
        st.builds(
            lambda a, b: f"{a}.child({b})",
            snap,
            st.one_of(expressions("string", 0), expressions("value", 0)),
        ),
        snap.map(lambda a: f"{a}.parent()"),
        st.builds(lambda a, b, c: f"({a} ? {b} : {c})", expressions("boolean", 0), snap, snap),
    ]


SIMPLE = {
    "boolean": simple_boolean,
    "value": simple_value,
    "string": simple_string,
    "number": simple_number,
    "snapshot": simple_snapshot,
}
CHOICES = {
    "boolean": boolean,
    "value": value,
    "string": string,
    "number": a_number,
    "snapshot": snapshot,
}

leaves = st.sampled_from(LEAVES)
prioritised = st.builds(
    lambda leaf, priority: {".value": leaf, ".priority": priority},
    leaves,
    st.sampled_from(["p", 1]),
)
trees = st.recursive(
    st.one_of(leaves, prioritised),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "k", "w", "𝄞"]), inner, min_size=1),
    max_leaves=8,
)
roots = st.builds(lambda value, a: {"w": {"k": value}, "a": a}, trees, trees)
auths = st.sampled_from(
    [
        None,
        {"uid": "k", "token": {"plan": "a", "n": 5}},
        {"uid": "a", "token": {"plan": True, "n": [1]}, "k": {"y": "b"}},
    ]
)
