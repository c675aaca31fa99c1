"""Values cut off at a depth, for shallow reads."""

from treedb.tree.values import Value, children, is_object, leaf_of


def truncate(value: Value, levels: int) -> Value:
    """Return the value with every object `levels` levels down, or deeper, replaced by True.

    With 1 the children that are objects become True; leaves stay, without their priorities.
    """
    if not is_object(value):
        return leaf_of(value)
    if levels <= 0:
        return True
    return {key: truncate(child, levels - 1) for key, child in children(value)}
