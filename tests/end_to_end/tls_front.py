"""A TLS front of the tests' own before a server, as a proxy stands before one in production.

The admin SDKs send their real credentials over https only. Bytes go through as they are, so that
the server sees the `Host` that the client dialled.
"""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

NAME: Final = "localhost"
HOST: Final = "127.0.0.1"
CHUNK_BYTES: Final = 65536


@dataclass(frozen=True, slots=True)
class TlsFront:
    """Where the front is, and the file with the certificate that its clients have to trust."""

    url: str
    certificate: Path


@contextmanager
def tls_front(port: int, folder: Path) -> Iterator[TlsFront]:
    """Serve https before a port of this machine; the certificate is made in the folder."""
    certificate = make_certificate(folder)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="tls-front")
    thread.start()
    try:
        serving = asyncio.run_coroutine_threadsafe(_serve(port, certificate), loop).result(10)
        own_port = serving.sockets[0].getsockname()[1]
        yield TlsFront(f"https://{NAME}:{own_port}", certificate)
        asyncio.run_coroutine_threadsafe(_end(serving), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _serve(port: int, certificate: Path) -> asyncio.Server:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def pass_through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(HOST, port)
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))

    return await asyncio.start_server(pass_through, HOST, 0, ssl=context)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until one side ends, then end the other."""
    try:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    except (OSError, asyncio.CancelledError):
        return  # a client that is gone, or the end of the test
    finally:
        writer.close()


async def _end(serving: asyncio.Server) -> None:
    serving.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def make_certificate(folder: Path) -> Path:
    """Make a certificate that signs itself, for today; return the file that has it and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(
        certificate.public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return path
