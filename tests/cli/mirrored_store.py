"""Stores with mirrors and counts in a data folder, whose data agrees with them or not."""

import json
from pathlib import Path as FilePath
from typing import Any

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import ROOT, Path
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value

RULES: dict[str, Any] = {
    "rules": {
        ".read": True,
        ".write": True,
        "groups": {"$g": {"members": {".count": "/groups/$g/size"}}},
        "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}},
    }
}
MIRROR = "mirror (copy) /users/$u/groups/$g /groups/$g/members/$u"
COUNT = "count /groups/$g/members /groups/$g/size"
AGREEING: Value = {
    "users": {"ann": {"groups": {"a": True}}},
    "groups": {"a": {"members": {"ann": True}, "size": 1}},
}


def make_store(
    data: FilePath, value: Value, rules: object = RULES, namespace: str = "default"
) -> None:
    """Make a store that keeps rules, and a value as it stands."""
    store = Store.open(data / namespace, DEFAULT_LIMITS, fsync=False)
    text = json.dumps(rules)
    with store.transaction() as transaction:
        first = Commit(1, 0, Patch(()), None, None, text)
        transaction.apply(first, None if rules is None else KeptRules(1, text, Origin.ADMIN))
        transaction.apply(Commit(2, 0, Patch(((ROOT, value),)), None, None))
        transaction.commit()
    store.close()


def write_past_the_rules(data: FilePath, namespace: str, place: str, value: Value) -> None:
    """Write one place and nothing beside it, as a fault would."""
    store = Store.open(data / namespace, DEFAULT_LIMITS, fsync=False)
    with store.transaction() as transaction:
        change = Patch(((Path.parse(place), value),))
        transaction.apply(Commit(transaction.revision + 1, 0, change, None, None))
        transaction.commit()
    store.close()


def value_of(data: FilePath, namespace: str = "default") -> Value:
    store = Store.open(data / namespace, DEFAULT_LIMITS, fsync=False)
    try:
        with store.snapshot() as snapshot:
            return snapshot.tree.get(ROOT)
    finally:
        store.close()
