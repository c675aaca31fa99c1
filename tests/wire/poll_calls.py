"""What the JavaScript SDK makes of its messages when it polls."""

import base64

from treedb.wire.poll import Segment


def encoded(text: str) -> str:
    """Encode as the JavaScript SDK does."""
    return base64.b64encode(text.encode(), b"-_").decode().replace("=", ".")


def cut(texts: list[str], size: int) -> list[Segment]:
    """Cut messages to numbered segments as the JavaScript SDK does."""
    segments: list[Segment] = []
    for text in texts:
        data = encoded(text)
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        segments += [
            Segment(len(segments) + index, len(pieces), piece) for index, piece in enumerate(pieces)
        ]
    return segments
