"""The admin token that was made for an operator who gave none, kept in the data folder.

    treedb-data/admin.token     one line, readable by its owner only (mode 0600)

No namespace's folder can have that name, which has a dot in it. The file appears whole or not at
all: of two servers that start together on a new folder, one makes the token and both use it.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path as FilePath
from tempfile import NamedTemporaryFile
from typing import Final

from treedb.auth.admin_token import check_admin_token, make_admin_token
from treedb.auth.token_text import TOKEN_BYTES
from treedb.errors import SettingsError
from treedb.store.environment import sync_directory

FILE: Final = "admin.token"
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def keep_admin_token(folder: FilePath, random_bits: Callable[[int], int]) -> str:
    """Return the token kept in a data folder, made now if there is none.

    Raises SettingsError when it can be neither read nor made, when others than its owner may read
    or change it, and when what it holds is no token.
    """
    file = folder / FILE
    try:
        if not file.exists():
            _make(file, random_bits)
        return _read(file)
    except OSError as error:
        raise SettingsError(
            f"the admin token cannot be kept in {file}: {error.strerror}. Let the server write "
            "there, or set admin_token."
        ) from error


def _read(file: FilePath) -> str:
    with file.open("rb") as opened:
        _check_mode(file, stat.S_IMODE(os.fstat(opened.fileno()).st_mode))
        content = opened.read(TOKEN_BYTES + 2)
    text = content.removesuffix(b"\n").decode("ascii", "replace")
    try:
        check_admin_token(text)
    except SettingsError as error:
        raise SettingsError(
            f"{file} holds no admin token. Remove it, and the next start makes a new one. "
            f"({error.reason})"
        ) from error
    return text


def _check_mode(file: FilePath, mode: int) -> None:
    if mode & OTHERS:
        raise SettingsError(
            f"{file} has mode {mode:04o}: others could read or change the admin token. Make it "
            f"yours alone with `chmod 600 {file}`; if others had the chance to read it, remove it "
            "and the next start makes a new one."
        )


def _make(file: FilePath, random_bits: Callable[[int], int]) -> None:
    text = make_admin_token(random_bits)
    with NamedTemporaryFile("wb", dir=file.parent, prefix=f"{FILE}.") as beside:  # mode 0600
        beside.write(text.encode() + b"\n")
        beside.flush()
        os.fsync(beside.fileno())
        try:
            file.hardlink_to(beside.name)
        except FileExistsError:
            return  # another process was quicker, and its token counts
    sync_directory(file.parent)
