"""Whether data that is there agrees with mirrors and counts that rules bring.

What is derived of a write relies on what stood before it, so rules whose mirrors or counts the data
contradicts are refused, with the places named, unless they come with the side that is right: then
the data is brought to agree, and only what that side does not decide is refused. The look at all of
it is taken before the rules are put, on a snapshot. When they are, only what commits touched since
is looked at again, within the transaction that puts them in force: so nothing slips through, and no
write waits for a long look.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from treedb.errors import Finding, RulesError
from treedb.rules.derivation import Declaration, find_derivation
from treedb.rules.ruleset import Ruleset
from treedb.store.kept_derived import KeptBackfill
from treedb.tree.commit import Commit
from treedb.tree.reader import Reader
from treedb.writes.derived_check import (
    Fault,
    Judge,
    check_derived,
    declarations_of,
    fault_of,
    name_of,
    sides_of,
)
from treedb.writes.mend import Side, mend
from treedb.writes.touched_entries import touched_entries

_HINTS: Final = {
    True: "give the side that is right, source, target or union, as --mirror-backfill, or mend "
    "the data, and put the rules again",
    False: "mend these places, or give another side, and put the rules again",
}


@dataclass(frozen=True, slots=True)
class Gained:
    """The mirrors and counts that new rules have and the old have not, and which side is right."""

    ruleset: Ruleset
    declarations: tuple[Declaration, ...]
    side: Side | None = None

    @classmethod
    def by(cls, new: Ruleset, old: Ruleset, side: Side | None = None) -> "Gained":
        """Compare two sets of rules; where a declaration stands in the file makes no difference."""
        known = declarations_of(old)
        gained = [each for name, each in declarations_of(new).items() if name not in known]
        return cls(new, tuple(gained), side)

    def __bool__(self) -> bool:
        return bool(self.declarations)

    def look(self, reader: Reader) -> Generator[None, None, list[Fault]]:
        """Return the first that stands against them in a tree, yielding where others may go on."""
        found: list[Fault] = []
        for fault in check_derived(reader, self.declarations, self._judge):
            if fault is None:
                yield
                continue
            found.append(fault)
            if len(found) == self.ruleset.limits.rules_findings:
                break
        return found

    def look_again(self, reader: Reader, commits: Sequence[Commit] | None) -> Iterator[Fault]:
        """Yield what stands against them in a tree that was looked at before its last commits.

        None stands for commits that are not known. A commit above the entries may have removed
        any; then, too, all are looked at.
        """
        patches = [] if commits is None else [commit.patch for commit in commits]
        changes = [change for patch in patches for change in patch.changes]
        deepest = max(len(each.keys) for one in self.declarations for each in sides_of(one))
        if commits is None or any(len(path.keys) < deepest for path, _ in changes):
            whole = check_derived(reader, self.declarations, self._judge)
            yield from (fault for fault in whole if fault is not None)
            return
        for path, value in changes:
            for declaration in self.declarations:
                for side in sides_of(declaration):
                    for names in touched_entries(side, path, value, reader):
                        yield from filter(None, [self._judge(reader, declaration, names)])

    def refuse(self, faults: Iterable[Fault]) -> None:
        """Raise RulesError when there are faults; it names the first of them."""
        if not self.declarations:
            return
        is_undecided = self.side is None
        what = "The data disagrees" if is_undecided else "The data cannot be brought to agree"
        findings = [
            Finding(
                *self._position(fault), f"{what}: {fault}.", _HINTS[is_undecided], str(fault.path)
            )
            for fault in islice(faults, self.ruleset.limits.rules_findings)
        ]
        if findings:
            raise RulesError(findings)

    def _position(self, fault: Fault) -> tuple[int, int]:
        """Return where the declaration stands that a place belongs to."""
        found = find_derivation(fault.path, self.declarations, self.ruleset.source)
        assert found is not None, "a fault is of one of these declarations"
        return found.line, found.column

    @property
    def _judge(self) -> Judge:
        if self.side is None:
            return fault_of
        side, limits = self.side.value, self.ruleset.limits

        def conflict(
            reader: Reader, declaration: Declaration, names: Mapping[str, str]
        ) -> Fault | None:
            backfill = KeptBackfill(name_of(declaration), side, is_begun=False)
            return mend(reader, declaration, names, backfill, limits).conflict

        return conflict
