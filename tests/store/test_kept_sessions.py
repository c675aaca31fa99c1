"""What a session leaves to be written is on disk until it is written, or given up."""

from dataclasses import replace
from pathlib import Path as FilePath

import lmdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.strategies import any_paths, values
from treedb.auth.identity import ADMIN, Auth, stepped_down
from treedb.config import DEFAULT_LIMITS
from treedb.errors import MapFull
from treedb.paths.path import ROOT, Path
from treedb.store.kept_sessions import Entries, KeptSession, decode_session, encode_session
from treedb.store.store import Store

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
SESSION = KeptSession(
    Auth("mchen", {"sub": "mchen", "role": "editor", "n": [1, 2.5, None]}, False, None),
    {Path(("a", "b")): {".sv": "timestamp"}, ROOT: None, Path(("c", ".priority")): 1},
)


def kept(store: Store, session_id: str) -> KeptSession | None:
    with store.transaction() as transaction:
        return transaction.session(session_id)


def keep(store: Store, session_id: str, session: KeptSession) -> None:
    with store.transaction() as transaction:
        transaction.keep_session(session_id, encode_session(session))
        transaction.commit()


@given(st.dictionaries(any_paths, values))
def test_decoding_undoes_encoding(entries: Entries) -> None:
    session = KeptSession(None, entries)
    found = decode_session(encode_session(session))
    assert found == session
    assert [str(each) for each in found.entries.values()] == [str(v) for v in entries.values()]


@pytest.mark.parametrize(
    "auth",
    [
        None,
        ADMIN,
        SESSION.auth,
        stepped_down(ADMIN, {"uid": "ann", "deep": {"x": [1]}}),
        stepped_down(ADMIN, {}),
    ],
)
def test_who_the_client_was_is_kept(auth: Auth | None) -> None:
    assert decode_session(encode_session(KeptSession(auth, {}))).auth == auth


def test_an_expiry_is_not_kept() -> None:
    auth = Auth("mchen", {}, False, 5)
    found = decode_session(encode_session(KeptSession(auth, {})))
    assert found.auth == replace(auth, expires_at_ms=None)


def test_sessions_are_found_after_reopening_and_only_what_was_committed(
    tmp_path: FilePath,
) -> None:
    store = Store.open(tmp_path, LIMITS)
    keep(store, "one", SESSION)
    keep(store, "two", KeptSession(None, {ROOT: 1}))
    keep(store, "two", KeptSession(None, {ROOT: 2}))
    with store.transaction() as transaction:
        transaction.forget_session("one")
        transaction.keep_session("three", encode_session(SESSION))
    store.close()
    store = Store.open(tmp_path, LIMITS)
    with store.snapshot() as snapshot:
        assert snapshot.sessions() == ["one", "two"]
        assert snapshot.revision == 0, "keeping is no commit"
    assert kept(store, "one") == SESSION
    assert kept(store, "two") == KeptSession(None, {ROOT: 2})
    assert kept(store, "three") is None
    store.close()


def test_a_forgotten_session_is_gone_and_may_be_forgotten_again(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    keep(store, "one", SESSION)
    for _ in range(2):
        with store.transaction() as transaction:
            transaction.forget_session("one")
            transaction.commit()
    with store.snapshot() as snapshot:
        assert snapshot.sessions() == []
    store.close()


def test_a_store_of_before_gets_its_place_for_sessions(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    store.close()
    environment = lmdb.open(str(tmp_path), max_dbs=5)
    with environment.begin(write=True) as transaction:
        transaction.drop(environment.open_db(b"sessions", txn=transaction))
    environment.close()
    store = Store.open(tmp_path, LIMITS)
    keep(store, "one", SESSION)
    assert kept(store, "one") == SESSION
    store.close()


def test_a_full_map_is_told(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, replace(LIMITS, map_bytes=1 << 18))
    large = KeptSession(None, {ROOT: "x" * (1 << 20)})
    with store.transaction() as transaction, pytest.raises(MapFull):
        transaction.keep_session("one", encode_session(large))
    store.close()
