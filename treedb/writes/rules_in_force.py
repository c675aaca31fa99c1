"""The rules that bind a write: those that stand in the transaction it is planned in.

Another process may have put other rules since the last write, so each transaction is asked; the
text is looked at again only when its revision is another.
"""

from treedb.rules.authority import Authority
from treedb.rules.cache import ruleset_of
from treedb.store.store import Snapshot, WriteTransaction

UNKNOWN = -1


class RulesInForce:
    """The writer's own authority, kept up with the store; `default` where no rules are kept."""

    def __init__(self, default: Authority, *, counting: bool) -> None:
        self._default = default
        self._counting = counting
        self._revision = UNKNOWN
        self.authority = default

    def in_force(self, transaction: WriteTransaction | Snapshot) -> Authority:
        """Return the authority that binds in a transaction."""
        revision = transaction.rules_revision()
        if revision != self._revision:
            kept = transaction.rules()
            if kept is None:
                self.authority = self._default
            else:
                self.authority = Authority.of(ruleset_of(kept.text), counting=self._counting)
            self._revision = revision
        return self.authority

    def forget(self) -> None:
        """Look again: a transaction was given up, and its revisions will come a second time."""
        self._revision = UNKNOWN
