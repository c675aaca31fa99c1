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
from treedb.store.kept_derived import KeptCheck
from treedb.store.kept_rules import Origin
from treedb.tree.patch import Patch
from treedb.tree.values import Value
from treedb.writes.json_patch import JsonPatch, parse_json_patch
from treedb.writes.mend import Side
from treedb.writes.merge_patch import MergePatch, parse_merge_patch
from treedb.writes.place_value import normal_at


@dataclass(frozen=True, slots=True)
class Write:
    """One request to change the tree, all or nothing.

    `changes` are absolute and disjoint, their values in normal form with server values still
    unresolved; a path may end in ".priority". `path` is the place the client named. A write with
    `expected_hash` is a transaction: it holds only while the value at `path` has that hash. What a
    `patching` comes to is found out when the write is planned, and then there are no `changes`.
    `nodes` counts the leaves and objects as they were given.
    """

    path: Path
    changes: tuple[tuple[Path, Value], ...]
    has_server_values: bool = False
    caller: Caller = NOBODY
    expected_hash: str | None = None
    write_id: str | None = None
    operation: str = "set"
    patching: JsonPatch | MergePatch | None = None
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class RulesChange:
    """A request to put other rules in force; only an administrator may make it.

    At revision `agreed_at` the data agreed with their mirrors and counts; None if nobody looked.
    With a `side` the data need not agree: what that side leaves undecided was looked for, and the
    rest is brought to agree when the rules are in force.
    """

    text: str
    origin: Origin
    agreed_at: int | None = None
    side: Side | None = None


@dataclass(frozen=True, slots=True)
class KeepCheck:
    """A request to keep what a check of derived data found; nothing else changes."""

    check: KeptCheck


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
    normal = normal_at(path, raw, limits)
    changes = ((path, normal.value),)
    has_server_values, nodes = normal.has_server_values, normal.nodes
    return Write(path, changes, has_server_values, caller, expected_hash, nodes=nodes)


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
        normal = normal_at(path, member, limits)
        nodes += normal.nodes
        has_server_values |= normal.has_server_values
        changes.append((path, normal.value))
    if nodes > limits.nodes_per_write:
        raise PayloadTooLarge(
            f"the update holds {nodes} nodes, at most {limits.nodes_per_write} are allowed; "
            "send it in several updates"
        )
    disjoint = Patch.of(changes).changes
    return Write(base, disjoint, has_server_values, caller, operation="update", nodes=nodes)


def json_patch_write(
    base: Path,
    raw: object,
    limits: Limits,
    *,
    caller: Caller = NOBODY,
    expected_hash: str | None = None,
) -> Write:
    """Ask for the operations of a JSON Patch to be done on the value at a place, all or none.

    Raises what `parse_json_patch` raises.
    """
    patching = parse_json_patch(base, raw, limits)
    return Write(base, (), False, caller, expected_hash, None, "patch", patching, patching.nodes)


def merge_patch_write(
    base: Path,
    raw: object,
    limits: Limits,
    *,
    caller: Caller = NOBODY,
    expected_hash: str | None = None,
) -> Write:
    """Ask for a JSON Merge Patch of the value at a place.

    Raises what `parse_merge_patch` raises.
    """
    patching = parse_merge_patch(base, raw, limits)
    has_server_values, nodes = patching.has_server_values, patching.nodes
    return Write(base, (), has_server_values, caller, expected_hash, None, "merge", patching, nodes)


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


def _kind(raw: object) -> str:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if raw is None else kinds.get(type(raw), "a number")
