"""Open an LMDB environment the one way it keeps what it promises, and make room in it.

The choices and their reasons: engine 0.9, asserted, because the two engines' files cannot be read
by each other and an environment variable could switch it; default sync flags, because every other
setting loses acknowledged writes at a power cut; no writemap, because a full disk would then kill
the process; a map so large that it never matters, because growing it ends open transactions; many
reader slots, because only the first opener can set them; directories fsynced when created, because
LMDB does not. The lock file is never opened here: closing a second descriptor of it would drop
LMDB's own locks, and with them the protection of every reader.
"""

import os
import stat
from pathlib import Path

import lmdb

from treedb.config import Limits
from treedb.errors import StoreError

ENGINE = (0, 9)
SUBDATABASES = 5
SPARE_TRANSACTIONS = 16

# Locks, memory maps or fsync do not hold there what LMDB needs.
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "afs"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone"}
)


def open_environment(directory: Path, limits: Limits, *, fsync: bool) -> lmdb.Environment:
    """Open or create the environment in `directory`; StoreError says why it cannot be."""
    _make_directory(directory)
    _refuse_network_file_system(directory)
    try:
        environment = lmdb.open(
            str(directory),
            map_size=limits.map_bytes,
            max_readers=limits.readers,
            max_dbs=SUBDATABASES,
            max_spare_txns=SPARE_TRANSACTIONS,
            mode=0o600,
            sync=fsync,
            metasync=fsync,
            writemap=False,
            lib_version=0,
        )
    except (lmdb.Error, MemoryError, OSError) as error:
        raise StoreError(
            f"The database in {directory} cannot be opened: {error}. Check that the folder is "
            "readable and writable, and that no other program replaced its files."
        ) from error
    engine = environment.lib_version()[:2]
    if engine != ENGINE:
        environment.close()
        raise StoreError(
            f"The database in {directory} was opened with LMDB engine {engine}, treedb needs "
            f"{ENGINE}; install the lmdb wheel that treedb's pyproject.toml names."
        )
    environment.reader_check()
    return environment


def sync_directory(directory: Path) -> None:
    """Make the names in a directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_directory(directory: Path) -> None:
    if directory.is_symlink():
        raise StoreError(
            f"{directory} is a symbolic link; treedb opens real folders only. "
            "Name the folder itself."
        )
    if directory.is_dir():
        return
    try:
        for folder in [*reversed(directory.parents), directory]:
            if not folder.exists():
                folder.mkdir(mode=0o700)
                sync_directory(folder.parent)
    except OSError as error:
        raise StoreError(f"The folder {directory} cannot be created: {error}.") from error


def _refuse_network_file_system(directory: Path) -> None:
    kind = file_system_of(directory)
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{directory} is on a network file system ({kind}), where LMDB can lose data. "
            "Use a folder on a local disk."
        )


def file_system_of(directory: Path) -> str:
    """Return the type of the file system a directory is on, "" when it cannot be told."""
    device = _device_of(directory)
    try:
        table = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    for line in table.splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split()[2] == device:
            return source.split()[0]
    return ""


def _device_of(directory: Path) -> str:
    status = directory.stat()
    assert stat.S_ISDIR(status.st_mode)
    return f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
