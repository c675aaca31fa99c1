"""What rules see of a query. Source: Firebase's "Query-based rules"."""

from treedb.rules.scope import QueryVariables
from treedb.tree.order import value_sort_key
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE
from treedb.tree.values import Leaf


def query_variables(query: Query) -> QueryVariables:
    """Return the variable `query` of a read that asks this query."""
    order_by, start, end = query.order_by, query.start, query.end
    is_first = query.limit is not None and not query.keeps_last
    return QueryVariables(
        order_by_key=order_by == KEY,
        order_by_value=order_by == VALUE,
        order_by_priority=order_by == PRIORITY,
        order_by_child=order_by.name if order_by.keys else None,
        start_at=None if start is None else start.value,
        end_at=None if end is None else end.value,
        equal_to=_equal_to(query),
        limit_to_first=query.limit if is_first else None,
        limit_to_last=None if is_first else query.limit,
    )


def _equal_to(query: Query) -> Leaf | None:
    """Return the one value that both inclusive bounds name."""
    start, end = query.start, query.end
    if start is None or end is None or not start.is_inclusive or not end.is_inclusive:
        return None
    same = value_sort_key(start.value) == value_sort_key(end.value)  # true is not 1
    return start.value if same else None
