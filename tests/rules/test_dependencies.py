from treedb.paths.path import Path
from treedb.rules.dependencies import ReadPlaces
from treedb.rules.loader import parse_rules
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value


def test_the_places_a_rule_read_are_remembered() -> None:
    rules = parse_rules(
        '{"rules":{"rooms":{"$room":{".read":'
        "\"root.child('members').child($room).hasChild(auth.uid)"
        " && data.child('open').val() == true\"}}}}"
    )
    data: Value = {"members": {"r1": {"zoe": True}}, "rooms": {"r1": {"open": True}}}
    reader = ReadPlaces(ValueReader(data))
    verdict = rules.check_read(Path(("rooms", "r1")), reader, auth={"uid": "zoe"}, now_ms=0)
    assert verdict.allowed
    assert {str(place) for place in reader.places} == {"/members/r1/zoe", "/rooms/r1/open"}


def test_a_rule_that_reads_nothing_depends_on_nothing() -> None:
    reader = ReadPlaces(ValueReader(None))
    rules = parse_rules('{"rules":{".read":"auth != null"}}')
    assert rules.check_read(Path(()), reader, auth={}, now_ms=0).allowed
    assert reader.places == set()


def test_answers_are_those_of_the_reader() -> None:
    reader = ReadPlaces(ValueReader({"a": {"b": 1}}))
    assert reader.get(Path(("a",))) == {"b": 1}
    assert list(reader.keys(Path(("a",)))) == ["b"]
    assert reader.exists(Path(("a", "b")))
    assert len(reader.places) == 2
