from pathlib import Path

import pytest

from tests.cli.mirrored_store import AGREEING, COUNT, MIRROR, RULES, make_store, value_of
from treedb.cli import stored_mirrors
from treedb.cli.settings import SIDES
from treedb.cli.stored_mirrors import NOTHING, check, mend, parse_side, table, way_out
from treedb.cli.stored_namespace import opened
from treedb.errors import WrongUse
from treedb.store.kept_derived import CheckedDeclaration, KeptBackfill
from treedb.store.store import Store
from treedb.tree.values import Value
from treedb.writes.mend import Side

MIRROR_MEANING = (
    "mirror: /users/$u/groups/$g exists exactly when /groups/$g/members/$u does, with the same "
    "value"
)
COUNT_MEANING = "count: /groups/$g/size is the number of children of /groups/$g/members"
DIFFERING: Value = {
    "users": {"ann": {"groups": {"a": True, "b": 1}}},
    "groups": {"b": {"members": {"ann": 2, "bob": True}, "size": 7}},
}


def checked(data: Path) -> tuple[int, list[str]]:
    lines: list[str] = []
    with opened(data, "default") as store:
        return check(store, lines.append), lines


def mended(data: Path, side: Side) -> tuple[list[str], list[str]]:
    told, progress = list[str](), list[str]()
    with opened(data, "default") as store:
        mend(store, side, told.append, progress.append)
    return told, progress


def keep_backfills(store: Store, *backfills: KeptBackfill) -> None:
    with store.transaction() as transaction:
        transaction.keep_backfills(backfills)
        transaction.commit()


def test_the_sides_of_the_settings_are_all_there_are() -> None:
    assert tuple(side.value for side in Side) == SIDES


def test_a_side_that_is_none_is_wrong_use() -> None:
    assert parse_side("--fix", "union") is Side.UNION
    with pytest.raises(WrongUse) as refused:
        parse_side("--fix", "left")
    assert refused.value.reason == "--fix is left; allowed: source, target, union."


# Seeing


def test_the_table_tells_what_is_kept_and_what_was_found(tmp_path: Path) -> None:
    make_store(tmp_path, AGREEING)
    with opened(tmp_path, "default") as store:
        assert table(store).splitlines() == [
            "kept   of                   at                     rules  entries  faults  state",
            "copy   /users/$u/groups/$g  /groups/$g/members/$u  1:151  ?        ?       kept",
            "count  /groups/$g/members   /groups/$g/size        1:83   ?        ?       kept",
            "last checked: never",
        ]
    checked(tmp_path)
    with opened(tmp_path, "default") as store:
        rows = table(store).splitlines()
    assert [row.split()[4:] for row in rows[1:3]] == [["1", "0", "kept"], ["1", "0", "kept"]]
    assert rows[3] == "last checked: at revision 2"


def test_the_table_tells_what_is_under_way(tmp_path: Path) -> None:
    make_store(tmp_path, DIFFERING)
    with opened(tmp_path, "default") as store:
        keep_backfills(store, KeptBackfill(MIRROR, "source", entries=1500, changed=1))
        assert (
            table(store)
            .splitlines()[1]
            .endswith(
                "  being brought to agree: source is right, 1,500 entries seen, 1 place written, "
                "0 conflicts"
            )
        )


@pytest.mark.parametrize("rules", [None, {"rules": {".read": True}}])
def test_without_mirrors_there_is_nothing_to_see_or_check(tmp_path: Path, rules: object) -> None:
    make_store(tmp_path, AGREEING, rules)
    with opened(tmp_path, "default") as store:
        assert table(store) == NOTHING
    assert checked(tmp_path) == (0, [NOTHING, "0 faults in 0 mirrors and counts"])
    assert mended(tmp_path, Side.UNION) == ([], [])
    assert value_of(tmp_path) == AGREEING


# Checking


def test_what_agrees_has_no_faults(tmp_path: Path) -> None:
    make_store(tmp_path, AGREEING)
    assert checked(tmp_path) == (
        0,
        [
            MIRROR_MEANING,
            "  1 entry, 0 faults",
            COUNT_MEANING,
            "  1 entry, 0 faults",
            "0 faults in 2 mirrors and counts",
        ],
    )


def test_each_fault_is_a_line_with_its_place(tmp_path: Path) -> None:
    make_store(tmp_path, DIFFERING)
    assert checked(tmp_path) == (
        4,
        [
            MIRROR_MEANING,
            "  3 entries, 3 faults",
            "  /groups/a/members/ann is missing: /users/ann/groups/a is there",
            "  /groups/b/members/ann differs from /users/ann/groups/b",
            "  /users/bob/groups/b is missing: /groups/b/members/bob is there",
            COUNT_MEANING,
            "  1 entry, 1 fault",
            "  /groups/b/size is 7: /groups/b/members has 2 children",
            "4 faults in 2 mirrors and counts",
        ],
    )


def test_many_faults_are_counted(tmp_path: Path) -> None:
    groups: Value = {f"g{number:02}": True for number in range(50)}
    make_store(tmp_path, {"users": {"ann": {"groups": groups}}}, one_mirror())
    faults, lines = checked(tmp_path)
    assert faults == 50
    assert len(lines) == 2 + 20 + 2
    assert lines[-2:] == ["  and 30 more", "50 faults in 1 mirror or count"]


def test_what_a_check_found_is_kept(tmp_path: Path) -> None:
    make_store(tmp_path, DIFFERING)
    checked(tmp_path)
    with opened(tmp_path, "default") as store, store.snapshot() as snapshot:
        found = snapshot.last_check()
    assert found is not None
    assert found.revision == 2
    assert [(each.name, each.entries, each.faults) for each in found.declarations] == [
        (MIRROR, 3, 3),
        (COUNT, 1, 1),
    ]
    assert found.declarations[1] == CheckedDeclaration(
        COUNT, 1, 1, ("/groups/b/size is 7: /groups/b/members has 2 children",)
    )


def test_faults_that_a_backfill_may_not_have_come_to_are_told_as_such(tmp_path: Path) -> None:
    make_store(tmp_path, DIFFERING)
    with opened(tmp_path, "default") as store:
        keep_backfills(store, KeptBackfill(COUNT, "target"))
    faults, lines = checked(tmp_path)
    assert faults == 4
    assert [line for line in lines if "being brought" in line] == [
        "  being brought to agree: target is right, 0 entries seen, 0 places written, 0 conflicts"
    ]
    assert lines.index("  1 entry, 1 fault") < len(lines) - 3


def test_the_way_out_is_a_command_or_tells_what_is_left() -> None:
    assert way_out(Path("my data"), "a", None) == (
        "Mend them, by the side that is right: treedb mirrors repair source|target|union "
        "--data 'my data' --ns a"
    )
    assert "another side" in way_out(Path("data"), "a", Side.UNION)


# Mending


@pytest.mark.parametrize(
    "side, users, size",
    [
        (Side.SOURCE, {"ann": {"groups": {"a": True, "b": 1}}}, 1),
        (Side.TARGET, {"ann": {"groups": {"b": 2}}, "bob": {"groups": {"b": True}}}, 2),
    ],
)
def test_a_side_mends_every_fault(tmp_path: Path, side: Side, users: Value, size: int) -> None:
    make_store(tmp_path, DIFFERING)
    mended(tmp_path, side)
    assert checked(tmp_path)[0] == 0
    value = value_of(tmp_path)
    assert isinstance(value, dict)
    assert value["users"] == users
    groups = value["groups"]
    assert isinstance(groups, dict)
    group = groups["b"]
    assert isinstance(group, dict)
    assert group["size"] == size


def test_what_a_side_does_not_decide_is_told_and_left(tmp_path: Path) -> None:
    make_store(tmp_path, DIFFERING)
    told, _ = mended(tmp_path, Side.UNION)
    assert told[0] == "left as it is: /groups/b/members/ann differs from /users/ann/groups/b"
    assert [line.split(": ")[0] for line in told[1:]] == [MIRROR, COUNT]
    assert told[1].endswith("2 places written, 1 conflict")
    faults, lines = checked(tmp_path)
    assert faults == 1
    assert "  /groups/b/members/ann differs from /users/ann/groups/b" in lines


def test_a_value_above_an_entry_is_never_lost(tmp_path: Path) -> None:
    tree: Value = {"users": {"ann": {"groups": {"a": True}}}, "groups": {"a": "closed"}}
    make_store(tmp_path, tree)
    told, _ = mended(tmp_path, Side.SOURCE)
    assert told[0] == (
        "left as it is: /groups/a/members/ann cannot be written: /groups/a holds a value that "
        "would be lost"
    )
    assert value_of(tmp_path) == tree
    assert checked(tmp_path)[0] == 1


def test_many_conflicts_are_counted(tmp_path: Path) -> None:
    ones: Value = {f"g{number:02}": 1 for number in range(30)}
    groups: Value = {f"g{number:02}": {"members": {"ann": 2}} for number in range(30)}
    make_store(tmp_path, {"users": {"ann": {"groups": ones}}, "groups": groups}, one_mirror())
    told, _ = mended(tmp_path, Side.UNION)
    assert len(told) == 20 + 1
    assert told[-1].endswith("30 conflicts")


def test_progress_is_told_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_mirrors, "ENTRIES_PER_STEP", 10)
    monkeypatch.setattr(stored_mirrors, "STEPS_PER_LINE", 2)
    groups: Value = {f"g{number:02}": True for number in range(50)}
    make_store(tmp_path, {"users": {"ann": {"groups": groups}}}, one_mirror())
    _, progress = mended(tmp_path, Side.SOURCE)
    assert progress[0] == (
        f"{MIRROR}: source is right, 20 entries seen, 20 places written, 0 conflicts"
    )
    assert checked(tmp_path)[0] == 0


def test_an_end_in_the_middle_leaves_the_rest_to_who_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_mirrors, "ENTRIES_PER_STEP", 1)
    monkeypatch.setattr(stored_mirrors, "STEPS_PER_LINE", 1)
    make_store(tmp_path, DIFFERING)

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt(line)

    with pytest.raises(KeyboardInterrupt), opened(tmp_path, "default") as store:
        mend(store, Side.SOURCE, lambda _: None, interrupt)
    with opened(tmp_path, "default") as store, store.snapshot() as snapshot:
        first, second = snapshot.backfills()
    assert (first.name, first.entries, second.name) == (MIRROR, 1, COUNT)
    mended(tmp_path, Side.TARGET)
    assert checked(tmp_path)[0] == 0
    with opened(tmp_path, "default") as store, store.snapshot() as snapshot:
        assert snapshot.backfills() == ()


def one_mirror() -> object:
    return {"rules": {"users": RULES["rules"]["users"]}}
