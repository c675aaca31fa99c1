"""What a write brings with it: the other sides of mirrors, then the counts of collections.

Each kind of derived data is a pure function of a patch and the tree before it, and gives the patch
with what it adds. A kind may see what those before it added, and never the other way round: the
rules are refused where a place of one kind would feed another that comes before it.
"""

from treedb.rules.ruleset import Ruleset
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.writes.counters import count
from treedb.writes.mirrors import complete


def derive(patch: Patch, reader: Reader, ruleset: Ruleset) -> Patch:
    """Return the patch with everything that the rules derive from it; see `complete` and `count`."""
    mirrored = complete(patch, reader, ruleset.mirrors, ruleset.limits)
    return count(mirrored, reader, ruleset.counters)
