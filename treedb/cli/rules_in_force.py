"""Get and put the rules of a running server, as its administrator, over HTTP.

Server and token are found as the server itself finds them: host, port and data folder by the
settings, the token by TREEDB_ADMIN_TOKEN or in the data folder. The token is sent to that server
alone; no redirection is followed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path as FilePath
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from treedb.auth.admin_token import check_admin_token
from treedb.cli.settings import load_settings
from treedb.clock import SystemClock
from treedb.config import Settings
from treedb.errors import PermissionDenied, TreeError, Unavailable, WrongUse
from treedb.server.admin_token_file import FILE, keep_admin_token
from treedb.tree.json_text import parse_json

PLACE: Final = "/.settings/rules.json"
TIMEOUT_SECONDS: Final = 60
SCHEMES: Final = {"http": HTTPConnection, "https": HTTPSConnection}


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, and the token of its administrator; `port` None is the scheme's own."""

    scheme: str
    host: str
    port: int | None
    token: str = field(repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port is None else f":{self.port}")


def find_server(
    url: str | None, data: FilePath | None, environment: Mapping[str, str], folder: FilePath
) -> Server:
    """Return the server at a URL, or else the one that the settings tell of."""
    settings = load_settings({"data": data}, environment, folder)
    token = settings.admin_token or _kept_token(settings)
    check_admin_token(token)
    if url is None:
        return Server("http", settings.host, settings.port, token)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise WrongUse(f"--url is {url}: {error}.") from error
    if parts.scheme not in SCHEMES or not host:
        raise WrongUse(f"--url is {url}; allowed: http://HOST:PORT or https://HOST:PORT.")
    return Server(parts.scheme, host, port, token)


def get_rules(server: Server, namespace: str) -> str:
    """Return the text of the rules in force, as it was written."""
    return _ask(server, "GET", {"ns": namespace}).decode(errors="replace")


def put_rules(server: Server, namespace: str, text: str, *, is_dry_run: bool) -> None:
    """Put rules in force, or only have the server check them."""
    parameters = {"ns": namespace, "dryRun": "true" if is_dry_run else ""}
    _ask(server, "PUT", parameters, text.encode())


def _kept_token(settings: Settings) -> str:
    file = settings.data / FILE
    try:
        is_there = file.exists()
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror}.") from error
    if not is_there:
        raise WrongUse(
            f"there is no admin token: {file} is not there. Set TREEDB_ADMIN_TOKEN, or name the "
            "server's data folder with --data."
        )
    return keep_admin_token(settings.data, SystemClock().random_bits)


def _ask(
    server: Server, method: str, parameters: Mapping[str, str], body: bytes | None = None
) -> bytes:
    query = urlencode({name: text for name, text in parameters.items() if text})
    headers = {"Authorization": f"Bearer {server.token}"}
    connection = SCHEMES[server.scheme](server.host, server.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, f"{PLACE}?{query}", body, headers)
        answer = connection.getresponse()
        content: bytes = answer.read()
    except (OSError, HTTPException) as error:
        raise Unavailable(f"{server} does not answer: {error}.") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise _refusal(server, answer.status, content)
    return content


def _refusal(server: Server, status: int, content: bytes) -> TreeError:
    if status == 401:
        return PermissionDenied(
            f"{server} does not take the admin token; is it that server's TREEDB_ADMIN_TOKEN, or "
            "the one in its data folder?"
        )
    return Unavailable(f"{server} answered {status}: {_reason_in(content)}")


def _reason_in(content: bytes) -> str:
    try:
        found: Any = parse_json(content)
    except TreeError:
        return content[:200].decode(errors="replace")
    told = found if isinstance(found, dict) else {}
    return str(told.get("detail") or told.get("error") or found)
