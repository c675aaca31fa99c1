"""What may become of one child of a window by a commit, judged by the commit alone.

A window keeps no values, so a change below a child leaves doubts: was there anything at all
before, and is anything left? Every possible answer is a *fate*: what orders the child afterwards,
or None where it does not exist, or stands outside as before. One fate is knowledge. Several are a
doubt, which may still make no difference to the window.

Worked examples, children ordered by "ts", a held one with the number 1 there:

    change             held          not held
    k = {"ts": 5}      5             5
    k/ts = 5           5             5
    k/ts = null        null, None    null, None    it may have had nothing else
    k/text = "hi"      1             null, None    either it is new, or it is outside already
    k/text = null      1             None          its number keeps the held one alive
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from treedb.paths.path import PRIORITY_KEY
from treedb.tree.order import SortKey, priority_sort_key, value_sort_key
from treedb.tree.query_order import KEY, PRIORITY, VALUE, OrderBy
from treedb.tree.values import Value, value_at

# A child's changes in one commit: relative keys and values, in the order to apply them.
ChildChanges: TypeAlias = Sequence[tuple[tuple[str, ...], Value]]
Fates: TypeAlias = frozenset[SortKey | None]

NULL: Final[SortKey] = value_sort_key(None)
OBJECT: Final[SortKey] = value_sort_key({"any": True})


def fates_of(order_by: OrderBy, held: SortKey | None, changes: ChildChanges) -> Fates:
    """Return what may order a child after its changes.

    `held` is what ordered it before, None for a child that is not held: that one did not exist,
    or it stood outside.
    """
    if changes[0][0] == ():
        value = changes[0][1]
        return frozenset((None if value is None else order_by.sort_key(value),))
    values = [(keys, value) for keys, value in changes if keys[-1] != PRIORITY_KEY]
    is_set = any(value is not None for _, value in values)
    found = _moved(order_by, held, changes, values)
    if found is None:
        found = frozenset((held, NULL) if held is None and is_set else (held,))
    if is_set:
        return found
    # Nothing was put there. What was not there still is not; of what was, nothing may be left.
    may_be_emptied = bool(values) and not all(_proves_life(order_by, fate) for fate in found)
    return found | {None} if held is None or may_be_emptied else found


def _moved(
    order_by: OrderBy, held: SortKey | None, changes: ChildChanges, values: ChildChanges
) -> Fates | None:
    """Return what orders the child by its changes; None where it stands where it stood."""
    if order_by == KEY:
        is_set = any(value is not None for _, value in values)
        # Where it stood is where it would stand: inside, only a new child is not held.
        return frozenset((order_by.sort_key(None),)) if is_set else None
    if order_by == PRIORITY:
        priorities = [value for keys, value in changes if keys == (PRIORITY_KEY,)]
        return frozenset(_priority_order(each) for each in priorities) or None
    if order_by == VALUE:
        return frozenset((OBJECT,)) if any(value is not None for _, value in values) else None
    return _moved_below(order_by.keys, held, values)


def _priority_order(priority: Value) -> SortKey:
    return priority_sort_key({".priority": priority})


def _moved_below(
    place: tuple[str, ...], held: SortKey | None, values: ChildChanges
) -> Fates | None:
    """Do the same for children ordered by what lies at a place in them."""
    below = []
    for keys, value in values:
        if place[: len(keys)] == keys:
            return frozenset((value_sort_key(value_at(value, place[len(keys) :])),))
        if keys[: len(place)] == place:
            below.append(value)
    if any(value is not None for value in below):
        return frozenset((OBJECT,))
    # Something was removed from what orders the child: a leaf does not mind, an object may have
    # had nothing else.
    if below and held in (None, OBJECT):
        return frozenset((held, NULL))
    return None


def _proves_life(order_by: OrderBy, fate: SortKey | None) -> bool:
    """Tell whether what orders a child afterwards shows that there is one, after removals."""
    if order_by == VALUE:
        return fate != OBJECT  # a leaf, and leaves have no children to remove
    return bool(order_by.keys) and fate != NULL
