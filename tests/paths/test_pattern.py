"""Patterns match paths of their depth and give the keys their names stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.errors import InvalidPath
from treedb.paths.path import ROOT, Path
from treedb.paths.pattern import Pattern, is_name

DEEP = "/d" * 32


@pytest.mark.parametrize(
    ("text", "keys", "names"),
    [
        ("/", (), ()),
        ("", (), ()),
        ("/users", ("users",), ()),
        ("/users/$uid", ("users", "$uid"), ("$uid",)),
        ("users//$uid/", ("users", "$uid"), ("$uid",)),
        ("/$b/x/$a", ("$b", "x", "$a"), ("$b", "$a")),
        ("/$user_id/$2", ("$user_id", "$2"), ("$user_id", "$2")),
        (DEEP, ("d",) * 32, ()),
    ],
)
def test_a_pattern_is_parted_at_slashes(
    text: str, keys: tuple[str, ...], names: tuple[str, ...]
) -> None:
    pattern = Pattern.parse(text)
    assert pattern.keys == keys
    assert pattern.names == names


@pytest.mark.parametrize("text", ["/", "/users", "/users/$uid/groups/$gid"])
def test_a_pattern_is_written_as_it_was_read(text: str) -> None:
    assert Pattern.parse(text).format() == text
    assert str(Pattern.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/users/$", "name is empty"),
        ("/$a/x/$a", "the name $a twice"),
        ("/$a.b", "'$a.b' is not one"),
        ("/$a$b", "'$a$b' is not one"),
        ("/$a-b", "'$a-b' is not one"),
        ("/$a\n", "'$a\\n' is not one"),
        ("/$é", "is not one"),
        ("/a.b/$c", "'a.b' holds '.'"),
        ("/a$b", "'a$b' holds '$'"),
        ("/$uid/.priority", "'.priority' holds '.'"),
        ("/" + "k" * 769, "769 bytes"),
        (DEEP + "/$x", "33 keys deep: at most 32"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        Pattern.parse(text)
    assert why in caught.value.detail


@pytest.mark.parametrize(
    ("pattern", "path", "bindings"),
    [
        ("/", "/", {}),
        ("/", "/a", None),
        ("/a", "/", None),
        ("/a", "/a", {}),
        ("/a", "/b", None),
        ("/$x", "/a", {"$x": "a"}),
        ("/$x", "/a/b", None),
        ("/users/$uid", "/users/mchen", {"$uid": "mchen"}),
        ("/users/$uid", "/groups/mchen", None),
        ("/users/$uid", "/users", None),
        ("/users/$uid/groups/$gid", "/users/m/groups/g", {"$uid": "m", "$gid": "g"}),
        ("/users/$uid/groups/$gid", "/users/m/friends/g", None),
        ("/users/$uid", "/users/.priority", None),
        ("/users", "/users/.priority", None),
    ],
)
def test_a_pattern_matches_paths_of_its_depth_and_literal_keys(
    pattern: str, path: str, bindings: dict[str, str] | None
) -> None:
    assert Pattern.parse(pattern).match(Path.parse(path, allow_priority=True)) == bindings


@pytest.mark.parametrize(
    ("pattern", "bindings", "path"),
    [
        ("/", {}, ROOT),
        ("/a/b", {"$x": "unused"}, Path(("a", "b"))),
        ("/groups/$gid/members/$uid", {"$uid": "m", "$gid": "g"}, Path.parse("groups/g/members/m")),
    ],
)
def test_names_are_filled_with_their_bindings(
    pattern: str, bindings: dict[str, str], path: Path
) -> None:
    assert Pattern.parse(pattern).fill(bindings) == path


def test_filling_with_a_name_unbound_is_our_own_error() -> None:
    with pytest.raises(AssertionError, match="no binding for"):
        Pattern.parse("/$a/$b").fill({"$a": "x"})


def test_a_name_is_told_by_its_dollar() -> None:
    assert is_name("$uid")
    assert not is_name("uid")
    assert not is_name("u$id")


literal_or_name = st.sampled_from(["a", "b", "$x", "$y", "$z"])
patterns = st.lists(literal_or_name, max_size=5).filter(
    lambda keys: all(not is_name(key) or keys.count(key) == 1 for key in keys)
)
captured = st.fixed_dictionaries(
    {name: st.sampled_from(["a", "c", "é"]) for name in ("$x", "$y", "$z")}
)


@given(patterns, captured)
def test_matching_what_was_filled_gives_the_bindings_back(
    keys: list[str], bindings: dict[str, str]
) -> None:
    pattern = Pattern.parse("/".join(keys))
    expected = {name: bindings[name] for name in pattern.names}
    assert pattern.match(pattern.fill(bindings)) == expected


@given(patterns, st.lists(st.sampled_from(["a", "b"]), max_size=5))
def test_filling_with_what_was_captured_gives_the_path_back(
    keys: list[str], path_keys: list[str]
) -> None:
    pattern, path = Pattern.parse("/".join(keys)), Path(tuple(path_keys))
    bindings = pattern.match(path)
    if bindings is not None:
        assert pattern.fill(bindings) == path
