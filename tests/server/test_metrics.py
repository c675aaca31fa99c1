import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from tests.server.live_server import Answer, LiveServer, live_server
from treedb import __version__
from treedb.config import Settings
from treedb.server.metrics import Measures, metrics_text
from treedb.store.index_definitions import PRIORITIES, IndexPlace, IndexProgress, IndexState
from treedb.store.kept_derived import KeptBackfill

OWNER = {"Authorization": "Bearer owner"}
BY_TIME = IndexPlace(("rooms", "$room"), "ts")
BY_VALUE = IndexPlace((), ".value")

Sample = tuple[str, frozenset[tuple[str, str]]]


def samples_of(text: str) -> dict[Sample, float]:
    """Read the text as Prometheus does; each series may stand there once."""
    found = [
        ((sample.name, frozenset(sample.labels.items())), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    samples = dict(found)
    assert len(samples) == len(found)
    return samples


def series(name: str, **labels: str) -> Sample:
    return name, frozenset(labels.items())


def indexed(*indexes: IndexProgress) -> dict[Sample, float]:
    samples = samples_of(metrics_text([Measures("n", 1, 0, indexes, 0)]).decode())
    return {key: value for key, value in samples.items() if key[0].startswith("treedb_index")}


def test_each_namespace_has_its_series() -> None:
    measures = [Measures("default", 12, 3, (), 7), Measures("other", 0, 0, (), 0)]
    samples = samples_of(metrics_text(measures).decode())
    assert {key: value for key, value in samples.items() if key[0].startswith("treedb_")} == {
        series("treedb_build_info", version=__version__): 1,
        series("treedb_revision", namespace="default"): 12,
        series("treedb_revision", namespace="other"): 0,
        series("treedb_watched_places", namespace="default"): 3,
        series("treedb_watched_places", namespace="other"): 0,
        series("treedb_derived_changes_total", namespace="default"): 7,
        series("treedb_derived_changes_total", namespace="other"): 0,
    }


def test_indexes_tell_how_far_they_are() -> None:
    assert indexed(
        IndexProgress(PRIORITIES, IndexState.COMPLETE, 0),
        IndexProgress(BY_TIME, IndexState.BUILDING, 1500),
        IndexProgress(BY_VALUE, IndexState.COMPLETE, 7),
    ) == {
        series("treedb_index_children", namespace="n", index=".priority on /", state="complete"): 0,
        series(
            "treedb_index_children", namespace="n", index="ts on /rooms/$room", state="building"
        ): 1500,
        series("treedb_index_children", namespace="n", index=".value on /", state="complete"): 7,
        series("treedb_index_complete", namespace="n", index=".priority on /"): 1,
        series("treedb_index_complete", namespace="n", index="ts on /rooms/$room"): 0,
        series("treedb_index_complete", namespace="n", index=".value on /"): 1,
    }


def test_former_lives_of_an_index_are_added_up_and_are_not_wanted() -> None:
    children = "treedb_index_children"
    name = "ts on /rooms/$room"
    assert indexed(
        IndexProgress(BY_TIME, IndexState.DROPPING, 5),
        IndexProgress(BY_TIME, IndexState.DROPPING, 2),
        IndexProgress(BY_TIME, IndexState.BUILDING, 4),
        IndexProgress(BY_VALUE, IndexState.DROPPING, 1),
    ) == {
        series(children, namespace="n", index=name, state="dropping"): 7,
        series(children, namespace="n", index=name, state="building"): 4,
        series(children, namespace="n", index=".value on /", state="dropping"): 1,
        series("treedb_index_complete", namespace="n", index=name): 0,
    }


def test_backfills_that_are_under_way_tell_how_far_they_are() -> None:
    going = KeptBackfill("mirror (copy) /a/$x /b/$x", "source", entries=5, changed=4, conflicts=1)
    samples = samples_of(metrics_text([Measures("n", 1, 0, (), 0, (going,))]).decode())
    assert {key: value for key, value in samples.items() if "backfill" in key[0]} == {
        series(f"treedb_backfill_{name}", namespace="n", declaration=going.name): value
        for name, value in (("entries", 5), ("written", 4), ("conflicts", 1))
    }


@pytest.mark.parametrize("key", ['"', "\\", 'a"b\\n', "Zoë", "a b", "{}", "=,"])
def test_names_of_places_are_escaped(key: str) -> None:
    progress = IndexProgress(IndexPlace((key,), "x"), IndexState.COMPLETE, 1)
    assert series("treedb_index_complete", namespace="n", index=f"x on /{key}") in indexed(progress)


def test_every_family_has_help_and_type() -> None:
    text = metrics_text([]).decode()
    for name, kind in [
        ("build_info", "gauge"),
        ("revision", "gauge"),
        ("derived_changes_total", "counter"),
        ("index_children", "gauge"),
    ]:
        assert f"# HELP treedb_{name} " in text
        assert f"# TYPE treedb_{name} {kind}\n" in text


def test_the_process_is_measured_and_the_interpreter_is_not() -> None:
    names = {name for name, _ in samples_of(metrics_text([]).decode())}
    assert {"process_resident_memory_bytes", "process_open_fds"} <= names
    assert not any(name.startswith("python_") for name in names)


def test_the_registry_of_the_library_stays_as_it_was() -> None:
    before = {metric.name for metric in REGISTRY.collect()}
    metrics_text([Measures("n", 1, 0, (), 0)])
    metrics_text([Measures("n", 1, 0, (), 0)])
    assert {metric.name for metric in REGISTRY.collect()} == before


# Over HTTP


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("metrics")) as running:
        yield running


def scrape(server: LiveServer, target: str = "/.metrics") -> dict[Sample, float]:
    answer = server.ask("GET", target, headers=OWNER)
    assert answer.status == 200, answer
    return samples_of(answer.text)


def test_a_scrape_counts_commits_and_watched_places(server: LiveServer) -> None:
    for number in range(3):
        server.put("/v.json?ns=counted", number)
    watched = series("treedb_watched_places", namespace="counted")
    with connect(f"ws://127.0.0.1:{server.port}/.ws?v=5&ns=counted") as socket:
        socket.recv()
        socket.send('{"t":"d","d":{"r":1,"a":"q","b":{"p":"/v","h":""}}}')
        assert [json.loads(socket.recv())["d"] for _ in range(2)][1]["b"]["s"] == "ok"
        samples = scrape(server)
        assert samples[watched] == 1
        assert samples[series("treedb_revision", namespace="counted")] == 3
        assert (
            samples[series("treedb_index_complete", namespace="counted", index=".priority on /")]
            == 1
        )


MIRRORED = """{"rules": {
  "a": {"$x": {".mirror": "/b/$x"}}, "b": {".count": "/n"},
  ".read": true, ".write": true
}}"""


def test_a_scrape_counts_what_mirrors_and_counts_wrote(server: LiveServer) -> None:
    derived = series("treedb_derived_changes_total", namespace="mirrored")
    rules = server.ask("PUT", "/.settings/rules.json?ns=mirrored", MIRRORED, headers=OWNER)
    assert rules.status == 200, rules
    assert scrape(server)[derived] == 0
    server.put("/a/k.json?ns=mirrored", True)  # /b/k and /n
    assert scrape(server)[derived] == 2
    server.put("/a/k.json?ns=mirrored", False)  # /b/k
    assert scrape(server)[derived] == 3
    server.put("/other.json?ns=mirrored", 1)
    assert scrape(server)[derived] == 3


def test_it_is_the_text_format_of_prometheus(server: LiveServer) -> None:
    answer = server.ask("GET", "/.metrics?access_token=owner")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


def test_it_is_only_read(server: LiveServer) -> None:
    head = server.ask("HEAD", "/.metrics", headers=OWNER)
    assert (head.status, head.body) == (200, b"")
    for method in ("PUT", "POST", "PATCH", "DELETE"):
        assert server.ask(method, "/.metrics", "1", headers=OWNER).status == 405
    assert server.ask("GET", "/.metrics/", headers=OWNER).status == 404


@pytest.mark.parametrize(
    "target, headers",
    [
        ("/.metrics", {}),
        ("/.metrics", {"Authorization": "Bearer other"}),
        ("/.metrics?access_token=other", {}),
        ("/.metrics?auth_variable_override=null", OWNER),
    ],
)
def test_only_an_administrator_may_see_it(
    tmp_path: Path, target: str, headers: dict[str, str]
) -> None:
    settings = Settings(data=tmp_path / "data", admin_token="t0ken")
    admin = {"Authorization": "Bearer t0ken"}
    with live_server(tmp_path, settings=settings) as server:
        refused: Answer = server.ask("GET", target, headers=headers)
        assert refused.status == http.client.UNAUTHORIZED
        assert "treedb_" not in refused.text
        assert server.ask("GET", "/.metrics", headers=admin).status == 200


def test_a_scrape_opens_and_makes_no_namespace(tmp_path: Path) -> None:
    with live_server(tmp_path) as server:
        names = {name for name, _ in scrape(server, "/.metrics?ns=fresh")}
        assert not any(name.startswith(("treedb_revision", "treedb_index")) for name in names)
    assert not (tmp_path / "data").exists()
