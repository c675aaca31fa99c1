"""The header that has a browser save an answer as a file (RFC 6266, RFC 8187)."""

import re
from typing import Final
from urllib.parse import quote

MOST_CHARACTERS: Final = 100  # file systems take 255 bytes of a name
NAMELESS: Final = "download.json"

_each_unprintable: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
).sub
_each_unquotable: Final = re.compile(r"[^ !#-$&-\[\]-~]").sub


def content_disposition(wanted: str) -> str:
    """Return the header's value for a file name that somebody wants.

    What would lead to another folder or hide the name's ending is left out. A name beyond ASCII
    is given twice, for programs that do not know the second way.
    """
    name = _each_unprintable("", re.split(r"[/\\]", wanted)[-1]).strip(" .")[:MOST_CHARACTERS]
    name = name or NAMELESS
    plain = _each_unquotable("_", name)
    value = f'attachment; filename="{plain}"'
    if plain == name:
        return value
    return f"{value}; filename*=UTF-8''{quote(name, safe='')}"
