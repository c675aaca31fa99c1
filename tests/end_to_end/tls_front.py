"""A TLS front of the tests' own before a server, as a proxy stands before one in production.

The admin SDKs send their real credentials over https only. Bytes go through as they are, so that
the server sees the `Host` that the client dialled.
"""

import asyncio
import ssl
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

from tests.end_to_end.passing_through import HOST, copy, serving

NAME: Final = "localhost"


@dataclass(frozen=True, slots=True)
class TlsFront:
    """Where the front is, and the file with the certificate that its clients have to trust."""

    url: str
    certificate: Path


@contextmanager
def tls_front(port: int, folder: Path) -> Iterator[TlsFront]:
    """Serve https before a port of this machine; the certificate is made in the folder."""
    certificate = make_certificate(folder)
    with serving(_serve(port, certificate), asyncio.new_event_loop()) as own_port:
        yield TlsFront(f"https://{NAME}:{own_port}", certificate)


async def _serve(port: int, certificate: Path) -> asyncio.Server:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def pass_through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(HOST, port)
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    return await asyncio.start_server(pass_through, HOST, 0, ssl=context)


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
