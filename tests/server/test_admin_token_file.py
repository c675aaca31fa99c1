import os
import threading
from pathlib import Path

import pytest

from treedb.clock import SystemClock
from treedb.errors import SettingsError
from treedb.server.admin_token_file import FILE, keep_admin_token

TOKEN = "5f1d-an-admin-token-for-tests-5f1d"
random_bits = SystemClock().random_bits


def no_bits(count: int) -> int:
    raise AssertionError("a token is there already")


def kept(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    file = folder / FILE
    file.write_bytes(content)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_token_is_made_for_its_owner_only(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        token = keep_admin_token(tmp_path, random_bits)
    finally:
        os.umask(before)
    assert len(token) == 64
    assert (tmp_path / FILE).read_text() == token + "\n"
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [FILE], "nothing is left beside it"


def test_it_stays_the_same_from_then_on(tmp_path: Path) -> None:
    assert keep_admin_token(tmp_path, random_bits) == keep_admin_token(tmp_path, no_bits)


@pytest.mark.parametrize("content", [TOKEN.encode(), TOKEN.encode() + b"\n"])
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_token_put_there_by_hand_counts(tmp_path: Path, content: bytes, mode: int) -> None:
    kept(tmp_path, content, mode)
    assert keep_admin_token(tmp_path, no_bits) == TOKEN


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o666])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    file = kept(tmp_path, TOKEN.encode(), mode)
    with pytest.raises(SettingsError, match=rf"has mode {mode:04o}.*chmod 600 {file}"):
        keep_admin_token(tmp_path, no_bits)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"two words\n", TOKEN.encode() + b"\n\n", b"\xff", b"owner\n", b"a" * 9000],
)
def test_a_file_that_holds_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    kept(tmp_path, content)
    with pytest.raises(SettingsError, match=r"holds no admin token\. Remove it"):
        keep_admin_token(tmp_path, no_bits)
    assert (tmp_path / FILE).read_bytes() == content


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(SettingsError, match="cannot be kept in"):
        keep_admin_token(tmp_path, no_bits)


def test_a_data_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="or set admin_token"):
        keep_admin_token(tmp_path / "nowhere", random_bits)


def test_servers_that_start_together_use_one_token(tmp_path: Path) -> None:
    start = threading.Barrier(8)
    tokens: list[str] = []

    def serve() -> None:
        start.wait()
        tokens.append(keep_admin_token(tmp_path, random_bits))

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens) == 8
    assert len(set(tokens)) == 1
    assert [each.name for each in tmp_path.iterdir()] == [FILE]
