"""Write server-sent events: what happens at a place, and the id that a client comes back with.

    id: 12-1763776890123                          everything up to here has been told
    event: put                                    the value at a path below the place is now this
    data: {"path":"/","data":{"a":1}}

    event: patch                                  these places below it changed together
    data: {"path":"/","data":{"b/c":2,"a":null}}

    event: keep-alive                             nothing happened for a while
    event: cancel                                 the place may not be read any more; the end
    event: auth_revoked                           the credential has expired; the end

The id is a bookmark. It comes first, so that an event that is cut in the middle leaves a client
that keeps whole lines, as firebase-admin's does, with nothing that it would put twice into the
event that it gets in its place. Source: Firebase's "Streaming from the REST API", and the HTML
standard, section 9.2.
"""

from typing import Any, Final

from treedb.sync.delivery import Delivery, Merge, Overwrite
from treedb.tree.arrays import in_form, to_plain
from treedb.tree.bookmark import Bookmark
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json, parse_json

CANCEL: Final = b"event: cancel\ndata: null\n\n"
REVOKED: Final = b"event: auth_revoked\ndata: credential is no longer valid\n\n"
_KEEP_ALIVE: Final = b"event: keep-alive\ndata: null\n\n"


def event_of(delivery: Delivery, form: Form) -> bytes:
    """Return a delivery as an event, nothing where only priorities changed that are not shown."""
    return delivery.encoded(("event", form), lambda: _encoded(delivery, form))


def first_event(text: bytes, bookmark: Bookmark) -> bytes:
    """Return the event that a stream begins with, of the JSON text of its value."""
    return _event(b"put", b'{"path":"/","data":%b}' % text, bookmark)


def keep_alive(bookmark: Bookmark | None) -> bytes:
    """Return the event that says nothing, but maybe up to where the stream is."""
    return _KEEP_ALIVE if bookmark is None else _event(b"keep-alive", b"null", bookmark)


def plain_text(text: bytes) -> bytes:
    """Return the JSON text of an export without its priorities."""
    value: Any = parse_json(text)  # our own text, so it is in normal form
    return format_json(to_plain(value))


def _encoded(delivery: Delivery, form: Form) -> bytes:
    match delivery.change:
        case Overwrite(path, value):
            if form is Form.PLAIN and path.is_priority:
                return b""
            place = "/" + "/".join(delivery.place.relative(path))
            data = {"path": place, "data": in_form(value, form)}
            return _event(b"put", format_json(data), delivery.bookmark)
        case Merge(_, changes):
            members = {
                "/".join(keys): in_form(value, form)
                for keys, value in changes
                if form is Form.EXPORT or keys[-1] != ".priority"
            }
            if not members:
                return b""
            data = {"path": "/", "data": members}
            return _event(b"patch", format_json(data), delivery.bookmark)


def _event(name: bytes, data: bytes, bookmark: Bookmark) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (str(bookmark).encode(), name, data)
