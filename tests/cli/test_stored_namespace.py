import stat
from pathlib import Path

import pytest

from tests.cli.indexed_store import make_store
from treedb.cli.stored_namespace import opened, options_of
from treedb.errors import InvalidNamespace, WrongUse


def test_a_namespace_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("absent", "empty"):
        with (
            pytest.raises(WrongUse, match=f"there is no namespace {name} in .*data.mdb is not"),
            opened(tmp_path, name),
        ):
            pass
    assert [each.name for each in tmp_path.rglob("*")] == ["empty"]


def test_a_data_folder_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="there is no namespace"), opened(tmp_path / "no", "a"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../default", "", "A", "a/b"])
def test_a_wrong_name_leads_nowhere(tmp_path: Path, name: str) -> None:
    make_store(tmp_path, "default", 1)
    with pytest.raises(InvalidNamespace), opened(tmp_path / "default", name):
        pass


def test_the_files_stay_their_owners_alone(tmp_path: Path) -> None:
    make_store(tmp_path, "default", {"a": 1})
    with opened(tmp_path, "default"):
        pass
    modes = {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "default").iterdir()}
    assert modes == {0o600}


def test_the_options_are_those_of_a_shell() -> None:
    assert options_of(Path("my data"), "a") == "--data 'my data' --ns a"
