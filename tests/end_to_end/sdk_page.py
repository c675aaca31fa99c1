"""The unmodified npm package `firebase` in a page of a real browser, over the transport asked for.

The page comes from a small file server of the tests' own, on another port than the database, as
the pages of applications do. That one has the bundles of `firebase` as they are in the npm package,
the scripts of `tests/end_to_end/js` at /js/ and the cases of `tests/spec` at /spec/. By an import
map a script's `firebase/database` is the package in the page as it is in Node.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Literal

from playwright.sync_api import Browser, Page

HOST: Final = "127.0.0.1"
SCRIPTS: Final = Path(__file__).parent / "js"
FIREBASE: Final = SCRIPTS / "node_modules" / "firebase"
SPEC: Final = Path(__file__).parent.parent / "spec"
CALL_MS: Final = 60_000

Transport = Literal["websocket", "long polling", "no websockets", "upgrade"]

# What a page of each transport does before the SDK is loaded. A browser whose last websocket
# failed begins with long polling, and upgrades when a websocket works after all.
PREPARATIONS: Final[dict[Transport, str]] = {
    "websocket": "",
    "long polling": "",
    "no websockets": "delete window.WebSocket;",
    "upgrade": "localStorage.setItem('firebase:previous_websocket_failure', 'true');",
}

# The bundles import one another from where Google serves them.
_GOOGLE: Final = "https://www.gstatic.com/firebasejs/%s/firebase-app.js"

_PAGE: Final = """<!doctype html>
<meta charset="utf-8">
<title>firebase in a page</title>
<link rel="icon" href="data:,">
<script type="importmap">{"imports": %s}</script>
<script>%s</script>
<script src="/firebase/firebase-app-compat.js"></script>
<script src="/firebase/firebase-database-compat.js"></script>
<body>
<script type="module">
import * as app from "firebase/app";
import * as database from "firebase/database";
if (%s) {
  database.forceLongPolling();
  const older = firebase.initializeApp({ databaseURL: "http://localhost:1?ns=none" }, "transport");
  older.database().INTERNAL.forceLongPolling();
}
window.app = app;
window.database = database;
let clients = 0;
window.open_client = (url) =>
  database.getDatabase(app.initializeApp({ databaseURL: url }, `client-${clients += 1}`));
window.is_ready = true;
</script>
"""


class SdkPage:
    """One page with the SDK in it; `errors` are those that nobody in the page caught.

    In the page, `database` and `app` are the modules of the package, `firebase` is its older form,
    and `open_client(url)` opens one more client and gives its database.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.calls: list[str] = []  # URLs of the realtime protocol, of every kind
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._note(request.url))
        page.on("websocket", lambda websocket: self._note(websocket.url))

    def _note(self, url: str) -> None:
        if "/.lp?" in url or "/.ws?" in url:
            self.calls.append(url)

    def open(self, origin: str, transport: Transport) -> None:
        """Load the page; returns when the SDK is there."""
        self.page.goto(f"{origin}/{transport.replace(' ', '-')}")
        self.page.wait_for_function("window.is_ready", timeout=CALL_MS)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run the body of an async function in the page; `given` are the arguments, as JSON.

        Returns what it returns, as JSON; raises what it throws.
        """
        source = f"async (given) => {{ {script} }}"
        return self.page.evaluate(source, list(arguments))

    def call(self, module: str, name: str, *arguments: Any) -> Any:
        """Call an exported function of a script in `tests/end_to_end/js`, and wait for it."""
        call = f'return (await import("/js/{module}")).{name}(...given);'
        return self.run(call, *arguments)

    def uses(self, endpoint: Literal[".lp", ".ws"]) -> int:
        """Count the calls that went to an endpoint."""
        return sum(f"/{endpoint}?" in url for url in self.calls)


@contextmanager
def sdk_page(browser: Browser, origin: str, transport: Transport) -> Iterator[SdkPage]:
    """Open a page in a browser context of its own, with a storage of its own."""
    context = browser.new_context()
    try:
        page = SdkPage(context.new_page())
        page.open(origin, transport)
        yield page
    finally:
        context.close()


@contextmanager
def page_server() -> Iterator[str]:
    """Serve the pages, one for each transport; gives their origin."""
    server = ThreadingHTTPServer((HOST, 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="page-server")
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answer `/<transport>` with its page, and the files of three folders."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        pages = {f"/{each.replace(' ', '-')}": each for each in PREPARATIONS}
        folders = {"/firebase/": FIREBASE, "/js/": SCRIPTS, "/spec/": SPEC}
        if path in pages:
            self._answer(_page(pages[path]).encode(), "text/html; charset=utf-8")
            return
        for prefix, folder in folders.items():
            if path.startswith(prefix) and (folder / path.removeprefix(prefix)).is_file():
                content = (folder / path.removeprefix(prefix)).read_bytes()
                kind = "application/json" if path.endswith(".json") else "text/javascript"
                self._answer(content, f"{kind}; charset=utf-8")
                return
        self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its own name
        """Say nothing."""


def _page(transport: Transport) -> str:
    version = json.loads((FIREBASE / "package.json").read_text())["version"]
    imports = {
        "firebase/app": "/firebase/firebase-app.js",
        "firebase/database": "/firebase/firebase-database.js",
        _GOOGLE % version: "/firebase/firebase-app.js",
    }
    is_forced = "true" if transport == "long polling" else "false"
    return _PAGE % (json.dumps(imports), PREPARATIONS[transport], is_forced)
