"""How a database is guarded where it keeps no rules of its own, and what is watched."""

from dataclasses import dataclass

from treedb.rules.authority import Authority
from treedb.rules.cache import ruleset_of


@dataclass(frozen=True, slots=True)
class Access:
    """How a database is guarded where it keeps no rules of its own, and what is watched.

    `default_rules` bind until rules are put. With `counts_coverage` every check is counted, which
    is for development. Without `rechecks_data` a listener keeps its permission when the data that
    its rule read changes.
    """

    default_rules: str
    counts_coverage: bool = False
    rechecks_data: bool = True

    def authority(self, text: str | None = None) -> Authority:
        """Return the authority of a rules text, of the default rules without one."""
        ruleset = ruleset_of(self.default_rules if text is None else text)
        return Authority.of(ruleset, counting=self.counts_coverage)
