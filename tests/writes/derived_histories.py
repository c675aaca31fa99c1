"""Histories to be drawn: which rules there are, who writes what, and when the process ends.

All of a history is data that hypothesis draws beforehand, so that one which fails is made smaller
and can be read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import hypothesis.strategies as st

from tests.naive_tree import Keys
from tests.writes.derived_oracle import BAD, Kept
from tests.writes.derived_world import counter, mirror
from treedb.errors import RulesError
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.loader import parse_rules
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.writes.mend import Side

CLIENTS = ("ann", "bob", "cat")
SESSIONS = ("s1", "s2")
NAMED = "abc"  # what a name of a pattern stands for


@dataclass(frozen=True)
class Asked:
    """A write: of one place or of several at once, by a client.

    `holds` makes it a transaction whose hash is that of what is there, or is none of it; with a
    `session` it is left to be written at that session's end.
    """

    client: str
    changes: tuple[tuple[Keys, object], ...]
    holds: bool | None = None
    session: str | None = None


@dataclass(frozen=True)
class Cancelled:
    """What a session left at a place, and below, is not to be written."""

    session: str
    place: Keys


@dataclass(frozen=True)
class Ended:
    """A session ends."""

    session: str


Request = Asked | Cancelled | Ended


@dataclass(frozen=True)
class Burst:
    """Requests that are sent without waiting for answers.

    The process may be killed once so many of them were answered.
    """

    requests: tuple[Request, ...]
    killed_after: int | None = None


@dataclass(frozen=True)
class Reopened:
    """The database is closed and opened again."""


@dataclass(frozen=True)
class OtherRules:
    """Other rules are put, if the data agrees with them, or can be brought to by the side given.

    While it is, the process may be killed.
    """

    kept: Kept
    side: Side | None = None
    is_killed: bool = False


Step = Burst | Reopened | OtherRules


@dataclass(frozen=True)
class History:
    kept: Kept
    steps: tuple[Step, ...] = field(default=())


# Rules

_FAMILIES: tuple[tuple[Mirror | Counter, ...], ...] = (
    (mirror("/users/$u/groups/$g", "/groups/$g/members/$u"), counter("/groups/$g/members", "/groups/$g/count"), counter("/users/$u/groups", "/users/$u/groupCount")),
    (mirror("/users/$u/follows/$v", "/followers/$v/$u"), counter("/followers/$v", "/fans/$v"), counter("/users/$u/follows", "/users/$u/stats/follows")),
    (mirror("/pins/$p", "/boards/$p/pin"), counter("/boards", "/boardCount"), counter("/pins", "/stats/pins")),
    (mirror("/a/$x/b/$y/c/$z", "/d/$z/$y/$x"), counter("/d/$z/$y", "/many/$y/$z"), counter("/a", "/total/a")),
    (mirror("/left", "/right"), counter("/right", "/rights")),
    (counter("/lists/$a/$b", "/sizes/$b/$a"),),
)  # fmt: skip
_LETTERS = ("k", "l", "m", "n")


@st.composite
def _free_pattern(draw: st.DrawFn, names: tuple[str, ...]) -> Pattern:
    """Draw a pattern of some names among letters, the first a letter."""
    letters = draw(st.lists(st.sampled_from(_LETTERS), max_size=2))
    rest = draw(st.permutations([*names, *letters]))
    return Pattern((draw(st.sampled_from(_LETTERS)), *rest))


@st.composite
def _free_family(draw: st.DrawFn) -> tuple[Mirror | Counter, ...]:
    """Draw a mirror of any two patterns, and counts of where its entries stand."""
    names = draw(st.sampled_from([("$x",), ("$x", "$y"), ("$x", "$y", "$z"), ()]))
    source, target = draw(_free_pattern(names)), draw(_free_pattern(names))
    family: list[Mirror | Counter] = [Mirror(source, target, MirrorValue.COPY, 0)]
    for side in (source, target):
        collection = Pattern(side.keys[:-1])
        place = draw(_free_pattern(collection.names))
        family.append(Counter(collection, place, 0))
    return tuple(family)


def _is_sound(kept: Kept) -> bool:
    try:
        found = parse_rules(kept.text())
    except RulesError:
        return False
    # One declared at the place of another would have taken its place in the text.
    return (len(found.mirrors), len(found.counters)) == (len(kept.mirrors), len(kept.counters))


@st.composite
def rules(draw: st.DrawFn) -> Kept:
    """Draw rules: of each family some, a mirror in either direction, of either kind."""
    families = draw(st.lists(st.sampled_from(_FAMILIES) | _free_family(), min_size=1, max_size=3))
    kept = Kept()
    for each in [
        each for family in families for each in family if draw(st.booleans()) or family[0] is each
    ]:
        if isinstance(each, Counter):
            more = Kept(kept.mirrors, (*kept.counters, each))
        else:
            sides = draw(st.permutations([each.source, each.target]))
            kind = draw(st.sampled_from(MirrorValue))
            more = Kept((*kept.mirrors, Mirror(sides[0], sides[1], kind, 0)), kept.counters)
        if _is_sound(more):
            kept = more
    return kept


# Writes


def shapes(kept: Kept) -> list[Keys]:
    """Return where the interesting places of rules are, names as names."""
    patterns = [side for each in kept.mirrors for side in (each.source, each.target)]
    found = [pattern.keys for pattern in patterns]
    found += [(*pattern.keys, "since") for pattern in patterns]
    for each in kept.counters:
        found += [(*each.collection.keys, "$child"), each.place.keys]
    return found or [("beside", "$x")]


_LEAVES = st.sampled_from([True, 1, "x", BAD, {".value": True, ".priority": 1}])
_SERVER_VALUES = st.sampled_from([{".sv": "timestamp"}, {".sv": {"increment": 1}}])


@st.composite
def _place(draw: st.DrawFn, among: Sequence[Keys]) -> Keys:
    shape = draw(st.sampled_from(among))
    return tuple(draw(st.sampled_from(NAMED)) if key.startswith("$") else key for key in shape)


@st.composite
def _change(draw: st.DrawFn, among: Sequence[Keys]) -> tuple[Keys, object]:
    """Draw a change at, above or below a place, of a value that may hold others like it."""
    place = draw(_place(among))
    kind = draw(
        st.sampled_from(["at", "at", "at", "above", "above", "remove", "priority", "under"])
    )
    if kind == "priority":
        return (*place, ".priority"), draw(st.sampled_from([2, None]))
    if kind == "under":
        return (*place, draw(st.sampled_from(["since", "why"]))), draw(_LEAVES | _SERVER_VALUES)
    depth = len(place) - (draw(st.integers(0, len(place))) if kind != "at" else 0)
    if kind == "remove":
        return place[:depth], None
    if kind == "at" or depth == len(place):
        return place, draw(_LEAVES | _SERVER_VALUES)
    return place[:depth], draw(_object(place[:depth], among, place))


@st.composite
def _object(draw: st.DrawFn, above: Keys, among: Sequence[Keys], first: Keys) -> object:
    """Draw an object that holds a place, and others below the same one."""
    places = [first, *draw(st.lists(_place(among), max_size=4))]
    whole: dict[str, object] = {}
    for place in places:
        if place[: len(above)] == above and len(place) > len(above):
            _put(whole, place[len(above) :], draw(_LEAVES))
    if draw(st.integers(0, 5)) == 5:
        whole[".priority"] = 3
    return whole


def _put(whole: dict[str, object], keys: Keys, leaf: object) -> None:
    for key in keys[:-1]:
        inner = whole.get(key)
        if not isinstance(inner, dict) or ".value" in inner:
            inner = whole[key] = {}
        whole = inner
    whole[keys[-1]] = leaf


@st.composite
def _asked(draw: st.DrawFn, among: Sequence[Keys]) -> Asked:
    client = draw(st.sampled_from(CLIENTS))
    count = draw(st.sampled_from([1, 1, 1, 2, 2, 3]))
    changes = dict(draw(_change(among)) for _ in range(count))
    how = draw(st.sampled_from(["write"] * 7 + ["transaction"] * 2 + ["session"] * 2 + ["stale"]))
    if how == "session":
        return Asked(client, tuple(changes.items()), session=draw(st.sampled_from(SESSIONS)))
    if len(changes) > 1 or how == "write":
        return Asked(client, tuple(changes.items()))
    return Asked(client, tuple(changes.items()), holds=how == "transaction")


@st.composite
def _request(draw: st.DrawFn, among: Sequence[Keys]) -> Request:
    kind = draw(st.integers(0, 9))
    if kind == 8:
        return Cancelled(draw(st.sampled_from(SESSIONS)), draw(_place(among)))
    if kind == 9:
        return Ended(draw(st.sampled_from(SESSIONS)))
    return draw(_asked(among))


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw a history."""
    # At first there may be no rules, so that data is there before them.
    kept, later = draw(rules() | rules() | st.just(Kept())), draw(rules())
    among = [*shapes(kept), *shapes(later)]
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.integers(0, 9))
        if kind == 8:
            steps.append(Reopened())
        elif kind in (7, 9):
            side = draw(st.none() | st.sampled_from(Side))
            other = draw(st.sampled_from([kept, later]))
            steps.append(OtherRules(other, side, is_killed=draw(st.integers(0, 3)) == 3))
        else:
            requests = draw(st.lists(_request(among), min_size=1, max_size=12))
            killed_after = draw(st.none() | st.none() | st.integers(0, len(requests)))
            steps.append(Burst(tuple(requests), killed_after))
    return History(kept, tuple(steps))
