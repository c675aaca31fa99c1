"""Paths are read strictly, written plainly, and know what is above and below them."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from treedb.errors import InvalidPath
from treedb.paths.keys import key_problem
from treedb.paths.path import ROOT, Path

DEEP = "/".join("d" * 32)

keys = st.text(
    st.characters(codec="utf-8", min_codepoint=0x20, exclude_characters=".#$[]/\x7f"),
    min_size=1,
    max_size=8,
)
key_lists = st.lists(keys, max_size=6)
paths = key_lists.map(lambda some: Path(tuple(some)))
close_paths = st.lists(st.sampled_from("ab"), max_size=4).map(lambda some: Path(tuple(some)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("/", ()),
        ("///", ()),
        ("/a/b", ("a", "b")),
        ("a/b", ("a", "b")),
        ("a/b/", ("a", "b")),
        ("//a///b//", ("a", "b")),
        ("/a%2Fb/%20", ("a%2Fb", "%20")),
        ("/a\\b", ("a\\b",)),
        ("/ / a", (" ", " a")),
        ("/😀/é", ("😀", "é")),
        ("/__proto__/x", ("__proto__", "x")),
        ("/" + "k" * 768, ("k" * 768,)),
        ("/" + "日" * 256 + "/b", ("日" * 256, "b")),
        (DEEP, ("d",) * 32),
    ],
)
def test_text_is_parted_at_slashes_and_nothing_else_happens(
    text: str, expected: tuple[str, ...]
) -> None:
    assert Path.parse(text).keys == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/a.b", "'a.b' holds '.'"),
        ("/a/../b", "'..' holds '.'"),
        ("/.info/connected", "'.info' holds '.'"),
        ("/a/$b", "'$b' holds '$'"),
        ("/a#", "holds '#'"),
        ("/[a]", "holds '['"),
        ("/a\n", "control character"),
        ("/a/\x00", "control character"),
        ("/\x7f", "control character"),
        ("/\ud800", "lone surrogate"),
        ("/" + "k" * 769, "769 bytes"),
        ("/a/" + "日" * 257, "771 bytes"),
        (DEEP + "/e", "33 keys deep: at most 32"),
        ("/e" * 1000, "1000 keys deep: at most 32"),
    ],
)
def test_a_bad_path_is_refused_with_its_reason(text: str, why: str) -> None:
    for allow_priority in (False, True):
        with pytest.raises(InvalidPath) as caught:
            Path.parse(text, allow_priority=allow_priority)
        assert why in caught.value.detail


def test_a_priority_is_refused_unless_allowed() -> None:
    with pytest.raises(InvalidPath, match=r"'\.priority' holds '\.'"):
        Path.parse("/a/.priority")
    with pytest.raises(InvalidPath, match=r"'\.priority' holds '\.'"):
        Path.parse_url(b"/a/.priority")


@pytest.mark.parametrize(
    ("text", "expected", "depth"),
    [
        ("/.priority", (".priority",), 0),
        ("/a/.priority", ("a", ".priority"), 1),
        ("a//.priority/", ("a", ".priority"), 1),
        (DEEP + "/.priority", (*("d",) * 32, ".priority"), 32),
        ("/a", ("a",), 1),
        ("/", (), 0),
    ],
)
def test_a_priority_may_come_last_where_allowed_and_counts_no_depth(
    text: str, expected: tuple[str, ...], depth: int
) -> None:
    path = Path.parse(text, allow_priority=True)
    assert path.keys == expected
    assert path.depth == depth
    assert path.is_priority == (".priority" in expected)
    assert Path.parse_url(text.encode(), allow_priority=True) == path


@pytest.mark.parametrize(
    "text", ["/.priority/a", "/.priority/.priority", "/a/.value", "/.sv", DEEP + "/e/.priority"]
)
def test_no_other_dotted_key_is_let_in_with_it(text: str) -> None:
    with pytest.raises(InvalidPath):
        Path.parse(text, allow_priority=True)
    with pytest.raises(InvalidPath):
        Path.parse_url(text.encode(), allow_priority=True)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", ()),
        (b"/", ()),
        (b"//", ()),
        (b"/a/", ("a",)),
        (b"/a//b", ("a", "b")),
        (b"/a%252Fb", ("a%2Fb",)),
        (b"/a%2525", ("a%25",)),
        (b"/%25zz", ("%zz",)),
        (b"/a;x=1", ("a;x=1",)),
        (b"/a\\b", ("a\\b",)),
        (b"/a+b", ("a+b",)),
        (b"/%3f", ("?",)),
        (b"/%20/x", (" ", "x")),
        (b"/caf%C3%a9", ("café",)),
        (b"/%F0%9F%98%80", ("😀",)),
        (b"/%E2%80%AE%EF%BB%BF%E2%80%8D", ("\u202e\ufeff\u200d",)),
        (b"/constructor", ("constructor",)),
        (b"/%30/00/-0", ("0", "00", "-0")),
        (b"/" + b"k" * 768, ("k" * 768,)),
        (b"/" + b"%6b" * 768, ("k" * 768,)),
        (DEEP.encode(), ("d",) * 32),
    ],
)
def test_a_url_is_decoded_exactly_once(raw: bytes, expected: tuple[str, ...]) -> None:
    assert Path.parse_url(raw).keys == expected


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"/a.json", "'a.json' holds '.'"),
        (b"/a/../b", "'..' holds '.'"),
        (b"/a/%2e%2e/b", "'..' holds '.'"),
        (b"/a%2Fb", "%2F, a slash"),
        (b"/a%2fb", "%2f, a slash"),
        (b"/%00", "control character"),
        (b"/%0d%0aSet-Cookie:x", "control character"),
        (b"/%1f", "control character"),
        (b"/%7f", "control character"),
        (b"/%ff", "not UTF-8 when unescaped: byte 0xff at 1"),
        (b"/%c0%af", "not UTF-8"),
        (b"/%ed%a0%80", "not UTF-8"),
        (b"/%e2%82", "not UTF-8"),
        (b"/%e2/%82%ac", "not UTF-8"),
        (b"/%zz", "'%zz'"),
        (b"/%", "'%'"),
        (b"/%4", "'%4'"),
        (b"/%/a", "'%/a'"),
        (b"/a%+1", "'%+1'"),
        (b"/%%41", "'%%4'"),
        (b"/%2", "'%2'"),
        (b"/%u0041", "'%u0'"),
        (b"/$a", "holds '$'"),
        (b"/a%23b", "holds '#'"),
        (b"/%5Ba%5D", "holds '['"),
        ("/é".encode(), "byte 0xc3 unescaped"),
        (b"/a b", "byte 0x20 unescaped"),
        (b"/a\n", "byte 0x0a unescaped"),
        (b"/" + b"k" * 769, "769 bytes"),
        (b"/" + b"%e6%97%a5" * 768, "2304 bytes"),
        (DEEP.encode() + b"/e", "33 keys deep: at most 32"),
    ],
)
def test_a_bad_url_is_refused_with_its_reason(raw: bytes, why: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        Path.parse_url(raw)
    assert why in caught.value.detail
    assert caught.value.detail.isprintable()


@given(paths)
def test_text_leads_back_to_the_path(path: Path) -> None:
    assert Path.parse(path.format()) == path
    assert Path.parse(str(path)) == path


@given(paths)
def test_a_quoted_url_leads_back_to_the_path(path: Path) -> None:
    assert Path.parse_url(quote(path.format()).encode()) == path


def outcome(parse: Callable[[], Path]) -> Path | None:
    try:
        return parse()
    except InvalidPath:
        return None


def part_then_decode(raw: bytes) -> Path:
    """Decode part by part, as the rule is stated: slow, and plain enough to be the oracle."""
    decoded = []
    for part in filter(None, raw.split(b"/")):
        escapes = [escape[:2] for escape in part.split(b"%")[1:]]
        good = all(len(e) == 2 and e.isalnum() and set(e.lower()) <= HEX for e in escapes)
        if not good or not part.isascii():
            raise InvalidPath
        try:
            decoded.append(unquote_to_bytes(part).decode())
        except UnicodeDecodeError as error:
            raise InvalidPath from error
    if len(decoded) > 32 or any(key_problem(key) for key in decoded):
        raise InvalidPath
    return Path(tuple(decoded))


HEX = set(b"0123456789abcdef")
pieces = st.sampled_from(
    ["a", "/", "%", "2", "f", "%2F", "%c3", "%a9", "%e2", "%82", "%ac", "%41", "%25", "%2e", "é"]
)


@given(st.lists(pieces, max_size=12).map("".join))
@example("a%e2/%82%aca")
def test_decoding_whole_is_the_same_as_parting_first(text: str) -> None:
    raw = text.encode()
    assert outcome(lambda: Path.parse_url(raw)) == outcome(lambda: part_then_decode(raw))


@given(st.text(st.characters(codec=None), max_size=30))
def test_text_is_refused_exactly_when_a_key_is_bad(text: str) -> None:
    assume(text.count("/") <= 32)
    expected = tuple(key for key in text.split("/") if key)
    if any(key_problem(key) for key in expected):
        with pytest.raises(InvalidPath):
            Path.parse(text)
    else:
        assert Path.parse(text).keys == expected


def test_the_root_is_written_as_a_slash_and_has_no_parent() -> None:
    assert ROOT.format() == str(ROOT) == "/"
    assert ROOT.parent is None
    assert ROOT.depth == 0
    assert not ROOT.is_priority


@given(paths, keys)
def test_a_childs_parent_is_the_path(path: Path, key: str) -> None:
    child = path.child(key)
    assert child.keys == (*path.keys, key)
    assert child.parent == path
    assert child.depth == path.depth + 1


@given(paths, key_lists)
def test_what_is_joined_is_below_and_relative_gives_it_back(path: Path, below: list[str]) -> None:
    joined = path.join(below)
    assert path.contains(joined)
    assert path.relative(joined) == tuple(below)


@given(close_paths, close_paths)
def test_a_path_contains_itself_and_what_starts_with_its_keys(one: Path, other: Path) -> None:
    above = [Path(other.keys[:length]) for length in range(len(other.keys) + 1)]
    assert one.contains(other) == (one in above)


def test_relative_to_a_path_elsewhere_is_our_own_error() -> None:
    with pytest.raises(AssertionError, match="/b is not below /a"):
        Path(("a",)).relative(Path(("b",)))


def test_paths_are_values() -> None:
    path = Path.parse("/a/b")
    assert {path: 1}[Path(("a", "b"))] == 1
    with pytest.raises(FrozenInstanceError):
        path.keys = ()  # type: ignore[misc]
