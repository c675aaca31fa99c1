"""The rules that bind a write are those of its own transaction."""

from dataclasses import replace
from pathlib import Path as FilePath

from treedb.config import DEFAULT_LIMITS
from treedb.rules.authority import Authority
from treedb.rules.loader import parse_rules
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.writes.rules_in_force import RulesInForce

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
DEFAULT = Authority.of(parse_rules('{"rules": {}}'), counting=False)
ONE = '{"rules": {"one": {".read": true}}}'
TWO = '{"rules": {"two": {".read": true}}}'


def test_kept_rules_replace_the_default_ones_and_an_aborted_transaction_changes_nothing(
    tmp_path: FilePath,
) -> None:
    store = Store.open(tmp_path, LIMITS)
    rules = RulesInForce(DEFAULT, counting=False)
    with store.transaction() as transaction:
        assert rules.in_force(transaction) is DEFAULT
        transaction.apply(Commit(1, 0, Patch(()), None, None, ONE), KeptRules(1, ONE, Origin.FILE))
        assert rules.in_force(transaction).ruleset.text == ONE
    rules.forget()
    with store.transaction() as transaction:
        assert rules.in_force(transaction) is DEFAULT
        transaction.apply(Commit(1, 0, Patch(()), None, None, TWO), KeptRules(1, TWO, Origin.FILE))
        kept = rules.in_force(transaction)
        assert kept.ruleset.text == TWO
        assert rules.in_force(transaction) is kept
        transaction.commit()
    store.close()
