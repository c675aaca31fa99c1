"""What is measured, in the text that Prometheus reads.

Each scrape asks the open databases, and what is kept of the answers is nothing; what a database
counts since its start, it counts whether anybody asks or not. The families are made anew for each scrape, so that the library's
registry, which belongs to the whole process, is never used.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector

from treedb import __version__
from treedb.database import Database
from treedb.store.index_definitions import IndexProgress, IndexState
from treedb.store.kept_derived import KeptBackfill

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, slots=True)
class Measures:
    """What one namespace comes to at a moment."""

    namespace: str
    revision: int
    watched_places: int
    indexes: tuple[IndexProgress, ...]
    derived_changes: int
    backfills: tuple[KeptBackfill, ...] = ()


def measure(database: Database) -> Measures:
    """Ask a database for its measures."""
    return Measures(
        database.namespace,
        database.revision,
        database.watched_places,
        database.index_progress(),
        database.derived_changes,
        database.backfills(),
    )


def metrics_text(measures: Sequence[Measures]) -> bytes:
    """Return the measures of all namespaces, and of the process, as Prometheus' text.

    It reads /proc: with many sockets open that takes a while, and is no work for the event loop.
    """
    return generate_latest(_Families(measures))


class _Families:
    """The families of one scrape, in the form that the library asks for them."""

    def __init__(self, measures: Sequence[Measures]) -> None:
        self._measures = measures

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        yield InfoMetricFamily("treedb_build", "This treedb.", {"version": __version__})
        yield from _of_namespaces(self._measures)
        yield from _of_indexes(self._measures)
        yield from _of_backfills(self._measures)
        yield from ProcessCollector(registry=None).collect()


def _of_namespaces(measures: Iterable[Measures]) -> Iterator[Metric]:
    labels = ("namespace",)
    revision = GaugeMetricFamily(
        "treedb_revision", "The last commit that was published.", labels=labels
    )
    watched = GaugeMetricFamily(
        "treedb_watched_places", "Places that somebody listens to.", labels=labels
    )
    derived = CounterMetricFamily(
        "treedb_derived_changes",
        "Places that mirrors and counts wrote beside what was asked for, since the start.",
        labels=labels,
    )
    for each in measures:
        revision.add_metric((each.namespace,), each.revision)
        watched.add_metric((each.namespace,), each.watched_places)
        derived.add_metric((each.namespace,), each.derived_changes)
    yield revision
    yield watched
    yield derived


def _of_indexes(measures: Iterable[Measures]) -> Iterator[Metric]:
    children = GaugeMetricFamily(
        "treedb_index_children",
        "Children that the build of an index has indexed; later ones are not counted.",
        labels=("namespace", "index", "state"),
    )
    complete = GaugeMetricFamily(
        "treedb_index_complete",
        "Whether an index is there to be used: 1, or 0 while it is being built.",
        labels=("namespace", "index"),
    )
    for each in measures:
        for (index, state), count in _children_by_state(each.indexes).items():
            children.add_metric((each.namespace, index, state.value), count)
        for index, is_complete in _wanted(each.indexes).items():
            complete.add_metric((each.namespace, index), is_complete)
    yield children
    yield complete


def _of_backfills(measures: Iterable[Measures]) -> Iterator[Metric]:
    labels = ("namespace", "declaration")
    entries = GaugeMetricFamily(
        "treedb_backfill_entries",
        "Entries gone through to bring data to agree with a mirror or a count, while that goes on.",
        labels=labels,
    )
    written = GaugeMetricFamily(
        "treedb_backfill_written", "Places written for it so far.", labels=labels
    )
    conflicts = GaugeMetricFamily(
        "treedb_backfill_conflicts", "Entries left as they are so far.", labels=labels
    )
    for each in measures:
        for backfill in each.backfills:
            entries.add_metric((each.namespace, backfill.name), backfill.entries)
            written.add_metric((each.namespace, backfill.name), backfill.changed)
            conflicts.add_metric((each.namespace, backfill.name), backfill.conflicts)
    yield entries
    yield written
    yield conflicts


def _children_by_state(indexes: Iterable[IndexProgress]) -> Counter[tuple[str, IndexState]]:
    """Add up the children: an index that is built anew may leave several old ones to be dropped."""
    counted: Counter[tuple[str, IndexState]] = Counter()
    for each in indexes:
        counted[str(each.place), each.state] += each.children
    return counted


def _wanted(indexes: Iterable[IndexProgress]) -> dict[str, bool]:
    """Tell of each index that the rules want whether it is complete."""
    return {
        str(each.place): each.state is IndexState.COMPLETE
        for each in indexes
        if each.state is not IndexState.DROPPING
    }
