"""Hold mirrors and counts against a tree: every entry has its other side, every count is right.

This is done when rules bring a mirror or a count over data that is there already, since completing
a write relies on what stood before it, and whenever somebody wants to know. It costs the entries
and the children counted, so it yields None now and then for others to have their turn.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.derivation import Declaration
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.rules.ruleset import Ruleset
from treedb.store.kept_derived import CheckedDeclaration, KeptCheck
from treedb.tree.json_equality import same_json
from treedb.tree.json_text import format_json
from treedb.tree.reader import Reader
from treedb.writes.touched_entries import standing_entries

# Entries looked at between two turns of others.
TURN: Final = 200
# Faults of one declaration that a survey tells.
EXAMPLES: Final = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """A place that is not what another place says it must be."""

    path: Path
    problem: str

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


# What is wrong with one entry of a declaration, whose names stand for these keys.
Judge: TypeAlias = Callable[[Reader, Declaration, Mapping[str, str]], Fault | None]


def name_of(declaration: Declaration) -> str:
    """Return what identifies a declaration, wherever it stands in the file."""
    first, second = sides_of(declaration)
    if isinstance(declaration, Mirror):
        return f"mirror ({declaration.value.value}) {first} {second}"
    return f"count {first} {second}"


def declarations_of(ruleset: Ruleset) -> dict[str, Declaration]:
    """Return the declarations of rules by what identifies them."""
    declarations: tuple[Declaration, ...] = (*ruleset.mirrors, *ruleset.counters)
    return {name_of(each): each for each in declarations}


def sides_of(declaration: Declaration) -> tuple[Pattern, Pattern]:
    """Return the two patterns that a declaration binds."""
    if isinstance(declaration, Mirror):
        return declaration.source, declaration.target
    return declaration.collection, declaration.place


def fault_of(reader: Reader, declaration: Declaration, names: Mapping[str, str]) -> Fault | None:
    """Return what is wrong with one entry."""
    if isinstance(declaration, Mirror):
        return _mirror_fault(reader, declaration, names)
    return _counter_fault(reader, declaration, names)


def check_derived(
    reader: Reader, declarations: Sequence[Declaration], judge: Judge = fault_of
) -> Iterator[Fault | None]:
    """Yield what is wrong in a tree, and None where others may have their turn."""
    for declaration in declarations:
        yield from check_declaration(reader, declaration, judge)


def check_declaration(
    reader: Reader, declaration: Declaration, judge: Judge = fault_of
) -> Generator[Fault | None, None, int]:
    """Yield what is wrong with the entries of a declaration; return how many there are."""
    entries = 0
    for entries, names in enumerate(_both(reader, *sides_of(declaration)), 1):
        fault = judge(reader, declaration, names)
        if fault is not None or entries % TURN == 0:
            yield fault
    return entries


def survey(
    reader: Reader, ruleset: Ruleset, revision: int, now_ms: int
) -> Generator[None, None, KeptCheck]:
    """Hold all mirrors and counts of rules against a tree, yielding where others may go on."""
    declarations = []
    for name, declaration in declarations_of(ruleset).items():
        steps = check_declaration(reader, declaration)
        faults, examples = 0, list[str]()
        while True:
            try:
                fault = next(steps)
            except StopIteration as end:
                checked = CheckedDeclaration(name, end.value, faults, tuple(examples))
                declarations.append(checked)
                break
            if fault is None:
                yield
                continue
            faults += 1
            if len(examples) < EXAMPLES:
                examples.append(str(fault))
    return KeptCheck(now_ms, revision, tuple(declarations))


def _mirror_fault(reader: Reader, mirror: Mirror, names: Mapping[str, str]) -> Fault | None:
    source, target = mirror.source.fill(names), mirror.target.fill(names)
    here, there = reader.exists(source), reader.exists(target)
    if here and not there:
        return Fault(target, f"is missing: {source} is there")
    if there and not here:
        return Fault(source, f"is missing: {target} is there")
    if not here:
        return None
    if mirror.value is MirrorValue.TRUE:
        is_true = reader.get(target) is True
        return None if is_true else Fault(target, f"is not true, as {source} asks")
    if same_json(reader.get(source), reader.get(target)):
        return None
    return Fault(target, f"differs from {source}")


def _counter_fault(reader: Reader, counter: Counter, names: Mapping[str, str]) -> Fault | None:
    collection, place = counter.collection.fill(names), counter.place.fill(names)
    counted = sum(1 for _ in reader.keys(collection))
    found = reader.get(place)
    if same_json(found, counted or None):
        return None
    shown = "nothing" if found is None else format_json(found).decode()[:40]
    return Fault(place, f"is {shown}: {collection} has {counted} children")


def _both(reader: Reader, one: Pattern, other: Pattern) -> Iterator[Mapping[str, str]]:
    """Yield the entries of two patterns with the same names, each once."""
    yield from standing_entries(one, reader)
    for names in standing_entries(other, reader):
        if not reader.exists(one.fill(names)):
            yield names
