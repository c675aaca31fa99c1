"""JSONP: an answer as JavaScript that calls a function of the page which asks.

A page could so read across origins before there was CORS. It is off by default, and what it
answers is never more than the request's own credential may read: there are no cookies.
"""

from typing import Final

JAVASCRIPT: Final = "application/javascript; charset=utf-8"


def as_script(callback: str, pieces: list[bytes]) -> bytes:
    """Return JSON text as the text of a call.

    The comment in front keeps the caller from choosing the first bytes, which some readers go by
    rather than by the type; two line ends that JSON allows end a line in older JavaScript.
    """
    text = (
        b"".join(pieces).replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    )
    return b"/**/%b(%b);" % (callback.encode(), text)
