from treedb.rules.methods import CASE_MAKERS, SEARCH_MAKERS, SNAPSHOT_MAKERS
from treedb.rules.parser import LEVELS, SAME_AS
from treedb.rules.runtime import ARITHMETIC
from treedb.rules.scope import NO_QUERY
from treedb.rules.signatures import (
    OPERATORS,
    QUERY_MEMBERS,
    SNAPSHOT_METHODS,
    STRING_METHODS,
    VARIABLES,
    Takes,
)


def test_every_method_can_be_compiled() -> None:
    assert SNAPSHOT_METHODS.keys() == SNAPSHOT_MAKERS.keys() | {"child", "hasChild"}
    assert STRING_METHODS.keys() == CASE_MAKERS.keys() | SEARCH_MAKERS.keys() | {
        "replace",
        "matches",
    }


def test_every_operator_can_be_read_and_compiled() -> None:
    assert OPERATORS.keys() == ARITHMETIC.keys() | {"==", "!="}
    assert LEVELS.keys() == OPERATORS.keys() | SAME_AS.keys() | {"&&", "||"}


def test_the_query_has_the_members_the_checker_knows() -> None:
    assert list(NO_QUERY.members()) == list(QUERY_MEMBERS)


def test_everything_is_described_in_a_sentence() -> None:
    methods = [*SNAPSHOT_METHODS.values(), *STRING_METHODS.values()]
    about = [method.about for method in methods]
    about += [variable.about for variable in VARIABLES.values()]
    assert all(about)
    assert len(set(about)) == len(about)


def test_only_snapshots_and_strings_have_methods_with_arguments() -> None:
    with_arguments = {
        name
        for table in (SNAPSHOT_METHODS, STRING_METHODS)
        for name, method in table.items()
        if method.takes is not Takes.NOTHING
    }
    assert with_arguments == {
        "child", "hasChild", "hasChildren",
        "contains", "beginsWith", "endsWith", "replace", "matches",
    }  # fmt: skip
