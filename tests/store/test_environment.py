"""Environments open the safe way or not at all."""

import os
from pathlib import Path

import pytest

from treedb.config import Limits
from treedb.errors import StoreError
from treedb.store.environment import ENGINE, file_system_of, open_environment

LIMITS = Limits(map_bytes=1 << 26)


def test_a_new_environment_is_private_synced_and_of_the_pinned_engine(tmp_path: Path) -> None:
    directory = tmp_path / "data" / "default"
    with open_environment(directory, LIMITS, fsync=True) as environment:
        flags = environment.flags()
        assert (flags["sync"], flags["metasync"], flags["writemap"]) == (True, True, False)
        assert environment.lib_version()[:2] == ENGINE
        assert environment.max_readers() == LIMITS.readers
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "data.mdb").stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StoreError, match="symbolic link"):
        open_environment(tmp_path / "link", LIMITS, fsync=True)


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be created"):
        open_environment(tmp_path / "file" / "data", LIMITS, fsync=True)


def test_a_file_of_junk_is_refused_with_its_folder_named(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"junk" * 4096)
    with pytest.raises(StoreError, match=str(tmp_path)):
        open_environment(tmp_path, LIMITS, fsync=True)


def test_a_second_open_in_one_process_is_refused(tmp_path: Path) -> None:
    with (
        open_environment(tmp_path, LIMITS, fsync=True),
        pytest.raises(StoreError, match="cannot be opened"),
    ):
        open_environment(tmp_path, LIMITS, fsync=True)


def test_the_file_system_of_a_folder_is_told(tmp_path: Path) -> None:
    assert file_system_of(Path("/proc")) == "proc"
    assert file_system_of(tmp_path) != ""


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = os.stat(tmp_path).st_dev
    table = f"1 0 {os.major(device)}:{os.minor(device)} / / rw - nfs4 server:/x rw\n"
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_kwargs: table)
    with pytest.raises(StoreError, match=r"network file system \(nfs4\)"):
        open_environment(tmp_path, LIMITS, fsync=True)
