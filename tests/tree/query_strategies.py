"""Random lists, and query objects about them, in which much meets: few keys, few values."""

from typing import Any

from hypothesis import strategies as st

from tests.tree.strategies import KEYS, normal, priorities
from treedb.tree.values import Value

ORDERS = (".key", ".value", ".priority", "i", "i/j", "0")
LEAVES = (False, True, 0, 1, 1.5, -1, 2**53 + 2, "", "1", "x", "z", "\U0001f600", "\ue000")

keys = st.sampled_from(KEYS)
leaves = st.sampled_from(LEAVES)
inner_keys = st.sampled_from(("i", "j", "0", "n"))


def _with_priority(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def put(value: Any, priority: Any) -> Any:
        if isinstance(value, dict):
            return {**value, ".priority": priority}
        return {".value": value, ".priority": priority}

    return inner | st.builds(put, inner, priorities)


_leaf_nodes = _with_priority(leaves)
_records = _with_priority(st.dictionaries(inner_keys, _leaf_nodes, min_size=1, max_size=3))
_deep_records = _with_priority(
    st.dictionaries(inner_keys, _leaf_nodes | _records, min_size=1, max_size=3)
)
# What stands in a list; never nothing.
nodes = (_leaf_nodes | _records | _deep_records).map(normal)
members: st.SearchStrategy[dict[str, Value]] = st.dictionaries(keys, nodes, max_size=9)
lists = members.map(normal)
# What stands where a list is expected: mostly one.
places = lists | lists | st.none() | _leaf_nodes.map(normal)

bound_keys = keys | st.sampled_from(
    ("", " ", "aa", "zz", "9", "-5", "[MIN_NAME]", "[MAX_NAME]", "[MIN_KEY]", "[MAX_KEY]")
)


@st.composite
def query_objects(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a query object that filters, as a client may send it."""
    order = draw(st.sampled_from(ORDERS))
    query: dict[str, Any] = {} if order == ".priority" and draw(st.booleans()) else {"i": order}
    for value, key, side in (("sp", "sn", "sin"), ("ep", "en", "ein")):
        if not draw(st.booleans()):
            continue
        query[value] = draw(bound_keys if order == ".key" else st.none() | leaves)
        if order != ".key" and draw(st.booleans()):
            query[key] = draw(bound_keys)
        if draw(st.booleans()):
            query[side] = draw(st.booleans())
    if draw(st.booleans()) or not {"sp", "ep"} & query.keys():
        query["l"] = draw(st.integers(1, 5))
        if draw(st.booleans()):
            query["vf"] = draw(st.sampled_from("lr"))
    return query
