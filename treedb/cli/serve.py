"""`treedb serve`: check that serving is safe, take the port, and serve until told to stop."""

import errno
import ipaddress
import logging
import shlex
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import uvicorn

from treedb import __version__
from treedb.auth.admin_token import check_admin_token
from treedb.auth.authenticator import build_authenticator
from treedb.auth.claims import Binding
from treedb.auth.client_tokens import check_secret
from treedb.auth.dev_tokens import OWNER
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Settings
from treedb.errors import SettingsError, Unavailable
from treedb.server.admin_token_file import FILE, keep_admin_token
from treedb.server.app import build_app
from treedb.server.namespaces import Databases, prepare_data_folder
from treedb.server.protocol import uvicorn_options
from treedb.server.rules_file import RulesFile

LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
NO_FSYNC_WARNING: Final = (
    "warning: with --unsafe-no-fsync a power cut can lose writes that were acknowledged, or break "
    "the files; use it for data you can do without."
)


def run(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises SettingsError when the settings are unsafe or cannot work, Unavailable when the port
    cannot be taken.
    """
    check_settings(settings)
    rules_file = None if settings.rules is None else RulesFile.load(settings.rules)
    prepare_data_folder(settings.data)
    listener = listen_at(settings.host, settings.port)
    logging.basicConfig(format=LOG_FORMAT, level=logging.WARNING)
    # What is in force, and how far it is built.
    for name in ("treedb.rules", "treedb.indexes", "treedb.mirrors"):
        logging.getLogger(name).setLevel(logging.INFO)
    if settings.unsafe_no_fsync:
        print(NO_FSYNC_WARNING, file=sys.stderr, flush=True)
    clock = SystemClock()
    authenticator = build_authenticator(
        admin_token=settings.admin_token or keep_admin_token(settings.data, clock.random_bits),
        auth_secret=settings.auth_secret,
        binding=Binding(settings.auth_audience, settings.auth_issuer),
        is_dev=settings.dev,
        now_ms=clock.now_ms,
    )
    databases = Databases(settings, DEFAULT_LIMITS, clock, rules_file)
    app = build_app(databases, settings, DEFAULT_LIMITS, authenticator.authenticate)
    config = uvicorn.Config(app, **uvicorn_options(DEFAULT_LIMITS))
    url = url_of(settings.host, listener.getsockname()[1])
    _Server(config, lambda: print(greeting(settings, url), flush=True)).run([listener])


def check_settings(settings: Settings) -> None:
    """Raise SettingsError when serving with these settings would be unsafe or cannot work."""
    if settings.dev and not is_loopback(settings.host):
        raise SettingsError(
            f"--dev honours credentials that anybody can write, and {settings.host} is not a "
            "loopback address: others could reach the server. Use --host 127.0.0.1."
        )
    if settings.admin_token is not None:
        check_admin_token(settings.admin_token)
    if settings.auth_secret is not None:
        check_secret(settings.auth_secret)
    if settings.static is not None and not settings.static.is_dir():
        raise SettingsError(f"static: {settings.static} is not a folder.")


def is_loopback(host: str) -> bool:
    """Tell whether a host is surely this machine's loopback: such an address, or `localhost`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listen_at(host: str, port: int) -> socket.socket:
    """Take a port, on IPv4 where a host's name gives the choice.

    Raises SettingsError for a host nobody knows, Unavailable when the port cannot be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise SettingsError(f"host: {host} is no address of this machine: {error}.") from error
    family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"port {port} on {host} is taken by another program; stop that one, or choose "
                "another port with --port."
            ) from error
        raise Unavailable(f"cannot listen on port {port} of {host}: {error.strerror}.") from error


def url_of(host: str, port: int) -> str:
    """Return the URL at which the server is found."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def greeting(settings: Settings, url: str) -> str:
    """Return what is printed when the server serves: where it is and what to try."""
    bearer = _bearer(settings)
    lines = [
        f"treedb {__version__} serves {settings.data} at {url} ({_guard(settings)})",
        "Try:",
        f"""  curl {bearer}-X PUT -d '{{"name":"Mary Chen"}}' {url}/users/mchen.json""",
        f"  curl {bearer}{url}/users.json",
    ]
    if settings.static is not None:
        lines.append(f"  open {url}/ in a browser: it shows {settings.static}")
    return "\n".join(lines)


def _guard(settings: Settings) -> str:
    """Say who may do what in a namespace without rules of its own."""
    mode = "development, " if settings.dev else ""
    if settings.rules is not None:
        return f"{mode}rules: {settings.rules}"
    if settings.dev:
        return f"{mode}no access rules"
    if settings.admin_token is not None:
        return "locked: no rules"
    return "locked: no rules, so that only an administrator may read or write"


def _bearer(settings: Settings) -> str:
    """Return how curl gives an administrator's credential, "" where everybody may write."""
    if settings.dev:
        return "" if settings.rules is None else f'-H "Authorization: Bearer {OWNER}" '
    if settings.admin_token is not None:
        return '-H "Authorization: Bearer $TREEDB_ADMIN_TOKEN" '
    return f'-H "Authorization: Bearer $(cat {shlex.quote(str(settings.data / FILE))})" '


class _Server(uvicorn.Server):
    """uvicorn's server; it tells when it serves, and ends well when told to stop.

    uvicorn finishes in order and then dies of the signal it was sent. A server that was asked to
    end and has ended is no failure, so the signal is forgotten and the exit code is 0.
    """

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self._started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()
