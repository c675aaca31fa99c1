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
from treedb.writes.mend import Side

PLACE: Final = "/.settings/rules.json"
CONNECT_SECONDS: Final = 10
# All data is held against mirrors and counts before the rules that bring them are in force.
ANSWER_SECONDS: Final = 15 * 60
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


def put_rules(
    server: Server, namespace: str, text: str, *, is_dry_run: bool, side: Side | None = None
) -> int:
    """Put rules in force, or only have the server check them.

    Returns how many mirrors and counts the data is, or would be, brought to agree with; `side`
    says what is right where they differ.
    """
    dry_run = "true" if is_dry_run else ""
    right = "" if side is None else side.value
    parameters = {"ns": namespace, "dryRun": dry_run, "mirrorBackfill": right}
    backfills = _object_in(_ask(server, "PUT", parameters, text.encode())).get("backfills")
    return backfills if isinstance(backfills, int) else 0


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
    connection = SCHEMES[server.scheme](server.host, server.port, timeout=CONNECT_SECONDS)
    try:
        connection.connect()
        connection.sock.settimeout(ANSWER_SECONDS)
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
    return Unavailable(f"{server} answered {status}:{_reason_in(content)}")


def _reason_in(content: bytes) -> str:
    """Return what a refusal says, behind a colon; mistakes of rules on lines, then the ways out."""
    told = _object_in(content)
    findings = told.get("findings")
    if isinstance(findings, list) and findings and isinstance(findings[0], dict):
        lines = [
            f"{each.get('line')}:{each.get('column')}: {each.get('message')}" for each in findings
        ]
        hints = dict.fromkeys(str(each["hint"]) for each in findings if "hint" in each)
        every = [*lines, *hints]
        return f" {every[0]}" if len(every) == 1 else "".join(f"\n  {line}" for line in every)
    return f" {told.get('detail') or told.get('error') or content[:200].decode(errors='replace')}"


def _object_in(content: bytes) -> dict[str, Any]:
    """Return the JSON object that was answered, an empty one for anything else."""
    try:
        found = parse_json(content)
    except TreeError:
        return {}
    return found if isinstance(found, dict) else {}
