import dataclasses
from types import MappingProxyType

import pytest

from treedb.auth.identity import ADMIN, Auth
from treedb.rules.scope import (
    NO_QUERY,
    REALTIME_READ,
    REST_READ,
    QueryVariables,
    Scope,
    auth_variable,
)
from treedb.rules.trees import Budget, OldTree
from treedb.tree.reader import ValueReader


def test_rules_see_uid_provider_and_claims_of_a_user() -> None:
    claims = {"sub": "zoe", "firebase": {"sign_in_provider": "password"}, "plan": "pro"}
    auth = Auth("zoe", MappingProxyType(claims), is_admin=False, expires_at_ms=None)
    assert auth_variable(auth) == {"uid": "zoe", "provider": "password", "token": claims}


def test_rules_see_what_was_written_down_to_be_seen() -> None:
    auth = Auth("zoe", {}, is_admin=False, expires_at_ms=None, variable={"uid": "zoe", "x": 1})
    assert auth_variable(auth) == {"uid": "zoe", "x": 1}


def test_nobody_is_null() -> None:
    assert auth_variable(None) is None


def test_admins_are_not_asked_for() -> None:
    with pytest.raises(AssertionError):
        auth_variable(ADMIN)


def test_reads_without_a_query_differ_by_transport() -> None:
    flags = ("orderByKey", "orderByValue", "orderByPriority")
    assert [REALTIME_READ.members()[flag] for flag in flags] == [False, False, True]
    assert [REST_READ.members()[flag] for flag in flags] == [True, False, False]
    assert [NO_QUERY.members()[flag] for flag in flags] == [False, False, False]
    rest = {name: value for name, value in REST_READ.members().items() if name not in flags}
    assert set(rest.values()) == {None}


def test_every_part_of_a_query_is_a_member() -> None:
    values = (True, True, True, "a/b", 1, "z", 5, 10, 20)
    query = QueryVariables(*values)
    assert tuple(query.members().values()) == values
    assert len(values) == len(dataclasses.fields(QueryVariables))


def test_auth_of_another_mapping_is_read_as_a_dict() -> None:
    budget = Budget(0)
    tree = OldTree(ValueReader(None), budget)
    scope = Scope((tree, tree), MappingProxyType({"uid": "zoe"}), 5, NO_QUERY, budget)
    assert scope.auth == {"uid": "zoe"}
    assert type(scope.auth) is dict
