"""Tries find the items at, above and below a path, and the pattern that governs it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from treedb.errors import InvalidPath
from treedb.paths.path import ROOT, Path
from treedb.paths.pattern import Pattern, is_name
from treedb.paths.trie import PathTrie, PatternTrie

close_paths = st.lists(st.sampled_from("abc"), max_size=4).map(lambda keys: Path(tuple(keys)))


def path(text: str) -> Path:
    return Path.parse(text, allow_priority=True)


def trie_of(*texts: str) -> PathTrie[str]:
    trie: PathTrie[str] = PathTrie()
    for text in texts:
        trie.set(path(text), text)
    return trie


class PathTrieAgainstDict(RuleBasedStateMachine):
    """Any history leaves the trie telling what a plain dictionary tells."""

    def __init__(self) -> None:
        super().__init__()
        self.trie: PathTrie[int] = PathTrie()
        self.plain: dict[Path, int] = {}

    @rule(place=close_paths, item=st.integers())
    def set(self, place: Path, item: int) -> None:
        self.trie.set(place, item)
        self.plain[place] = item

    @rule(place=close_paths)
    def remove_any(self, place: Path) -> None:
        self.trie.remove(place)
        self.plain.pop(place, None)

    @precondition(lambda self: self.plain)
    @rule(data=st.data())
    def remove_present(self, data: st.DataObject) -> None:
        self.remove_any(data.draw(st.sampled_from(sorted(self.plain, key=str))))

    @rule(place=close_paths)
    def look(self, place: Path) -> None:
        assert self.trie.get(place) == self.plain.get(place)
        above = [each for each in self.plain.items() if each[0].contains(place)]
        assert list(self.trie.along(place)) == sorted(above, key=lambda each: each[0].depth)
        below = [(p, i) for p, i in self.plain.items() if place.contains(p) and p != place]
        assert sorted(self.trie.below(place), key=str) == sorted(below, key=str)

    @invariant()
    def counts(self) -> None:
        assert len(self.trie) == len(self.plain)

    @invariant()
    def keeps_no_empty_place(self) -> None:
        waiting = list(self.trie._root.children.values())
        while waiting:
            place = waiting.pop()
            assert place.is_needed()
            waiting.extend(place.children.values())


TestPathTrieAgainstDict = PathTrieAgainstDict.TestCase


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/", ["/"]),
        ("/a", ["/", "/a"]),
        ("/a/b/c/d", ["/", "/a", "/a/b/c"]),
        ("/x/y", ["/"]),
        ("/a/.priority", ["/", "/a"]),
    ],
)
def test_along_finds_items_at_and_above_root_first(place: str, expected: list[str]) -> None:
    trie = trie_of("/a/b/c", "/a", "/", "/b")
    assert list(trie.along(path(place))) == [(path(text), text) for text in expected]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/", {"/a", "/a/b/c", "/b"}),
        ("/a", {"/a/b/c"}),
        ("/a/b", {"/a/b/c"}),
        ("/a/b/c", set()),
        ("/x", set()),
    ],
)
def test_below_finds_items_strictly_below(place: str, expected: set[str]) -> None:
    trie = trie_of("/a/b/c", "/a", "/", "/b")
    assert {item for _, item in trie.below(path(place))} == expected


def test_an_item_is_replaced_by_the_next_at_its_path() -> None:
    trie = trie_of("/a")
    trie.set(path("/a"), "other")
    assert trie.get(path("/a")) == "other"
    assert len(trie) == 1


def test_removing_what_is_not_there_does_nothing() -> None:
    trie = trie_of("/a/b")
    for absent in ("/", "/a", "/a/b/c", "/x"):
        trie.remove(path(absent))
    assert trie.get(path("/a/b")) == "/a/b"
    assert len(trie) == 1


def test_a_removed_item_leaves_those_above_and_below() -> None:
    trie = trie_of("/", "/a", "/a/b")
    trie.remove(path("/a"))
    assert list(trie.along(path("/a/b"))) == [(ROOT, "/"), (path("/a/b"), "/a/b")]


def patterns_of(*texts: str) -> PatternTrie[str]:
    trie: PatternTrie[str] = PatternTrie()
    for text in texts:
        trie.set(Pattern.parse(text), text)
    return trie


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/", [("/", {})]),
        ("/users", []),
        ("/users/mchen", [("/users/$uid", {"$uid": "mchen"})]),
        ("/users/admin", [("/users/admin", {})]),
        ("/users/mchen/groups/g", [("/users/$uid/groups/$gid", {"$uid": "mchen", "$gid": "g"})]),
        ("/users/admin/groups/g", []),
        ("/users/mchen/groups", []),
        ("/users/mchen/groups/g/x", []),
        ("/users/.priority", []),
        ("/users/admin/.priority", []),
        ("/rooms/r", [("/$top/$rest", {"$top": "rooms", "$rest": "r"})]),
    ],
)
def test_the_governing_pattern_is_found_with_its_bindings(
    place: str, expected: list[tuple[str, dict[str, str]]]
) -> None:
    trie = patterns_of("/", "/users/$uid", "/users/admin", "/users/$uid/groups/$gid", "/$top/$rest")
    assert trie.find(path(place)) == expected


def test_the_next_item_at_a_pattern_replaces_the_one_before() -> None:
    trie = patterns_of("/a/$x")
    trie.set(Pattern.parse("/a/$x"), "other")
    assert trie.find(path("/a/b")) == [("other", {"$x": "b"})]


def test_none_may_be_an_item() -> None:
    trie: PatternTrie[None] = PatternTrie()
    trie.set(Pattern.parse("/a"), None)
    assert trie.find(path("/a")) == [(None, {})]
    assert trie.find(path("/b")) == []


def test_a_second_name_at_a_place_is_refused_and_changes_nothing() -> None:
    trie = patterns_of("/users/$uid")
    with pytest.raises(InvalidPath, match=r"Below /users stand \$uid and \$id"):
        trie.set(Pattern.parse("/users/$id/new"), "bad")
    with pytest.raises(InvalidPath, match=r"Below /users/\$uid stand \$x and \$y"):
        for text in ("/users/$uid/$x", "/users/$uid/$y"):
            trie.set(Pattern.parse(text), text)
    assert trie.find(path("/users/m/new")) == [("/users/$uid/$x", {"$uid": "m", "$x": "new"})]


def test_different_places_may_use_different_names() -> None:
    trie = patterns_of("/a/$x", "/b/$y", "/$z")
    assert trie.find(path("/b/k")) == [("/b/$y", {"$y": "k"})]
    assert trie.find(path("/k")) == [("/$z", {"$z": "k"})]


level_keys = [st.sampled_from(["a", "b", f"$level{number}"]) for number in range(3)]
pattern_sets = st.lists(
    st.integers(0, 3).flatmap(lambda depth: st.tuples(*level_keys[:depth])), max_size=8
)


def governing(patterns: list[Pattern], place: Path) -> list[tuple[str, dict[str, str]]]:
    """Choose level by level: those with the literal key if any has it, else those with a name."""
    left = [pattern.keys for pattern in patterns]
    for number, key in enumerate(place.keys):
        deep = [keys for keys in left if len(keys) > number]
        left = [keys for keys in deep if keys[number] == key] or [
            keys for keys in deep if is_name(keys[number])
        ]
    found = {Pattern(keys) for keys in left if len(keys) == len(place.keys)}
    return [(str(pattern), pattern.match(place) or {}) for pattern in found]


@given(pattern_sets, st.lists(st.sampled_from("abc"), max_size=3))
def test_the_trie_finds_what_choosing_among_all_patterns_finds(
    pattern_keys: list[tuple[str, ...]], place_keys: list[str]
) -> None:
    patterns = [Pattern(keys) for keys in pattern_keys]
    place = Path(tuple(place_keys))
    assert patterns_of(*map(str, patterns)).find(place) == governing(patterns, place)
