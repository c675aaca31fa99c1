"""Turn what a listener learns to the ready frames that tell a client."""

from treedb.sync.delivery import Delivery, Merge, Overwrite
from treedb.tree.json_text import format_json
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames


def delivery_frames(delivery: Delivery, tag: int | None) -> bytes:
    """Return the frames that tell of a delivery under a tag.

    The change is made JSON once, whoever asks, and framed once for each tag: all plain listens
    share their frames, and so do clients that happened to choose the same tag.
    """
    return delivery.encoded(tag, lambda: ready_frames(_message(delivery, tag)))


def _message(delivery: Delivery, tag: int | None) -> bytes:
    message = delivery.encoded("message", lambda: _untagged(delivery))
    return message if tag is None else outgoing.tagged(message, tag)


def _untagged(delivery: Delivery) -> bytes:
    match delivery.change:
        case Overwrite(path, value):
            return outgoing.overwrite(path, format_json(value))
        case Merge(path, changes):
            members = {"/".join(keys): value for keys, value in changes}
            return outgoing.merge(path, format_json(members))
