"""The authoriser lets admins by, asks the rules about others, and explains only where it may."""

import pytest

from treedb.auth.identity import ADMIN, Auth
from treedb.errors import PermissionDenied
from treedb.paths.path import ROOT, Path
from treedb.rules.authority import NOBODY, SERVER, Authority, Caller, Operation
from treedb.rules.loader import parse_rules
from treedb.rules.scope import REST_READ
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader

RULES = """{"rules": {
  "open": {".read": true},
  "own": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid"}},
  "rooms": {"$room": {".read": "root.child('members').child($room).child(auth.uid).exists()"}},
  "rest": {".read": "query.orderByKey"}
}}"""
TREE = ValueReader({"members": {"alpha": {"mchen": True}}, "own": {"mchen": 1}})
MARY = Caller(Auth("mchen", {}, is_admin=False, expires_at_ms=None))
AUTHORITY = Authority.of(parse_rules(RULES), counting=False)


def path(text: str) -> Path:
    return Path.parse(text)


def may_read(text: str, caller: Caller, authority: Authority = AUTHORITY) -> frozenset[Path]:
    return authority.permit_read(path(text), TREE, caller, 0)


def may_write(text: str, caller: Caller) -> None:
    patch = Patch(((path(text), 5),))
    AUTHORITY.permit_write(patch, TREE, caller, 0, operation=Operation("set", path(text)))


@pytest.mark.parametrize(
    ("text", "caller"),
    [
        ("/open", NOBODY),
        ("/own/mchen", MARY),
        ("/rooms/alpha", MARY),
        ("/", SERVER),
        ("/rest", Caller(query=REST_READ)),
    ],
)
def test_reads_that_the_rules_give(text: str, caller: Caller) -> None:
    may_read(text, caller)


@pytest.mark.parametrize(
    ("text", "caller"),
    [("/", NOBODY), ("/own/mchen", NOBODY), ("/own/other", MARY), ("/rooms/beta", MARY), ("/rest", MARY)],
)  # fmt: skip
def test_reads_that_the_rules_do_not_give(text: str, caller: Caller) -> None:
    with pytest.raises(PermissionDenied):
        may_read(text, caller)


def test_a_permission_tells_what_data_it_depends_on() -> None:
    assert path("/members/alpha/mchen") in may_read("/rooms/alpha", MARY)
    assert may_read("/open", NOBODY) == frozenset()
    assert may_read("/rooms/alpha", SERVER) == frozenset()


def test_writes_are_asked_for_with_the_tree_as_it_would_be() -> None:
    may_write("/own/mchen", MARY)
    may_write("/anywhere", SERVER)
    with pytest.raises(PermissionDenied):
        may_write("/own/other", MARY)


def test_an_update_of_nothing_is_nobodys_business() -> None:
    AUTHORITY.permit_write(Patch(()), TREE, NOBODY, 0, operation=Operation("update", ROOT))


@pytest.mark.parametrize("wants_reason", [True, False])
def test_only_who_wants_and_may_know_learns_why(wants_reason: bool) -> None:
    caller = Caller(MARY.auth, wants_reason=wants_reason)
    for ask in (lambda: may_read("/own/other", caller), lambda: may_write("/own/other", caller)):
        with pytest.raises(PermissionDenied) as denied:
            ask()
        assert ("auth.uid === $uid" in denied.value.detail) is wants_reason


def test_checks_are_counted_only_when_asked_to() -> None:
    counting = Authority.of(parse_rules(RULES), counting=True)
    may_read("/own/mchen", MARY, counting)
    assert counting.coverage is not None
    rules = counting.coverage.report()["rules"]
    assert sum(rule["evaluated"] for rule in rules) == 1
    assert AUTHORITY.coverage is None


def test_an_admin_is_whoever_has_an_admins_credential() -> None:
    assert Caller(ADMIN).is_admin
    assert not MARY.is_admin
    assert not NOBODY.is_admin
