"""Turn what a listener learns to the ready frames that tell a client."""

from treedb.sync.delivery import Delivery, Merge, Overwrite
from treedb.tree.json_text import format_json
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames


def encode_delivery(delivery: Delivery) -> bytes:
    """Return the frames of one delivery; given to `Delivery.encoded`, which asks but once."""
    match delivery.change:
        case Overwrite(path, value):
            return ready_frames(outgoing.overwrite(path, format_json(value)))
        case Merge(path, changes):
            members = {"/".join(keys): value for keys, value in changes}
            return ready_frames(outgoing.merge(path, format_json(members)))
