import pytest

from treedb.server.origins import Origin, Origins, page_of, parse_origin

ORIGINS: list[tuple[str, Origin | None]] = [
    ("https://app.example.org", ("https", "app.example.org", 443)),
    ("http://app.example.org", ("http", "app.example.org", 80)),
    ("HTTP://App.Example.org:80", ("http", "app.example.org", 80)),
    ("http://localhost:9000", ("http", "localhost", 9000)),
    ("http://[::1]:9000", ("http", "[::1]", 9000)),
    ("capacitor://localhost", ("capacitor", "localhost", None)),
    ("chrome-extension://abcdef", ("chrome-extension", "abcdef", None)),
    ("null", None),
    ("", None),
    ("*", None),
    ("file://", None),
    ("app.example.org", None),
    ("//app.example.org", None),
    ("https://app.example.org/", None),
    ("https://app.example.org?x", None),
    ("https://user@app.example.org", None),
    ("https://a.example https://b.example", None),
    ("https://a.example,https://b.example", None),
]


@pytest.mark.parametrize("text, origin", ORIGINS)
def test_an_origin_is_a_scheme_a_host_and_a_port(text: str, origin: Origin | None) -> None:
    assert parse_origin(text) == origin


LISTED = Origins.of(["https://good.example", "http://localhost:5173"], is_dev=False)
NONE = Origins.of([], is_dev=False)
HOST = b"db.example:9000"


@pytest.mark.parametrize(
    "origin",
    ["null", "", "https://good.example.evil.com", "https://evil.com/good.example",
     "https://good.example:8443", "http://good.example", "https://sub.good.example",
     "https://good.example@evil.com", "http://localhost:5174", "http://localhost"],
)  # fmt: skip
def test_an_origin_that_only_looks_like_one_listed_is_foreign(origin: str) -> None:
    assert LISTED.is_foreign(origin, HOST)


@pytest.mark.parametrize(
    "origin", ["https://good.example", "https://GOOD.example:443", "http://localhost:5173"]
)
def test_those_listed_are_not(origin: str) -> None:
    assert not LISTED.is_foreign(origin, HOST)
    assert NONE.is_foreign(origin, HOST)


@pytest.mark.parametrize(
    "origin, host, is_foreign",
    [
        ("http://localhost:9000", "localhost:9000", False),
        ("http://localhost:9000", "LOCALHOST:9000", False),
        ("https://db.example", "db.example", False),
        ("https://db.example", "db.example:443", False),
        ("http://db.example", "db.example", False),
        ("http://[::1]:9000", "[::1]:9000", False),
        ("http://localhost:9001", "localhost:9000", True),
        ("http://127.0.0.1:9000", "localhost:9000", True),
        ("https://db.example", "db.example:80", True),
        ("https://a.db.example", "db.example", True),
        ("capacitor://localhost", "localhost", True),
        ("null", "null", True),
        ("http://x/../y", "x/../y", True),
    ],
)
def test_pages_of_the_server_itself_are_not_foreign(
    origin: str, host: str, is_foreign: bool
) -> None:
    assert NONE.is_foreign(origin, host.encode()) is is_foreign
    assert LISTED.is_foreign(origin, host.encode()) is is_foreign


@pytest.mark.parametrize(
    "entries, is_dev, allows_any",
    [
        (["*"], False, True),
        (["https://good.example", "*"], False, True),
        ([], True, True),
        (["https://good.example"], True, False),
        ([], False, False),
    ],
)
def test_any_may_when_it_is_listed_or_in_development_without_a_list(
    entries: list[str], is_dev: bool, allows_any: bool
) -> None:
    origins = Origins.of(entries, is_dev=is_dev)
    assert origins.is_foreign("https://other.example", HOST) is not allows_any
    assert origins.is_foreign("null", HOST) is not allows_any


@pytest.mark.parametrize(
    "origins, origin, headers",
    [
        (NONE, None, {}),
        (NONE, "https://db.example", {}),
        (LISTED, None, {"Vary": "Origin"}),
        (
            LISTED,
            "https://good.example",
            {"Access-Control-Allow-Origin": "https://good.example", "Vary": "Origin"},
        ),
        (Origins.of(["*"], is_dev=False), "null", {"Access-Control-Allow-Origin": "*"}),
        (Origins.of(["*"], is_dev=False), None, {"Access-Control-Allow-Origin": "*"}),
    ],
)
def test_an_answer_tells_which_origin_may_read_it(
    origins: Origins, origin: str | None, headers: dict[str, str]
) -> None:
    assert origins.sharing(origin) == headers


@pytest.mark.parametrize(
    "referer, site, page",
    [
        (None, None, None),
        ("https://b.example/room?x=1", "cross-site", "https://b.example"),
        ("https://b.example", None, "https://b.example"),
        ("about:blank", None, "null"),
        (None, "cross-site", "null"),
        (None, "same-site", "null"),
        (None, "same-origin", None),
        (None, "none", None),
    ],
)
def test_a_script_is_loaded_by_the_page_that_the_browser_tells_of(
    referer: str | None, site: str | None, page: str | None
) -> None:
    assert page_of(referer, site) == page
