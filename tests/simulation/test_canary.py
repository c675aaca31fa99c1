"""The validators notice when treedb is broken: each canary breaks one thing, and must be caught.

A canary does by hand what a fault of ours would do, so it replaces a function of treedb's. It has
to be caught by the validator that is there for it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from tests.simulation import validators
from tests.simulation.simulation import simulate
from treedb.doubts import Doubts
from treedb.first_value import Claim, FirstValue, FirstValues
from treedb.follower import Follower
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.server.listens import Listens
from treedb.server.outbox import Outbox
from treedb.server.session import Session
from treedb.store.store import Snapshot
from treedb.sync.delivery import Delivery, Listener, Merge, Overwrite, Watch
from treedb.sync.grants import Grant
from treedb.sync.hub import Hub
from treedb.sync.window import Window
from treedb.writes.writer import Batch

SEEDS = range(40)  # of which one at least has to show it

deliver, arrived, join = Outbox.deliver, Follower.arrived, Hub.join


def deliver_but_some(outbox: Outbox, delivery: Delivery, tag: int | None) -> None:
    if delivery.revision % 4:
        deliver(outbox, delivery, tag)


def deliver_twice(outbox: Outbox, delivery: Delivery, tag: int | None) -> None:
    deliver(outbox, delivery, tag)
    deliver(outbox, delivery, tag)


def deliver_late(held: dict[Outbox, Any]) -> Callable[[Outbox, Delivery, int | None], None]:
    """Let every other delivery wait until the one after it has gone out."""

    def put_off(outbox: Outbox, delivery: Delivery, tag: int | None) -> None:
        before = held.pop(outbox, None)
        if before is None:
            held[outbox] = (delivery, tag)
            return
        deliver(outbox, delivery, tag)
        deliver(outbox, *before)

    return put_off


def answer_at_once(follower: Follower, batch: Batch) -> None:
    for outcome in batch.outcomes:
        follower._answer(outcome)
    arrived(follower, replace(batch, outcomes=()))


def ask_nothing(doubts: Doubts, grants: list[Grant]) -> None:
    for grant in grants:
        doubts._doubted.pop(grant, None)


def deliver_in_parts(outbox: Outbox, delivery: Delivery, tag: int | None) -> None:
    change = delivery.change
    parts = [delivery]
    if isinstance(change, Merge):
        paths = [(change.path.join(keys), value) for keys, value in change.changes]
        parts = [replace(delivery, change=Overwrite(*each), _encodings={}) for each in paths]
    for part in parts:
        deliver(outbox, part, tag)


async def believe(values: FirstValues, pieces: list[bytes], claim: Claim | None) -> Any:
    return None if claim is not None and claim.hash else FirstValue(pieces)


def nothing_expires(session: Session) -> None:
    """A token counts for ever."""


async def only_forget(listens: Listens, caller: Caller) -> None:
    while (watch := listens.outbox.first_missed) is not None:
        await listens.outbox.drained()
        listens.outbox.forget(watch)


def join_late(
    hub: Hub, watch: Watch, listener: Listener, after: int, *, held: bool = False
) -> None:
    join(hub, watch, listener, after + 1, held=held)


def join_early(
    hub: Hub, watch: Watch, listener: Listener, after: int, *, held: bool = False
) -> None:
    join(hub, watch, listener, after - 1, held=held)


def permit_all(
    follower: Follower, path: Path, snapshot: Snapshot, caller: Caller
) -> frozenset[Path]:
    return frozenset()


def cut_nothing(window: Window) -> list[str]:
    return []


@dataclass(frozen=True)
class Canary:
    """Where treedb is broken, how, and which validator has to notice."""

    target: object
    name: str
    broken: Callable[..., object] | Callable[..., Awaitable[object]]
    noticed_by: Callable[..., object]


CANARIES = {
    "a delivery is dropped": Canary(Outbox, "deliver", deliver_but_some, validators.reliable),
    "the end is not told": Canary(Outbox, "deliver", deliver_but_some, validators.convergent),
    "a delivery comes twice": Canary(Outbox, "deliver", deliver_twice, validators.unique),
    "two deliveries change places": Canary(Outbox, "deliver", deliver_late({}), validators.ordered),
    "writes are answered before they are told of": Canary(
        Follower, "arrived", answer_at_once, validators.told_before_acknowledged
    ),
    "permissions in doubt are not asked about": Canary(
        Doubts, "_ask_about", ask_nothing, validators.revoked_promptly
    ),
    "a commit is told in parts": Canary(Outbox, "deliver", deliver_in_parts, validators.atomic),
    "a copy is believed to be right": Canary(FirstValues, "of", believe, validators.resumable),
    "a token does not expire": Canary(
        Session, "_expired", nothing_expires, validators.revoked_promptly
    ),
    "a slow client is not brought up to date": Canary(
        Listens, "catch_up", only_forget, validators.convergent
    ),
    "the commit after a first value is missing": Canary(
        Hub, "join", join_late, validators.reliable
    ),
    "the last commit of a first value comes again": Canary(
        Hub, "join", join_early, validators.unique
    ),
    "everybody may listen": Canary(Follower, "permit", permit_all, validators.filtered),
    "a window outgrows its limit": Canary(Window, "_cut", cut_nothing, validators.filtered),
}


@pytest.mark.parametrize("canary", CANARIES.values(), ids=CANARIES)
def test_a_canary_is_caught(
    tmp_path: FilePath, canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary.target, canary.name, canary.broken)
    caught = []
    for seed in SEEDS:
        history = simulate(tmp_path / str(seed), seed, monkeypatch)
        caught = list(canary.noticed_by(history))  # type: ignore[call-overload]
        if caught:
            break
    assert caught
