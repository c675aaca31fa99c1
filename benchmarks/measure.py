"""Measure two things in turns, so that a machine that drifts drifts for both."""

import resource
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

RUNS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a figure, its floor, both with their unit, and a remark."""

    name: str
    figure: str
    floor: str = ""
    ratio: str = ""
    remark: str = ""


async def in_turns(
    ours: Callable[[], Awaitable[object]], floor: Callable[[], object], runs: int = RUNS
) -> tuple[float, float]:
    """Return the median seconds of each, run alternately."""
    pairs = []
    for _ in range(runs):
        start = time.perf_counter()
        await ours()
        middle = time.perf_counter()
        floor()
        pairs.append((middle - start, time.perf_counter() - middle))
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def rates(name: str, count: int, unit: str, times: tuple[float, float], remark: str = "") -> Row:
    """Make a row of two rates: `count` units in the given seconds, ours and the floor's."""
    ours, floor = times
    return Row(
        name,
        f"{_short(count / ours)} {unit}/s",
        f"{_short(count / floor)} {unit}/s",
        f"{floor / ours:.2f}",
        remark,
    )


def durations(name: str, times: tuple[float, float], remark: str = "") -> Row:
    """Make a row of two durations, ours and the floor's."""
    ours, floor = times
    return Row(name, f"{ours * 1e3:.2f} ms", f"{floor * 1e3:.2f} ms", f"{ours / floor:.2f}", remark)


def rss_mib() -> float:
    """Return this process's peak resident memory in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(rows: list[Row]) -> str:
    """Write the rows as a Markdown table."""
    lines = [
        "| measured | treedb | floor | ratio | remark |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.name} | {row.figure} | {row.floor} | {row.ratio} | {row.remark} |" for row in rows
    ]
    return "\n".join(lines)


def _short(number: float) -> str:
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.2f}{suffix}"
    return f"{number:.0f}"
