"""Grants are found by listener and by what they depend on."""

from tests.listeners import Unheard
from treedb.paths.path import Path
from treedb.rules.authority import NOBODY
from treedb.sync.delivery import Watch
from treedb.sync.grants import Grant, Grants
from treedb.tree.patch import Patch


def path(text: str) -> Path:
    return Path.parse(text)


def grant(place: str, listener: Unheard, *depends_on: str) -> Grant:
    return Grant(Watch(path(place)), listener, NOBODY, frozenset(map(path, depends_on)), 0.0)


def depending(grants: Grants, *places: str) -> list[Grant]:
    return grants.depending_on(Patch(tuple((path(place), 1) for place in places)))


def test_a_change_at_above_or_below_what_a_grant_depends_on_finds_it_once() -> None:
    grants, listener = Grants(), Unheard()
    member = grant("/rooms/a", listener, "/members/a/mchen", "/admins/mchen")
    grants.add(member)
    for place in ("/members/a/mchen", "/members", "/", "/members/a/mchen/since"):
        assert depending(grants, place) == [member]
    assert depending(grants, "/members", "/admins") == [member]
    assert depending(grants, "/members/a/hmadi") == []
    assert depending(grants, "/rooms/a") == []


def test_a_new_grant_for_a_place_replaces_the_old() -> None:
    grants, listener = Grants(), Unheard()
    grants.add(grant("/a", listener, "/old"))
    newer = grant("/a", listener, "/new")
    grants.add(newer)
    assert depending(grants, "/old") == []
    assert depending(grants, "/new") == [newer]
    assert grants.every() == [newer]
    assert grants.get(Watch(path("/a")), listener) is newer


def test_removed_grants_are_gone_everywhere() -> None:
    grants, listener, other = Grants(), Unheard(), Unheard()
    grants.add(grant("/a", listener, "/x"))
    kept = grant("/a", other, "/x")
    grants.add(kept)
    grants.remove(Watch(path("/a")), listener)
    grants.remove(Watch(path("/a")), listener)
    grants.remove(Watch(path("/never")), other)
    assert grants.of(listener) == []
    assert grants.of(other) == [kept]
    assert grants.get(Watch(path("/a")), listener) is None
    assert depending(grants, "/x") == [kept]


def test_without_dependencies_nothing_is_looked_for() -> None:
    grants = Grants()
    grants.add(grant("/a", Unheard()))
    assert depending(grants, "/a") == []
