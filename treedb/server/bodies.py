"""Request bodies: read whole, within the limit, whatever their content type says."""

import asyncio
from typing import Final

from starlette.requests import Request

from treedb.errors import BodyTooLarge, UnsupportedEncoding

INLINE_BYTES: Final = 1024 * 1024  # longer bodies are joined on a thread


async def read_body(request: Request, most_bytes: int) -> bytes:
    """Return the body of a request.

    Raises BodyTooLarge as soon as the body is known to be longer than allowed, without reading
    any of it when its announced length says so, UnsupportedEncoding for a compressed one, and
    starlette's ClientDisconnect when it ends early.
    """
    _check_encoding(request)
    announced = request.headers.get("content-length")
    if announced is not None and int(announced) > most_bytes:
        raise _too_large(f"The body has {announced} bytes", most_bytes)
    pieces = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most_bytes:
            raise _too_large(f"The body has at least {size} bytes", most_bytes)
        pieces.append(piece)
    return _joined(pieces) if size <= INLINE_BYTES else await asyncio.to_thread(_joined, pieces)


def _joined(pieces: list[bytes]) -> bytes:
    """Join the pieces, and let go of them here: for a large body both take a while."""
    body = b"".join(pieces)
    pieces.clear()
    return body


def _check_encoding(request: Request) -> None:
    for encoding in request.headers.getlist("content-encoding"):
        if encoding.strip().lower() != "identity":
            raise UnsupportedEncoding("Send the body as it is, without Content-Encoding.")


def _too_large(found: str, most_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"{found}, at most {most_bytes} are allowed; send it in several writes.")
