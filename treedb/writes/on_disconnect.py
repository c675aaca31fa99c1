"""What a client asked to be written when its connection ends: a sparse set of places and values.

No place of the set lies below another one, so that the whole set becomes one patch. What is asked
for below a place of the set changes the value that is waiting there; what is asked for above
replaces it:

    set /foo {"bar": 1, "baz": 2}      /foo {"bar": 1, "baz": 2}
    set /foo/bam 3                     /foo {"bar": 1, "baz": 2, "bam": 3}
    set /foo/baz null                  /foo {"bar": 1, "bam": 3}
    cancel /foo/bar                    /foo/bam 3

A cancel below an object that waits parts it into its children, which are then set one by one:
nothing may touch the cancelled place, and a set of the whole would. A removal that waits is an
object without children, so nothing is left of it; a leaf has nothing below to cancel. All this is
how the JavaScript SDK keeps its own copy (`SparseSnapshotTree`).

The values are in normal form but for their server values, which stay as they are until the
connection ends.
"""

from collections.abc import Iterator

from treedb.config import Limits
from treedb.errors import PayloadTooLarge, TreeError
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import Authority, Caller
from treedb.store.kept_sessions import Entries, KeptSession, encode_session
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.tree.server_values import resolve_at
from treedb.tree.values import Value, children, is_object, with_value_at
from treedb.writes.derive import derive
from treedb.writes.plan import plan
from treedb.writes.request import Write


def encode_checked(session: KeptSession, limits: Limits) -> bytes:
    """Return a session as it is kept; PayloadTooLarge when more waits than a connection may have."""
    most, count = limits.on_disconnects_per_connection, len(session.entries)
    if count > most:
        raise PayloadTooLarge(
            f"{count} places would wait for the end of this connection, at most {most} are "
            "allowed; set one place above several of them"
        )
    raw = encode_session(session)
    if len(raw) > limits.on_disconnect_bytes:
        raise PayloadTooLarge(
            f"What waits for the end of this connection would take {len(raw)} bytes, at most "
            f"{limits.on_disconnect_bytes} are allowed; have less written then"
        )
    return raw


def with_set(entries: Entries, path: Path, value: Value) -> Entries:
    """Return the set after a set of one place; None removes."""
    above = _above(entries, path)
    if above is not None:
        return {**entries, above: with_value_at(entries[above], above.relative(path), value)}
    return {**_outside(entries, path), path: value}


def with_cancel(entries: Entries, path: Path) -> Entries:
    """Return the set after whatever waits at a place and below is forgotten."""
    above = _above(entries, path)
    if above is None:
        return _outside(entries, path)
    parted = dict(_parted(above, entries[above], path))
    return {**_outside(entries, above), **parted}


def plan_end(session: KeptSession, reader: Reader, authority: Authority, now_ms: int) -> Patch:
    """Return what the end of a session comes to, for whom it was last.

    All of it if it may be written together. Else each place is asked about by itself, on the tree
    as it is; what is denied, or cannot be, is left out. A credential counts that was good while
    the session lasted.
    """
    caller = Caller(session.auth)
    together = Write(ROOT, tuple(session.entries.items()), has_server_values=True, caller=caller)
    try:
        return plan(together, reader, authority, now_ms).patch
    except TreeError:
        pass  # each by itself, then
    changes: list[tuple[Path, Value]] = []
    for path, value in session.entries.items():
        try:
            resolved = resolve_at(path, value, reader, now_ms)
            plan(Write(path, ((path, resolved),), caller=caller), reader, authority, now_ms)
        except TreeError:
            continue
        changes.append((path, resolved))
    return _derived(changes, reader, authority)


def _derived(changes: list[tuple[Path, Value]], reader: Reader, authority: Authority) -> Patch:
    """Return changes as one patch, with all that they bring with them together.

    Places that contradict one another, as two sides of a mirror may, are left out but for the
    first: a session must be able to end.
    """
    try:
        return derive(Patch.of(changes), reader, authority.ruleset)
    except TreeError:
        patch, agreeing = Patch(()), list[tuple[Path, Value]]()
    for change in changes:
        try:
            patch = derive(Patch.of([*agreeing, change]), reader, authority.ruleset)
        except TreeError:
            continue
        agreeing.append(change)
    return patch


def _above(entries: Entries, path: Path) -> Path | None:
    """Find the one place of the set that a path lies below."""
    for depth in range(len(path.keys)):
        place = Path(path.keys[:depth])
        if place in entries:
            return place
    return None


def _outside(entries: Entries, path: Path) -> Entries:
    return {place: value for place, value in entries.items() if not path.contains(place)}


def _parted(place: Path, value: Value, cancelled: Path) -> Iterator[tuple[Path, Value]]:
    """Yield what still waits of a value once a place below it is cancelled."""
    if value is not None and not is_object(value):
        yield place, value
        return
    for key, child in children(value):
        below = place.child(key)
        if cancelled.contains(below):
            continue
        if below.contains(cancelled):
            yield from _parted(below, child, cancelled)
        else:
            yield below, child
