from pathlib import Path

import pytest

from treedb.cli.data_folder import data_folder


def test_the_folder_is_the_named_one_else_that_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEDB_DATA", str(tmp_path / "told"))
    assert data_folder(tmp_path / "named") == tmp_path / "named"
    assert data_folder(None) == tmp_path / "told"
