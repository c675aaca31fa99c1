"""What is to be written at a place, in normal form: a value, or the priority of one."""

from treedb.config import Limits
from treedb.paths.path import PRIORITY_KEY, Path
from treedb.tree.values import Normal, normal_form


def normal_at(path: Path, raw: object, limits: Limits) -> Normal:
    """Bring JSON that is put at a place into normal form; the place may be a priority's.

    Raises InvalidData, TooDeep, StringTooLong or TooManyNodes, each naming the place in the value.
    """
    if not path.is_priority:
        return normal_form(raw, path.depth, limits)
    # A priority is checked where it may stand: beside a value.
    normal = normal_form({".value": True, PRIORITY_KEY: raw}, path.depth, limits)
    value = normal.value
    priority = value.get(PRIORITY_KEY) if isinstance(value, dict) else None
    return Normal(priority, normal.has_server_values, 1)
