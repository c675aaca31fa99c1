"""Put the rows of one subtree together again, as a value (as JSON text: subtree_json.py).

They come slice by slice in key order, so that a large value can be read with the event loop's other
work in between. Worked example, for the place /rooms:

    rows    /rooms/one          {"name": "Alpha"}
            /rooms/two (priority only)      5
            /rooms/two/members  {"mchen": true}
    value   {"one": {"name": "Alpha"}, "two": {".priority": 5, "members": {"mchen": true}}}
"""

from msgpack import unpackb

from treedb.paths.order import decode_key, decode_text_keys
from treedb.store.codec import PRIORITY, SHORTENED, decode_row
from treedb.store.cursor import Row
from treedb.tree.values import Value


class Assembly:
    """Collect the rows below one place into its value in export form."""

    def __init__(self, prefix: bytes) -> None:
        self._base = len(prefix)
        self._prefix = prefix
        self._root: dict[str, Value] = {}
        self._node = self._root

    def add(self, rows: list[Row]) -> None:
        """Take the next rows in key order."""
        keys = keys_of_children(rows, self._prefix)
        if keys is not None:
            self._node.update(zip(keys, values_of(rows), strict=True))
            return
        for full, raw in rows:
            self._add_one(full, raw)

    def _add_one(self, full: bytes, raw: bytes) -> None:
        if not full.startswith(self._prefix):
            self._prefix, self._node = full[: self._base], self._root
        position = len(self._prefix)
        while full[position:] != PRIORITY:
            key, end = decode_key(full, position)
            if end == len(full):
                self._node[key] = decode_row(raw)
                return
            child = self._node.setdefault(key, {})
            assert isinstance(child, dict), "rows never nest"
            self._prefix, self._node, position = full[:end], child, end
        self._node[".priority"] = decode_row(raw)

    @property
    def value(self) -> Value:
        """Return what the rows came to."""
        return self._root or None


def keys_of_children(rows: list[Row], prefix: bytes) -> list[str] | None:
    """Return the rows' last keys when all are plain children of one place, else None.

    In a list of records nearly every slice is such, and then one decode does for all its keys.
    """
    start = len(prefix)
    if not (rows[0][0].startswith(prefix) and rows[-1][0].startswith(prefix)):
        return None
    if any(raw[0] & SHORTENED for _, raw in rows):
        return None
    return decode_text_keys([full[start:] for full, _ in rows])


def values_of(rows: list[Row]) -> list[Value]:
    """Return the values of rows whose keys are not shortened."""
    return [unpackb(raw[1:]) for _, raw in rows]
