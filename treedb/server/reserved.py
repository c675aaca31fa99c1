"""Paths that begin with a dot: they can never be data."""

from starlette.requests import Request
from starlette.responses import Response

from treedb import __version__
from treedb.config import Settings
from treedb.errors import NotFound, PermissionDenied
from treedb.server.credentials import Authenticate, caller_of
from treedb.server.http_answers import json_answer
from treedb.server.parameters import parse_parameters
from treedb.tree.json_text import format_json

ADMINISTRATIVE = (b"/.settings/", b"/.inspect/")


class Reserved:
    """What the server tells about itself, and what only an administrator may ask."""

    def __init__(self, settings: Settings, authenticate: Authenticate) -> None:
        self._settings = settings
        self._authenticate = authenticate

    async def health(self, request: Request) -> Response:
        """Answer that the server serves, and how durably."""
        content = {
            "status": "ok",
            "durability": "unsafe_no_fsync" if self._settings.unsafe_no_fsync else "fsync",
            "version": __version__,
        }
        return json_answer(request, format_json(content))

    async def administrative(self, request: Request) -> Response:
        """Deny everyone but an administrator, who is told that nothing is there yet."""
        parameters = parse_parameters(request.scope["query_string"])
        auth = caller_of(request.headers, parameters, self._authenticate)
        if auth is None or not auth.is_admin:
            raise PermissionDenied
        path = request.scope["raw_path"].decode("ascii")
        raise NotFound(f"{path} is not there in this version of treedb.")
