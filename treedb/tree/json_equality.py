"""When two texts of JSON say the same, as RFC 6902 has it (section 4.6).

Objects are equal whatever the order of their members, arrays item by item, numbers by their value
as doubles, and everything else when it is the same of the same kind: true is not 1, null is only
null.
"""

from treedb.tree.values import canonical_number


def same_json(one: object, other: object) -> bool:
    """Tell whether two pieces of parsed JSON are equal."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same_json(child, other[key]) for key, child in one.items())
        )
    if isinstance(one, list):
        return (
            isinstance(other, list) and len(one) == len(other) and all(map(same_json, one, other))
        )
    if _is_number(one) and _is_number(other):
        assert isinstance(one, int | float), "just asked"
        assert isinstance(other, int | float), "just asked"
        return canonical_number(one) == canonical_number(other)
    return type(one) is type(other) and one == other


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
