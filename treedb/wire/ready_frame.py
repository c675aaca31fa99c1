"""Frame a server's message once, so that the same bytes can be written to every socket.

A ready frame is a complete RFC 6455 text frame as a server sends it: final, unmasked, not
compressed. It belongs to no connection, which is what makes a fan-out cheap: one encoding,
one framing, and one `transport.write` for each listener.

Clients take messages of at most 16,384 UTF-16 units in one frame (the Java SDK takes no more
than 64 KiB); longer ones are announced by a frame with the number of segments. We cut at 16,384
*bytes* of UTF-8 at the most, never inside a character: no text has more UTF-16 units than bytes,
so every segment keeps the limit, and the cut needs no decoding.
"""

from collections.abc import Iterator

SEGMENT_BYTES = 16_384
_TEXT = 0x81  # FIN and opcode 1
_FULL_SEGMENT = bytes((_TEXT, 126)) + SEGMENT_BYTES.to_bytes(2, "big")


def ready_frames(message: bytes) -> bytes:
    """Return the frames of one JSON message, segmented where it is long, ready to be written."""
    if len(message) <= SEGMENT_BYTES:
        return _text_frame(message)
    pieces: list[bytes | memoryview] = [b""]
    view = memoryview(message)
    count = 0
    for start, end in _cuts(message):
        pieces.append(_header(end - start))
        pieces.append(view[start:end])
        count += 1
    pieces[0] = _text_frame(b"%d" % count)
    return b"".join(pieces)


def frame_texts(ready: bytes) -> Iterator[str]:
    """Yield the texts of ready frames: what a server without our door has to send."""
    position = 0
    while position < len(ready):
        assert ready[position] == _TEXT, "only ready frames are taken apart"
        start, size = _parse_size(ready, position + 1)
        position = start + size
        yield ready[start:position].decode()


def _text_frame(payload: bytes) -> bytes:
    return _header(len(payload)) + payload


def _header(size: int) -> bytes:
    if size == SEGMENT_BYTES:
        return _FULL_SEGMENT
    if size < 126:
        return bytes((_TEXT, size))
    return bytes((_TEXT, 126)) + size.to_bytes(2, "big")


def _parse_size(ready: bytes, position: int) -> tuple[int, int]:
    size = ready[position]
    if size < 126:
        return position + 1, size
    return position + 3, int.from_bytes(ready[position + 1 : position + 3], "big")


def _cuts(message: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(message):
        end = min(start + SEGMENT_BYTES, len(message))
        while end < len(message) and message[end] & 0xC0 == 0x80:
            end -= 1  # inside a character: step back to its first byte
        yield start, end
        start = end
