"""Callers: who learns why, and whom an admin may act as."""

import pytest

from treedb.auth.identity import ADMIN, Auth
from treedb.errors import InvalidQuery
from treedb.rules.scope import REALTIME_READ, REST_READ
from treedb.server.callers import Callers, acting_as

USER = Auth("mchen", {}, is_admin=False, expires_at_ms=None)
DEBUGGER = Auth("mchen", {"debug": True}, is_admin=False, expires_at_ms=None)
TRUTHY = Auth("mchen", {"debug": "yes"}, is_admin=False, expires_at_ms=None)


@pytest.mark.parametrize(
    "to_all, auth, explains, learns",
    [
        (True, None, True, True),
        (True, USER, False, False),
        (False, USER, True, False),
        (False, None, True, False),
        (False, DEBUGGER, True, True),
        (False, DEBUGGER, False, False),
        (False, TRUTHY, True, False),
    ],
)
def test_only_who_asks_and_may_know_learns_why(
    to_all: bool, auth: Auth | None, explains: bool, learns: bool
) -> None:
    callers = Callers(lambda _: ADMIN, explains_to_all=to_all)
    assert callers.caller(auth, explains=explains).wants_reason is learns


def test_a_caller_asks_as_its_transport_does() -> None:
    callers = Callers(lambda _: ADMIN, explains_to_all=False)
    assert callers.caller(USER).query == REALTIME_READ
    assert callers.caller(USER, REST_READ).query == REST_READ


def test_an_admin_acts_as_a_user_or_as_nobody() -> None:
    acting = acting_as(ADMIN, {"uid": "zoe", "vip": True})
    assert acting is not None
    assert (acting.uid, acting.is_admin) == ("zoe", False)
    assert acting.seen_by_rules == {"uid": "zoe", "vip": True}
    assert acting_as(ADMIN, None) is None


@pytest.mark.parametrize("auth", [None, USER])
def test_nobody_else_may_act_as_another(auth: Auth | None) -> None:
    with pytest.raises(InvalidQuery, match="admin"):
        acting_as(auth, {"uid": "zoe"})
