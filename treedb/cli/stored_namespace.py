"""One namespace straight from its store, beside a server or without one.

Any number of processes may have an LMDB environment open. What is read is one snapshot, in which
everything belongs together whatever a server writes meanwhile. What is written waits its turn with
the server's writes, and is to leave the server a turn after each step.
"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treedb.config import DEFAULT_LIMITS
from treedb.errors import WrongUse
from treedb.server.namespaces import check_namespace
from treedb.store.store import Store


@contextmanager
def opened(data: Path, namespace: str) -> Iterator[Store]:
    """Open a namespace's store for a while; WrongUse when there is none, since none is made."""
    check_namespace(namespace)
    directory = data / namespace
    file = directory / "data.mdb"
    try:
        is_there = file.is_file()
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror}.") from error
    if not is_there:
        raise WrongUse(
            f"there is no namespace {namespace} in {data}: {file} is not there. Name the data "
            "folder with --data and the namespace with --ns."
        )
    store = Store.open(directory, DEFAULT_LIMITS)
    try:
        yield store
    finally:
        store.close()


def options_of(data: Path, namespace: str) -> str:
    """Return the options by which a command finds the namespace, as a shell takes them."""
    return f"--data {shlex.quote(str(data))} --ns {namespace}"
