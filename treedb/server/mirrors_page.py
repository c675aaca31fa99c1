"""What `/.inspect/mirrors.json` tells: what the rules keep, how it is, and what is under way."""

from collections.abc import Iterable
from typing import Any

from treedb.rules.derivation import Declaration
from treedb.rules.mirror import Mirror
from treedb.rules.ruleset import Ruleset
from treedb.store.kept_derived import CheckedDeclaration, KeptBackfill, KeptCheck
from treedb.writes.derived_check import declarations_of


def mirrors_report(
    ruleset: Ruleset, backfills: Iterable[KeptBackfill], check: KeptCheck | None
) -> dict[str, Any]:
    """Return every mirror and count of rules, as JSON.

    What the last check found is null where it did not look, `backfill` where none is under way.
    """
    going = {each.name: each for each in backfills}
    checked = {} if check is None else {each.name: each for each in check.declarations}
    report: dict[str, Any] = {"mirrors": [], "counts": []}
    for name, declaration in declarations_of(ruleset).items():
        line, column = ruleset.source.position(declaration.offset)
        entry = {
            **_places(declaration),
            "line": line,
            "column": column,
            "meaning": declaration.meaning,
            **_found(checked.get(name)),
            "backfill": _progress(going.get(name)),
        }
        report["mirrors" if isinstance(declaration, Mirror) else "counts"].append(entry)
    seen = None if check is None else {"time": check.time_ms, "revision": check.revision}
    return {**report, "lastCheck": seen}


def _places(declaration: Declaration) -> dict[str, str]:
    if isinstance(declaration, Mirror):
        return {
            "source": str(declaration.source),
            "target": str(declaration.target),
            "value": declaration.value.value,
        }
    return {"collection": str(declaration.collection), "count": str(declaration.place)}


def _found(checked: CheckedDeclaration | None) -> dict[str, Any]:
    if checked is None:
        return {"entries": None, "faults": None, "examples": []}
    return {
        "entries": checked.entries,
        "faults": checked.faults,
        "examples": list(checked.examples),
    }


def _progress(backfill: KeptBackfill | None) -> dict[str, Any] | None:
    if backfill is None:
        return None
    return {
        "side": backfill.side,
        "pass": 2 if backfill.is_second else 1,
        "entries": backfill.entries,
        "written": backfill.changed,
        "conflicts": backfill.conflicts,
    }
