import pytest

from treedb.server.hosts import Host, Hosts, is_local, parse_host, parse_host_pattern

WELL_FORMED: list[tuple[str, Host]] = [
    ("localhost", ("localhost", None)),
    ("LocalHost:9000", ("localhost", 9000)),
    ("db.example.org.", ("db.example.org", None)),
    ("db.example.org.:80", ("db.example.org", 80)),
    ("127.0.0.1:9000", ("127.0.0.1", 9000)),
    ("[::1]:9000", ("[::1]", 9000)),
    ("[2001:DB8::1]", ("[2001:db8::1]", None)),
    ("tree_db:1", ("tree_db", 1)),
    ("xn--bcher-kva.example", ("xn--bcher-kva.example", None)),
]
NOT_WELL_FORMED = [
    "", ".", "..", ":", ":80", "a:", "a:b", "a:123456", "a b", " a", "a\n", "x/../y", "@", "u@a", "a,a",
    "a..b", ".a", "::1", "[::1", "[]", "[1]", "[::1]x", "bücher.example", "a?b", "a#b", "a\\b", "*",
    "a" * 263,
]  # fmt: skip


@pytest.mark.parametrize("text, host", WELL_FORMED)
def test_a_host_is_a_name_and_a_port(text: str, host: Host) -> None:
    assert parse_host(text.encode()) == host


@pytest.mark.parametrize("text", NOT_WELL_FORMED)
def test_what_is_no_host_is_none(text: str) -> None:
    assert parse_host(text.encode()) is None


@pytest.mark.parametrize(
    "name",
    ["localhost", "treedb", "db.localhost", "nas.local", "db.default.svc.cluster.local",
     "a.internal", "a.home.arpa", "127.0.0.1", "192.168.1.7", "8.8.8.8", "[::1]"],
)  # fmt: skip
def test_names_that_no_stranger_can_own_are_local(name: str) -> None:
    assert is_local(name)


@pytest.mark.parametrize(
    "name", ["example.org", "localhost.example.org", "notlocal.host", "127.0.0.1.example", "1.2.3"]
)
def test_names_that_somebody_may_own_are_not(name: str) -> None:
    assert not is_local(name)


@pytest.mark.parametrize(
    "text, pattern",
    [
        ("DB.example.org", "db.example.org"),
        ("db.example.org.", "db.example.org"),
        ("*.Example.org", "*.example.org"),
        ("*", "*"),
        ("192.168.1.7", "192.168.1.7"),
        ("db.example.org:80", None),
        ("https://db.example.org", None),
        ("*.", None),
        ("*a.example.org", None),
        ("a.*.org", None),
        ("a b", None),
        ("", None),
    ],
)
def test_an_entry_of_the_setting_is_a_name_or_all_below_one(text: str, pattern: str | None) -> None:
    assert parse_host_pattern(text) == pattern


@pytest.mark.parametrize(
    "patterns, allowed, refused",
    [
        ([], ["localhost", "10.0.0.1"], ["example.org", "a.example.org"]),
        (["db.example.org"], ["db.example.org", "localhost"], ["example.org", "a.db.example.org"]),
        (
            ["*.example.org"],
            ["a.example.org", "a.b.example.org"],
            ["example.org", "badexample.org", "a.example.org.evil.com"],
        ),
        (["*"], ["anything.example"], []),
    ],
)
def test_those_listed_are_answered_for_beside_local_ones(
    patterns: list[str], allowed: list[str], refused: list[str]
) -> None:
    hosts = Hosts.of(patterns)
    assert [name for name in allowed if not hosts.allows(name)] == []
    assert [name for name in refused if hosts.allows(name)] == []
