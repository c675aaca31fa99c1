"""Whether data that is there agrees with mirrors and counts that rules bring.

What is derived of a write relies on what stood before it, so rules whose mirrors or counts the data
contradicts are refused, with the places named. The look at all of it is taken before the rules are
put, on a snapshot. When they are, only what commits touched since is looked at again, within the
transaction that puts them in force: so nothing slips through, and no write waits for a long look.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from treedb.errors import Finding, RulesError
from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.mirror import Mirror
from treedb.rules.ruleset import Ruleset
from treedb.tree.commit import Commit
from treedb.tree.reader import Reader
from treedb.tree.values import Value
from treedb.writes.derived_check import Fault, check_derived, counter_fault, mirror_fault
from treedb.writes.touched_entries import touched_entries


@dataclass(frozen=True, slots=True)
class Gained:
    """The mirrors and counts that new rules have and the old have not."""

    ruleset: Ruleset
    mirrors: tuple[Mirror, ...]
    counters: tuple[Counter, ...]

    @classmethod
    def by(cls, new: Ruleset, old: Ruleset) -> "Gained":
        """Compare two sets of rules; where a declaration stands in the file makes no difference."""
        mirrors = {_key(each) for each in old.mirrors}
        counters = {_key(each) for each in old.counters}
        return cls(
            new,
            tuple(each for each in new.mirrors if _key(each) not in mirrors),
            tuple(each for each in new.counters if _key(each) not in counters),
        )

    def __bool__(self) -> bool:
        return bool(self.mirrors or self.counters)

    def look(self, reader: Reader) -> Generator[None, None, list[Fault]]:
        """Return the first that disagrees in a tree, yielding where others may have their turn."""
        found: list[Fault] = []
        for fault in check_derived(reader, self.mirrors, self.counters):
            if fault is None:
                yield
                continue
            found.append(fault)
            if len(found) == self.ruleset.limits.rules_findings:
                break
        return found

    def look_again(self, reader: Reader, commits: Sequence[Commit]) -> Iterator[Fault]:
        """Yield what disagrees in a tree that agreed before its last commits.

        A commit above the entries may have removed any, and then all are looked at.
        """
        changes = [change for commit in commits for change in commit.patch.changes]
        if any(len(path.keys) < len(side.keys) for path, _ in changes for side in self._sides()):
            whole = check_derived(reader, self.mirrors, self.counters)
            yield from (fault for fault in whole if fault is not None)
            return
        for path, value in changes:
            for mirror in self.mirrors:
                for names in _names((mirror.source, mirror.target), path, value, reader):
                    yield from filter(None, [mirror_fault(reader, mirror, names)])
            for counter in self.counters:
                for names in _names((counter.collection, counter.place), path, value, reader):
                    yield from filter(None, [counter_fault(reader, counter, names)])

    def _sides(self) -> Iterator[Pattern]:
        for mirror in self.mirrors:
            yield from (mirror.source, mirror.target)
        for counter in self.counters:
            yield from (counter.collection, counter.place)

    def refuse(self, faults: Iterable[Fault]) -> None:
        """Raise RulesError when there are faults; it names the first of them."""
        most = self.ruleset.limits.rules_findings
        offsets = [each.offset for each in self.mirrors] + [each.offset for each in self.counters]
        if not offsets:
            return
        line, column = self.ruleset.source.position(min(offsets))
        hint = "write what is missing, or remove what is too much, and put the rules again"
        findings = [
            Finding(line, column, f"The data disagrees: {fault}.", hint, str(fault.path))
            for fault in islice(faults, most)
        ]
        if findings:
            raise RulesError(findings)


def _names(
    sides: tuple[Pattern, Pattern], path: Path, value: Value, reader: Reader
) -> Iterator[dict[str, str]]:
    for side in sides:
        yield from map(dict, touched_entries(side, path, value, reader))


def _key(each: Mirror | Counter) -> tuple[object, ...]:
    if isinstance(each, Mirror):
        return each.source, each.target, each.value
    return each.collection, each.place
