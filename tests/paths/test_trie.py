"""A trie finds the items at, above and below a path."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from treedb.paths.path import ROOT, Path
from treedb.paths.trie import PathTrie

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
