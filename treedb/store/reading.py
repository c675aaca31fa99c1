"""Read a subtree of any size in slices, so that nobody waits for a large one.

Each function here is a generator: it yields where the caller may let others have their turn, and
returns what was read. Nothing of the answer is ready before its end.
"""

from collections.abc import Generator, Iterator
from typing import TypeVar

from treedb.config import Limits
from treedb.errors import TooBigToRead
from treedb.paths.order import encode_path
from treedb.paths.path import Path
from treedb.store.assembly import Assembly
from treedb.store.stored_tree import Inner, StoredTree
from treedb.store.subtree_json import json_chunks
from treedb.tree.forms import Form
from treedb.tree.truncation import truncate
from treedb.tree.values import Value, is_object, leaf_of

Result = TypeVar("Result")
Steps = Generator[None, None, Result]


def end_of(steps: Steps[Result]) -> Result:
    """Run steps to their end, when nobody waits for a turn; return what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def read_value(tree: StoredTree, path: Path, slice_rows: int) -> Steps[Value]:
    """Read the value at a place in export form, None when there is nothing."""
    slices = tree.slices_of(path, slice_rows)
    if slices is None:
        return tree.get(path)
    assembly = Assembly(encode_path(path.keys))
    for rows in slices:
        assembly.add(rows)
        yield
    return assembly.value


def read_json(
    tree: StoredTree, path: Path, form: Form, slice_rows: int, max_bytes: int
) -> Steps[list[bytes]]:
    """Read the value at a place as JSON text, in pieces; TooBigToRead past the limit."""
    pieces: list[bytes] = []
    size = 0
    for piece in json_chunks(tree, path, form, slice_rows):
        if pieces:
            yield
        size += len(piece)
        if size > max_bytes:
            raise too_big(max_bytes)
        pieces.append(piece)
    return pieces


def too_big(max_bytes: int) -> TooBigToRead:
    """Make the error of an answer that has too many bytes."""
    return TooBigToRead(
        f"the answer passes {max_bytes} bytes; read a deeper place, or use shallow=true or depth=N"
    )


def read_truncated(tree: StoredTree, path: Path, levels: int, limits: Limits) -> Steps[Value]:
    """Read the value with every object `levels` levels below the place as True.

    Below those levels nothing is read, so the answer costs what it holds; TooBigToRead when its
    keys alone pass the limit of an answer.
    """
    if tree.slices_of(path, 1) is None:
        return truncate(tree.get(path), levels)
    truncation = _Truncation(tree, limits)
    return (yield from truncation.object_of(tree.children(path), levels))


class _Truncation:
    """Read the upper levels of a subtree that stands above rows."""

    def __init__(self, tree: StoredTree, limits: Limits) -> None:
        self._tree = tree
        self._limits = limits
        self._count = 0
        self._size = 0

    def object_of(
        self, members: "Iterator[tuple[str, Value | Inner]]", levels: int
    ) -> Steps[Value]:
        result: dict[str, Value] = {}
        for key, child in members:
            result[key] = yield from self._child(child, levels - 1)
            self._size += len(key)
            if self._size > self._limits.answer_bytes:
                raise TooBigToRead(f"the keys alone pass {self._limits.answer_bytes} bytes")
            self._count += 1
            if self._count % self._limits.slice_rows == 0:
                yield
        return result or None

    def _child(self, child: "Value | Inner", levels: int) -> Steps[Value]:
        if isinstance(child, Inner):
            if not levels:
                return True
            return (yield from self.object_of(self._tree.children_of(child), levels))
        if not is_object(child):
            return leaf_of(child)
        return truncate(child, levels) if levels else True
