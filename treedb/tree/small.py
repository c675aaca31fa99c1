"""Which values a codec is soon done with.

A codec keeps other threads waiting until it returns, so large values are handed to it in parts.
To weigh all of a large value would take longer than to encode it: a look ends after a few nodes.
"""

from typing import Any, Final

FEW: Final = 256
LONG_TEXT: Final = 4096


def is_small(value: object) -> bool:
    """Tell whether a value is a leaf, or an object or array of a few leaves without long texts."""
    if type(value) is not dict and type(value) is not list:
        return True
    seen = 0
    inner: list[Any] = [value]
    for container in inner:  # which grows meanwhile
        seen += len(container)
        if seen > FEW:
            return False
        for member in container.values() if type(container) is dict else container:
            kind = type(member)
            if kind is dict or kind is list:
                inner.append(member)
            elif kind is str and len(member) > LONG_TEXT:
                return False
    return True


def is_long_text(value: object) -> bool:
    """Tell whether a value is a text that is better handed to a codec alone."""
    return type(value) is str and len(value) > LONG_TEXT
