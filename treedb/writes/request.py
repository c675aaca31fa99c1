"""What a client asks to be written, checked once for every transport.

REST and the realtime protocol both come here with the JSON they parsed, so the same body gets the
same verdict from both.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from treedb.auth.identity import Auth
from treedb.config import Limits
from treedb.errors import InvalidData, InvalidPath, NotAnObject, PayloadTooLarge, TooDeep
from treedb.paths.path import Path
from treedb.rules.authority import NOBODY, Caller
from treedb.store.kept_rules import Origin
from treedb.tree.patch import Patch
from treedb.tree.values import Value, normal_form


@dataclass(frozen=True, slots=True)
class Write:
    """One request to change the tree, all or nothing.

    `changes` are absolute and disjoint, their values in normal form with server values still
    unresolved; a path may end in ".priority". `path` is the place the client named. A write with
    `expected_hash` is a transaction: it holds only while the value at `path` has that hash.
    """

    path: Path
    changes: tuple[tuple[Path, Value], ...]
    has_server_values: bool = False
    caller: Caller = NOBODY
    expected_hash: str | None = None
    write_id: str | None = None
    operation: str = "set"


@dataclass(frozen=True, slots=True)
class RulesChange:
    """A request to put other rules in force; only an administrator may make it.

    At revision `agreed_at` the data agreed with their mirrors and counts; None if nobody looked.
    """

    text: str
    origin: Origin
    agreed_at: int | None = None


@dataclass(frozen=True, slots=True)
class KeepOnDisconnect:
    """A request to make a write when a session ends; it is refused if it may not be made now."""

    session_id: str
    write: Write


@dataclass(frozen=True, slots=True)
class CancelOnDisconnect:
    """A request to forget what was to be written at a place, and below, when a session ends."""

    session_id: str
    path: Path


@dataclass(frozen=True, slots=True)
class ActAs:
    """A request to let a session end as somebody else."""

    session_id: str
    auth: Auth | None


@dataclass(frozen=True, slots=True)
class EndSession:
    """A request to write, in one commit, what waits for the end of a session."""

    session_id: str


SessionRequest = KeepOnDisconnect | CancelOnDisconnect | ActAs | EndSession


def set_write(
    path: Path,
    raw: object,
    limits: Limits,
    *,
    caller: Caller = NOBODY,
    expected_hash: str | None = None,
) -> Write:
    """Ask for `raw`, JSON as parsed, to become the value at a place; None removes.

    A path ending in ".priority" sets a priority. Raises InvalidData, TooDeep, StringTooLong or
    TooManyNodes, each naming the place in the value.
    """
    value, has_server_values, _ = _checked(path, raw, limits)
    return Write(path, ((path, value),), has_server_values, caller, expected_hash)


def update_write(base: Path, raw: object, limits: Limits, *, caller: Caller = NOBODY) -> Write:
    """Ask for several places at or below `base` to change together, and the rest to stay.

    `raw` is an object whose keys are relative paths ("a", "a/b", "a/.priority") and whose values
    are what they become. Raises NotAnObject, ConflictingPaths, PayloadTooLarge and what
    `set_write` raises.
    """
    if not isinstance(raw, dict):
        raise NotAnObject(
            f"an update of {base} takes an object of relative paths and values, found "
            f"{_kind(raw)}; to replace the whole value use set (PUT)"
        )
    if len(raw) > limits.paths_per_update:
        raise PayloadTooLarge(
            f"the update names {len(raw)} paths, at most {limits.paths_per_update} are allowed; "
            "send it in several updates"
        )
    changes = []
    has_server_values = False
    nodes = 0
    for path, member in _members(base, raw, limits):
        value, holds, count = _checked(path, member, limits)
        nodes += count
        has_server_values |= holds
        changes.append((path, value))
    if nodes > limits.nodes_per_write:
        raise PayloadTooLarge(
            f"the update holds {nodes} nodes, at most {limits.nodes_per_write} are allowed; "
            "send it in several updates"
        )
    disjoint = Patch.of(changes).changes
    return Write(base, disjoint, has_server_values, caller, operation="update")


def _members(
    base: Path, raw: dict[object, object], limits: Limits
) -> Iterator[tuple[Path, object]]:
    for text, member in raw.items():
        assert isinstance(text, str), "JSON keys are strings"
        try:
            relative = Path.parse(text, allow_priority=True)
        except InvalidPath as error:
            raise InvalidData(f"the update of {base} names {text!r}: {error.reason}") from error
        path = base.join(relative.keys)
        if path.depth > limits.depth:
            raise TooDeep(
                f"the update of {base} names {text!r}, {path.depth} levels below the root; "
                f"at most {limits.depth} are allowed"
            )
        if not relative.keys:
            raise InvalidData(f"the update of {base} names an empty path: name a child")
        yield path, member


def _checked(path: Path, raw: object, limits: Limits) -> tuple[Value, bool, int]:
    if not path.is_priority:
        normal = normal_form(raw, path.depth, limits)
        return normal.value, normal.has_server_values, normal.nodes
    # A priority is checked where it may stand: beside a value.
    normal = normal_form({".value": True, ".priority": raw}, path.depth, limits)
    value = normal.value
    priority = value.get(".priority") if isinstance(value, dict) else None
    return priority, normal.has_server_values, 1


def _kind(raw: object) -> str:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if raw is None else kinds.get(type(raw), "a number")
