"""Static files: the folder an operator names, and the JavaScript client."""

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from treedb.errors import MissingJsonEnding

_HEADERS: Final = {
    "Cache-Control": "no-cache",  # browsers ask whether a file changed, so an edit shows at once
    "X-Content-Type-Options": "nosniff",
}


class Files:
    """Serve the files of one folder below a prefix of URLs, to GET and HEAD.

    A folder's URL is answered with its index.html. A file whose name, or a folder's above it,
    begins with a dot is not served: such files are seldom meant for visitors.
    """

    def __init__(self, folder: FilePath, prefix: str, headers: Mapping[str, str]) -> None:
        self._prefix = prefix
        self._headers = {**_HEADERS, **headers}
        self._files = StaticFiles(directory=folder, html=True)

    async def answer(self, request: Request) -> Response:
        """Answer with a file; MissingJsonEnding when there is none."""
        below = request.scope["path"].removeprefix(self._prefix)
        path = self._files.get_path({**request.scope, "path": f"/{below}"})
        if request.method not in ("GET", "HEAD") or _is_hidden(path):
            raise MissingJsonEnding
        try:
            response = await self._files.get_response(path, request.scope)
        except HTTPException as error:
            raise MissingJsonEnding from error
        response.headers.update(self._headers)
        return response


def client_folder(package: FilePath) -> FilePath | None:
    """Return the folder of the JavaScript client: packaged, or beside the package in a checkout."""
    places = (place / "clients" / "js" for place in (package, package.parent))
    return next((place for place in places if place.is_dir()), None)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in FilePath(path).parts)
