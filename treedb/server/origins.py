"""Whose pages may talk to the server: the origins that browsers tell with a request.

Pages of the server itself always may: their Origin names the host that the request is for. Others
may when the operator lists them, scheme, host and port, to the letter. Nobody is let in or kept
out by this alone: rights come from tokens. It keeps pages that a user happens to open from using
that user's browser, and the network it stands in, as a way to the server.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from treedb.server.hosts import ANY, parse_host

SHARING: Final = "treedb.sharing"  # where a request's scope has the headers that its origin gets
NO_PAGE: Final = "null"  # what browsers send for a page that has no origin to tell

_PORTS: Final = {"http": 80, "https": 443}
_is_origin: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]+)", re.IGNORECASE).fullmatch
_origin_in: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]+", re.IGNORECASE).match

Origin = tuple[str, str, int | None]  # scheme, host, and port, or None where its scheme has none


def parse_origin(text: str) -> Origin | None:
    """Read an Origin header's value, or an entry of the setting; None for what names no origin."""
    found = _is_origin(text)
    host = None if found is None else parse_host(found[2].encode())
    if found is None or host is None:
        return None
    scheme, (name, port) = found[1].lower(), host
    return scheme, name, _PORTS.get(scheme) if port is None else port


def page_of(referer: str | None, site: str | None) -> str | None:
    """Return the origin of the page that loads a script; None when nothing tells of a page.

    With scripts browsers send no Origin, but, unless the page forbids it, a Referer. Newer ones
    tell in Sec-Fetch-Site that the page is another's even then.
    """
    if referer is not None:
        found = _origin_in(referer)
        return NO_PAGE if found is None else found[0]
    return NO_PAGE if site in ("cross-site", "same-site") else None


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins that an operator lists."""

    allowed: frozenset[Origin]
    allows_any: bool

    @classmethod
    def of(cls, entries: Iterable[str], *, is_dev: bool) -> "Origins":
        """Make them of a setting that was read before; nothing listed is any in development."""
        every = tuple(entries)
        found = (parse_origin(each) for each in every)
        allowed = frozenset(each for each in found if each is not None)
        return cls(allowed, ANY in every or (is_dev and not every))

    def is_foreign(self, origin: str, host: bytes) -> bool:
        """Tell whether a page of an origin may not talk to us, who are asked for as `host`."""
        if self.allows_any:
            return False
        found = parse_origin(origin)
        return found is None or (found not in self.allowed and not _is_ours(found, host))

    def sharing(self, origin: str | None) -> dict[str, str]:
        """Return the headers that let a page of an allowed origin read the answer.

        `origin` is None where there is none, or a foreign one. Credentials of the browser are
        never allowed: there are no cookies that could count.
        """
        if self.allows_any:
            return {"Access-Control-Allow-Origin": "*"}
        if not self.allowed:
            return {}  # pages of our own need no header, so the answer is the same for all
        if origin is None:
            return {"Vary": "Origin"}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}


def _is_ours(origin: Origin, host: bytes) -> bool:
    scheme, name, port = origin
    asked = parse_host(host)
    if asked is None or scheme not in _PORTS:
        return False
    own_port = _PORTS[scheme] if asked[1] is None else asked[1]
    return (name, port) == (asked[0], own_port)
