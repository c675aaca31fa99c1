"""A plain interpreter of rule expressions, the oracle of the compiler's tests.

It is written for clearness and shares nothing with the compiler: it walks the parts of an
expression over nested dicts, has floats for all numbers, and compares strings as lists of UTF-16
code units.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from treedb.rules.runtime import number_text
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
    Unary,
)

NOW = 1_700_000_000_000
PLACE = ("w", "k")


class Failed(Exception):
    pass


@dataclass(frozen=True)
class Snap:
    root: Any
    keys: tuple[str, ...]

    def value(self) -> Any:
        value = self.root
        for key in self.keys:
            if not isinstance(value, dict) or not re.fullmatch(r"[^.#$\[\]/\x00-\x1f\x7f]+", key):
                return None
            value = value.get(key)
        return value

    def leaf(self) -> Any:
        value = self.value()
        if isinstance(value, dict):
            return value[".value"] if ".value" in value else Children()
        return value


class Children:
    pass


@dataclass(frozen=True)
class World:
    old: Any
    new: Any
    auth: Any


def interpret(node: Node, world: World) -> Any:
    match node:
        case Literal():
            return as_double(node.value)
        case Name():
            return variable(node.name, world)
        case Member():
            return as_double(member(interpret(node.target, world), node.name))
        case Index():
            target, index = interpret(node.target, world), interpret(node.index, world)
            return as_double(target.get(index)) if isinstance(target, dict) else None
        case Call(function=Member(target=target, name=name)):
            return call(interpret(target, world), name, node.arguments, world)
        case Unary(operator="!"):
            return not interpret(node.operand, world)
        case Unary():
            return -number(interpret(node.operand, world))
        case Binary():
            left, right = interpret(node.left, world), interpret(node.right, world)
            return binary(node.operator, left, right)
        case Logical():
            for operand in node.operands:
                if interpret(operand, world) == (node.operator == "||"):
                    return node.operator == "||"
            return node.operator == "&&"
        case Conditional():
            chosen = node.then if interpret(node.test, world) else node.otherwise
            return interpret(chosen, world)
    raise AssertionError(node)


def variable(name: str, world: World) -> Any:
    return {
        "auth": world.auth,
        "now": float(NOW),
        "root": Snap(world.old, ()),
        "data": Snap(world.old, PLACE),
        "newData": Snap(world.new, PLACE),
        "$k": PLACE[1],
    }[name]


def member(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    if name != "length":
        return None
    if isinstance(value, str):
        return len(units(value))
    if value is None:
        # Of `auth` and its members that is null; the strategies ask no other for its length.
        return None
    raise Failed


def call(target: Any, name: str, arguments: tuple[Node, ...], world: World) -> Any:
    if isinstance(target, Snap):
        return call_snapshot(target, name, arguments, world)
    values = [text(interpret(argument, world)) for argument in arguments]
    receiver = text(target)
    match name, values:
        case "contains", [other]:
            return other in receiver
        case "beginsWith", [other]:
            return receiver[: len(other)] == other
        case "endsWith", [other]:
            return not other or receiver[-len(other) :] == other
        case "replace", [old, new]:
            return new.join(receiver.split(old)) if old else receiver
        case "toLowerCase", []:
            return receiver.lower()
        case "toUpperCase", []:
            return receiver.upper()
    raise AssertionError(name)


def call_snapshot(snap: Snap, name: str, arguments: tuple[Node, ...], world: World) -> Any:
    leaf = snap.leaf()
    match name:
        case "val":
            return as_double(leaf)
        case "exists":
            return snap.value() is not None
        case "isString":
            return isinstance(leaf, str)
        case "isBoolean":
            return isinstance(leaf, bool)
        case "isNumber":
            return isinstance(leaf, int | float) and not isinstance(leaf, bool)
        case "getPriority":
            value = snap.value()
            return as_double(value.get(".priority")) if isinstance(value, dict) else None
        case "parent":
            if not snap.keys:
                raise Failed
            return Snap(snap.root, snap.keys[:-1])
        case "child":
            return below(snap, interpret(arguments[0], world))
        case "hasChild":
            return below(snap, interpret(arguments[0], world)).value() is not None
        case "hasChildren" if not arguments:
            return isinstance(leaf, Children)
        case "hasChildren":
            [names] = arguments
            assert isinstance(names, Array)
            found = [below(snap, interpret(item, world)) for item in names.items]
            return all(child.value() is not None for child in found)
    raise AssertionError(name)


def below(snap: Snap, path: Any) -> Snap:
    keys = tuple(part for part in text(path).split("/") if part) or ("",)
    return Snap(snap.root, snap.keys + keys)


def binary(operator: str, left: Any, right: Any) -> Any:
    if operator in {"==", "!="}:
        simple = (str, bool, float, type(None))
        same = type(left) is type(right) and isinstance(left, simple) and left == right
        return same == (operator == "==")
    if operator == "+" and (isinstance(left, str) or isinstance(right, str)):
        return joined(left) + joined(right)
    if operator in {"<", "<=", ">", ">="}:
        return ordered(operator, left, right)
    first, second = number(left), number(right)
    match operator:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
        case "/":
            return first / second if second else math.nan
        case "%":
            if not second or math.isinf(first) or math.isnan(first):
                return math.nan
            return math.fmod(first, second)
    raise AssertionError(operator)


def ordered(operator: str, left: Any, right: Any) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        first, second = units(left), units(right)
        sign = (first > second) - (first < second)
        is_less, is_same = sign < 0, sign == 0
    else:
        is_less, is_same = number(left) < number(right), number(left) == number(right)
        if math.isnan(left) or math.isnan(right):
            return False
    return {
        "<": is_less,
        "<=": is_less or is_same,
        ">": not is_less and not is_same,
        ">=": not is_less,
    }[operator]


def units(value: str) -> list[int]:
    found = []
    for char in value:
        code = ord(char)
        if code < 0x10000:
            found.append(code)
        else:
            found += [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]
    return found


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise Failed
    return value


def joined(value: Any) -> str:
    return number_text(value) if isinstance(value, float) else text(value)


def number(value: Any) -> float:
    if not isinstance(value, float):
        raise Failed
    return value


def as_double(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else value
