"""JSON text in and out, strictly.

The parser takes neither NaN nor infinities, numbers beyond a double, lone surrogates, bad UTF-8,
a byte order mark, control characters in strings, nor more than 1,024 levels; of members with the
same key the last counts.
"""

import orjson

from treedb.errors import InvalidJson, NoData


def parse_json(body: bytes) -> object:
    """Parse one JSON text; NoData when it is empty, InvalidJson telling where it is wrong."""
    if not body:
        raise NoData
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidJson(f"the text is no JSON: {error}") from None


def format_json(value: object) -> bytes:
    """Write a value, or its plain form, as compact JSON in UTF-8."""
    return orjson.dumps(value)
