"""Plan a write: what it comes to on the tree as it is, or why it is refused.

All policy of writing is here, and it is pure: the writer asks it inside the write transaction, so
what it reads is what the write will change.
"""

from dataclasses import dataclass
from functools import partial

from treedb.errors import DataStale, NoSuchNode, TreeError
from treedb.paths.path import Path
from treedb.rules.authority import Authority, Operation
from treedb.tree.hashing import matches_hash
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.tree.server_values import resolve_at
from treedb.tree.values import Value
from treedb.writes.derive import derive
from treedb.writes.json_patch import JsonPatch
from treedb.writes.merge_patch import MergePatch
from treedb.writes.request import Write


@dataclass(frozen=True, slots=True)
class Planned:
    """What a write comes to: the patch, and the places in it that the client named."""

    patch: Patch
    named: tuple[Path, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """Return what the named places become; what was derived is no answer to what was asked."""
        became = dict(self.patch.changes)
        return tuple(became[path] for path in self.named)


def plan(write: Write, reader: Reader, authority: Authority, now_ms: int) -> Planned:
    """Return what a write comes to; an empty patch when there is nothing to change.

    Raises DataStale when a transaction's hash no longer holds, PatchConflict when an operation of
    a JSON Patch cannot be done, NoSuchNode for the priority of nothing, NotFinite for an increment
    that overflows, PermissionDenied when the rules do not let the caller. A refused write changes
    nothing.
    """
    _check_hash(write, reader)
    changes = _changes(write, reader, authority, now_ms)
    if write.has_server_values:
        # Increments count from the tree before this write, all of them.
        changes = tuple((path, resolve_at(path, value, reader, now_ms)) for path, value in changes)
    named = Patch(changes)
    operation = Operation(write.operation, write.path)
    permit = partial(authority.permit_write, before=reader, caller=write.caller, now_ms=now_ms)
    try:
        patch = derive(named, reader, authority.ruleset)
    except TreeError:
        # What contradicts a mirror tells something of the tree: only to who may write there.
        permit(named, operation=operation)
        raise
    paths = tuple(path for path, _ in changes)
    permit(patch, operation=operation, named=paths)
    # Only after the rules: who may not write there must not learn whether something is there.
    for path, value in changes:
        if path.is_priority and value is not None:
            _check_owner(path, reader)
    return Planned(patch, paths)


def _changes(
    write: Write, reader: Reader, authority: Authority, now_ms: int
) -> tuple[tuple[Path, Value], ...]:
    """Return the places that a write asks to change; those of a patch are seen on the tree."""
    match write.patching:
        case None:
            return write.changes
        case JsonPatch() as patching:
            ask = partial(authority.permit_read, reader=reader, caller=write.caller, now_ms=now_ms)
            return patching.changes(write.path, reader, ask, now_ms)
        case MergePatch() as patching:
            return patching.changes(reader)


def _check_hash(write: Write, reader: Reader) -> None:
    if write.expected_hash is None:
        return
    if not matches_hash(reader.get(write.path), write.expected_hash):
        raise DataStale


def _check_owner(path: Path, reader: Reader) -> None:
    owner = path.parent
    assert owner is not None, "a priority has an owner"
    if not reader.exists(owner):
        raise NoSuchNode(
            f"there is nothing at {owner}, so it cannot have a priority; set its value first, or "
            'value and priority together: {".value": ..., ".priority": ...}'
        )
