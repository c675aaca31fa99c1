"""JSON Patch: operations on the value at a place, done one after the other or not at all.

    [{"op": "test", "path": "/stock", "value": 5}, {"op": "replace", "path": "/stock", "value": 4}]

The text is read and checked once, and its operations are done inside the transaction that writes
what they come to: what a `test` has found equal is still equal then. Who asks needs to be allowed
to read what an operation looks at, since its success alone would tell something of it:

    test, replace    the place itself
    remove           the place itself, and the array that it is an item of
    add              the object or array that is added to
    move, copy       what is removed or read, and what is added to

Server values become values when their operation is done, so an increment counts from what the
operations before it have left. Source: RFC 6902, and RFC 6901 for the pointers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from jsonpointer import JsonPointer, JsonPointerException

from treedb.config import Limits
from treedb.errors import InvalidPatch, PatchConflict, PayloadTooLarge, PermissionDenied, TreeError
from treedb.paths.keys import key_problem, shown
from treedb.paths.path import Path
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.tree.server_values import resolve
from treedb.tree.values import Value, normal_form
from treedb.writes.patch_document import PatchDocument
from treedb.writes.patch_nodes import pointer

Keys: TypeAlias = tuple[str, ...]
# Raises PermissionDenied where the caller may not read.
AskToRead: TypeAlias = Callable[[Path], object]


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One operation: its name, where it acts, where it takes from, and what it brings."""

    name: str
    keys: Keys
    source: Keys = ()
    value: object = None
    has_server_values: bool = False


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """Checked operations; `nodes` counts what they bring."""

    operations: tuple[PatchOperation, ...]
    limits: Limits
    nodes: int = 0

    def changes(
        self, base: Path, reader: Reader, ask: AskToRead, now_ms: int
    ) -> tuple[tuple[Path, Value], ...]:
        """Return what the operations come to on the value at a place: disjoint changes, in order.

        Raises PatchConflict with the number of the operation that cannot be done, and what `ask`
        raises for a place that may not be looked at.
        """
        document = PatchDocument(base, reader, self.limits)
        turn = _Turn(document, _AskOnce(base, ask).permit, base, now_ms)
        for number, operation in enumerate(self.operations):
            try:
                _ACTIONS[operation.name](turn, operation)
            except PatchConflict as error:
                told = f"{_named(number, operation)}: {error.detail}."
                raise PatchConflict(told, number) from None
        return Patch.of(document.changes()).changes


# From JSON


def parse_json_patch(base: Path, raw: object, limits: Limits) -> JsonPatch:
    """Read the operations of a patch of a place.

    Raises InvalidPatch for what is none, PayloadTooLarge for too many, and what a set raises for
    a value that cannot be written; each tells the operation's number, counted from 0.
    """
    if not isinstance(raw, list):
        raise InvalidPatch(
            'A JSON Patch is an array of operations, such as [{"op": "remove", "path": "/a"}].'
        )
    if len(raw) > limits.patch_operations:
        raise PayloadTooLarge(
            f"the patch has {len(raw)} operations, at most {limits.patch_operations} are allowed; "
            "send it in several patches"
        )
    operations = []
    nodes = 0
    for number, each in enumerate(raw):
        try:
            operation, count = _operation(base, each, limits)
        except TreeError as error:
            raise type(error)(f"Operation {number}: {error.reason}") from None
        operations.append(operation)
        nodes += count
    if nodes > limits.nodes_per_write:
        raise PayloadTooLarge(
            f"the patch holds {nodes} nodes, at most {limits.nodes_per_write} are allowed; send it "
            "in several patches"
        )
    return JsonPatch(tuple(operations), limits, nodes)


def _operation(base: Path, raw: object, limits: Limits) -> tuple[PatchOperation, int]:
    """Return an operation, and how many nodes it brings."""
    if not isinstance(raw, dict):
        raise InvalidPatch('An operation is an object with "op" and "path".')
    name = raw.get("op")
    if not isinstance(name, str) or name not in _ACTIONS:
        found = shown(name) if isinstance(name, str) else "no text"
        raise InvalidPatch(f'"op" is {found}; allowed: {", ".join(_ACTIONS)}.')
    keys = _keys(base, raw, "path", limits)
    if name in ("move", "copy"):
        source = _keys(base, raw, "from", limits)
        if name == "move" and keys != source and keys[: len(source)] == source:
            raise InvalidPatch(f"{pointer(source)} cannot be moved into itself.")
        return PatchOperation(name, keys, source), 0
    if name == "remove":
        return PatchOperation(name, keys), 0
    if "value" not in raw:
        raise InvalidPatch(f'{name} needs "value".')
    value = raw["value"]
    if name == "test":
        return PatchOperation(name, keys, value=value), 0
    normal = normal_form(value, base.depth + len(keys), limits)
    brought = PatchOperation(name, keys, (), value, normal.has_server_values)
    return brought, normal.nodes


def _keys(base: Path, raw: dict[str, object], member: str, limits: Limits) -> Keys:
    """Read a pointer of an operation."""
    text = raw.get(member)
    if not isinstance(text, str):
        raise InvalidPatch(f'"{member}" is missing or no text; it is a pointer, such as "/a/b".')
    try:
        keys: Keys = tuple(JsonPointer(text).parts)
    except JsonPointerException:
        raise InvalidPatch(
            f'"{member}" is {shown(text)}; a pointer is "" or begins with /, and ~ stands in it '
            "as ~0 and / as ~1."
        ) from None
    problem = next(filter(None, map(key_problem, keys)), None)
    if problem is not None:
        raise InvalidPatch(f'"{member}" is {shown(text)}. {problem}')
    depth = base.depth + len(keys)
    if depth > limits.depth:
        raise InvalidPatch(
            f'"{member}" leads {depth} levels below the root; at most {limits.depth} are allowed.'
        )
    return keys


def _named(number: int, operation: PatchOperation) -> str:
    return f"Operation {number}, {operation.name} {pointer(operation.keys)}"


# Doing it


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the operations of one patch act on."""

    document: PatchDocument
    permit: Callable[[Path], None]
    base: Path
    now_ms: int

    def look(self, keys: Sequence[str]) -> None:
        """Ask for the permission to look at a place of the document."""
        self.permit(self.base.join(keys))

    def value_of(self, operation: PatchOperation, *, is_new: bool) -> object:
        """Return what an operation brings, with server values filled in."""
        if not operation.has_server_values:
            return operation.value
        return self._filled(operation.value, None if is_new else operation.keys)

    def _filled(self, raw: object, keys: Keys | None) -> object:
        if isinstance(raw, list):
            return [self._filled(item, _below(keys, str(i))) for i, item in enumerate(raw)]
        if not isinstance(raw, dict):
            return raw
        if ".sv" in raw:
            document = self.document
            return resolve(
                raw, lambda _: None if keys is None else document.leaf_at(keys), self.now_ms
            )
        # The leaf of {".value": ...} stands at the node's own place.
        return {
            key: self._filled(child, keys if key == ".value" else _below(keys, key))
            for key, child in raw.items()
        }


def _add(turn: _Turn, operation: PatchOperation) -> None:
    keys = operation.keys
    if keys:
        turn.look(keys[:-1])
    is_item = bool(keys) and turn.document.is_array(keys[:-1])
    turn.document.add(keys, turn.value_of(operation, is_new=is_item))


def _remove(turn: _Turn, operation: PatchOperation) -> None:
    _look_at_removed(turn, operation.keys)
    turn.document.remove(operation.keys)


def _replace(turn: _Turn, operation: PatchOperation) -> None:
    turn.look(operation.keys)
    turn.document.find(operation.keys)
    turn.document.replace(operation.keys, turn.value_of(operation, is_new=False))


def _move(turn: _Turn, operation: PatchOperation) -> None:
    _look_at_removed(turn, operation.source)
    if operation.keys:
        turn.look(operation.keys[:-1])
    turn.document.find(operation.source)
    if operation.keys != operation.source:
        turn.document.add(operation.keys, turn.document.remove(operation.source))


def _copy(turn: _Turn, operation: PatchOperation) -> None:
    turn.look(operation.source)
    if operation.keys:
        turn.look(operation.keys[:-1])
    document = turn.document
    document.add(operation.keys, document.copied(document.find(operation.source)))


def _test(turn: _Turn, operation: PatchOperation) -> None:
    turn.look(operation.keys)
    document = turn.document
    if not document.equals(document.find(operation.keys), operation.value):
        raise PatchConflict("the value there is another")


def _look_at_removed(turn: _Turn, keys: Keys) -> None:
    turn.look(keys)
    if keys and turn.document.is_array(keys[:-1]):
        turn.look(keys[:-1])  # the items behind it move up, and are then seen by other indexes


def _below(keys: Keys | None, key: str) -> Keys | None:
    return None if keys is None else (*keys, key)


_ACTIONS: Final[dict[str, Callable[[_Turn, PatchOperation], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


class _AskOnce:
    """Ask for permissions to read, no more often than needed: who may read a place may read below.

    The whole document is asked for first: mostly that is the only question.
    """

    def __init__(self, base: Path, ask: AskToRead) -> None:
        self._ask = ask
        self._base = base
        self._granted: set[Keys] = set()
        self._has_asked = False

    def permit(self, place: Path) -> None:
        """Raise PermissionDenied unless the place may be read."""
        if not self._has_asked:
            self._has_asked = True
            try:
                self._ask(self._base)
            except PermissionDenied:
                pass
            else:
                self._granted.add(self._base.keys)
        if not any(above in self._granted for above in _upwards(place.keys)):
            self._ask(place)
            self._granted.add(place.keys)


def _upwards(keys: Keys) -> Iterator[Keys]:
    return (keys[:length] for length in range(len(keys) + 1))
