"""The tables of the language: variables, members, operators, and the types they take and give.

The checker refuses by these tables, the compiler builds what they list, and the reference in the
documentation is held against them. Source: Firebase's "Realtime Database Security Rules API"
reference, and what its service accepts and refuses where the reference is silent.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Type(Enum):
    """What is known of a part before it is evaluated.

    VALUE is some leaf or null, as `val()` gives; AUTH is `auth` or what is reached from it;
    QUERY_VALUE a member of `query`; MIXED the outcome of `? :` with unlike branches; METHOD a
    method that is not called. ANY is a part that was refused already: it fits everywhere, so
    that one mistake is told once.
    """

    BOOLEAN = "Boolean"
    NUMBER = "Number"
    STRING = "String"
    NULL = "Null"
    REGEX = "Regex"
    ARRAY = "Array"
    SNAPSHOT = "Snapshot"
    METHOD = "Method"
    VALUE = "Value"
    AUTH = "Auth"
    QUERY = "Query"
    QUERY_VALUE = "QueryValue"
    MIXED = "Mixed"
    ANY = "Any"


class Takes(Enum):
    """The arguments of a method."""

    NOTHING = "no arguments"
    STRING = "a string"
    TWO_STRINGS = "two strings"
    REGEX = "a regular expression literal"
    NAMES = "nothing, or an array of child names"


class Access(Enum):
    """What a rule decides on; the value is its name in the rules file."""

    READ = ".read"
    WRITE = ".write"
    VALIDATE = ".validate"


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what it takes, the type of what it gives, and one sentence on that."""

    takes: Takes
    gives: Type
    about: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A name every rule may use; `query` too, though it says nothing in rules that write."""

    type: Type
    about: str


VARIABLES: Final = {
    "auth": Variable(Type.AUTH, "who asks: an object with uid and token, null when signed out"),
    "now": Variable(Type.NUMBER, "the server's time in milliseconds, the same all through a write"),
    "root": Variable(Type.SNAPSHOT, "the database as it stands, before a write"),
    "data": Variable(Type.SNAPSHOT, "the value at the rule's own place, before a write"),
    "newData": Variable(Type.SNAPSHOT, "the value at the rule's own place as it would become"),
    "query": Variable(Type.QUERY, "what a read asks for: order, bounds and limits"),
}

SNAPSHOT_METHODS: Final = {
    "val": Method(Takes.NOTHING, Type.VALUE, "the leaf; null for nothing; no leaf for children"),
    "child": Method(Takes.STRING, Type.SNAPSHOT, "the place at a relative path, data or not"),
    "parent": Method(Takes.NOTHING, Type.SNAPSHOT, "the place above; an error at the root"),
    "hasChild": Method(Takes.STRING, Type.BOOLEAN, "whether there is data at a relative path"),
    "hasChildren": Method(Takes.NAMES, Type.BOOLEAN, "whether there are children, or all named"),
    "exists": Method(Takes.NOTHING, Type.BOOLEAN, "whether there is data; 0, false and '' are"),
    "getPriority": Method(Takes.NOTHING, Type.VALUE, "the priority, null if there is none"),
    "isNumber": Method(Takes.NOTHING, Type.BOOLEAN, "whether the value is a number"),
    "isString": Method(Takes.NOTHING, Type.BOOLEAN, "whether the value is a string"),
    "isBoolean": Method(Takes.NOTHING, Type.BOOLEAN, "whether the value is true or false"),
}

STRING_METHODS: Final = {
    "contains": Method(Takes.STRING, Type.BOOLEAN, "whether the text stands in it somewhere"),
    "beginsWith": Method(Takes.STRING, Type.BOOLEAN, "whether it starts with the text"),
    "endsWith": Method(Takes.STRING, Type.BOOLEAN, "whether it ends with the text"),
    "replace": Method(Takes.TWO_STRINGS, Type.STRING, "it with every first text made the second"),
    "toLowerCase": Method(Takes.NOTHING, Type.STRING, "it in lower case"),
    "toUpperCase": Method(Takes.NOTHING, Type.STRING, "it in upper case"),
    "matches": Method(Takes.REGEX, Type.BOOLEAN, "whether the regular expression finds a match"),
}

# A property of strings, in UTF-16 code units.
LENGTH: Final = "length"

QUERY_MEMBERS: Final = {
    "orderByKey": Type.BOOLEAN,
    "orderByValue": Type.BOOLEAN,
    "orderByPriority": Type.BOOLEAN,
    "orderByChild": Type.QUERY_VALUE,
    "startAt": Type.QUERY_VALUE,
    "endAt": Type.QUERY_VALUE,
    "equalTo": Type.QUERY_VALUE,
    "limitToFirst": Type.QUERY_VALUE,
    "limitToLast": Type.QUERY_VALUE,
}

# Operands, by what is asked of them.
LOGICAL: Final = frozenset({Type.BOOLEAN, Type.ANY})
UNSURE: Final = frozenset({Type.VALUE, Type.AUTH, Type.QUERY_VALUE, Type.MIXED, Type.ANY})
NUMERIC: Final = UNSURE | {Type.NUMBER}
ORDERED: Final = NUMERIC | {Type.STRING}
COMPARED: Final = ORDERED | {Type.BOOLEAN, Type.NULL}
# Arguments that are texts: what a query holds is none, says Firebase's service.
TEXTUAL: Final = frozenset({Type.STRING, Type.VALUE, Type.AUTH, Type.MIXED, Type.ANY})
# Receivers of the methods of strings.
STRINGLIKE: Final = frozenset({Type.STRING, Type.VALUE, Type.AUTH})


@dataclass(frozen=True, slots=True)
class Operator:
    """A binary operator: its operands, the type it gives, and how both refusals are worded."""

    operands: frozenset[Type]
    gives: Type
    refuses_left: str
    refuses_right: str


_PRIMITIVE: Final = "is not a number, boolean, string, or null."
_ORDERED: Final = "must be a number or string."
_ADDED: Final = "is not a number or string."
_NUMERIC: Final = "is not a number."

OPERATORS: Final = {
    # The missing "or" is the service's own.
    "==": Operator(COMPARED, Type.BOOLEAN, "is not a number, boolean, string, null.", _PRIMITIVE),
    "!=": Operator(COMPARED, Type.BOOLEAN, _PRIMITIVE, _PRIMITIVE),
    "<": Operator(ORDERED, Type.BOOLEAN, _ORDERED, _ORDERED),
    "<=": Operator(ORDERED, Type.BOOLEAN, _ORDERED, _ORDERED),
    ">": Operator(ORDERED, Type.BOOLEAN, _ORDERED, _ORDERED),
    ">=": Operator(ORDERED, Type.BOOLEAN, _ORDERED, _ORDERED),
    # What a sum is depends on its operands: see the checker.
    "+": Operator(ORDERED, Type.VALUE, _ADDED, _ADDED),
    "-": Operator(NUMERIC, Type.NUMBER, _NUMERIC, _NUMERIC),
    "*": Operator(NUMERIC, Type.NUMBER, _NUMERIC, _NUMERIC),
    "/": Operator(NUMERIC, Type.NUMBER, _NUMERIC, _NUMERIC),
    "%": Operator(NUMERIC, Type.NUMBER, _NUMERIC, _NUMERIC),
}
