"""The listener contract, one pure function for each guarantee.

Each takes a history and yields what is wrong with it, in words. A plain listen has to be told of
every commit that touches its place, one message each; so each message is held against the commits
that come to exactly it. A window may be read anew at the end of a batch, and then skips what was
in between; so each message is held against what the window looked like, in order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.simulation.history import History, Keys, Listen, Push, changed, hash_of, value_at

Findings = Iterator[str]
Revisions = frozenset[int]


@dataclass(frozen=True)
class Step:
    """A message to a listener, and what it may mean.

    `before` are the revisions the listener may have been at; `meant` those whose commits come to
    exactly this message; `due` the next that the listener has to hear of; `shown` those that look
    as its copy does after the message; `after` where it may be then, empty when it went astray.
    """

    push: Push
    before: Revisions
    meant: Revisions
    due: Revisions
    shown: Revisions
    after: Revisions
    is_anew: bool
    copy: Any


def started_from(history: History, listen: Listen) -> Revisions:
    """Return the revisions that the first value of a listener may be of."""
    return alike(history, listen, listen.first, range(listen.asked_at, listen.begun_at + 1))


def alike(history: History, listen: Listen, copy: Any, revisions: range) -> Revisions:
    seen = history.seen(listen)
    return frozenset(each for each in revisions if seen[each] == copy)


def steps_of(history: History, listen: Listen) -> Iterator[Step]:
    """Follow a listener from message to message."""
    before = started_from(history, listen) or frozenset({listen.begun_at})
    copy = listen.first
    for push in listen.pushes:
        for path, value in push.changes:
            copy = changed(copy, path[len(listen.place) :], value)
        step = (_window_step if listen.query else _plain_step)(history, listen, before, push, copy)
        yield step
        before = step.after or frozenset({max(step.before)})


def _plain_step(history: History, listen: Listen, before: Revisions, push: Push, copy: Any) -> Step:
    until = range(1, push.on_disk + 1)
    meant = frozenset(each for each in until if history.told(each, listen.place) == push.changes)
    due = frozenset(filter(None, (_next_touch(history, listen, each) for each in before)))
    shown = alike(history, listen, copy, range(push.on_disk + 1))
    after = meant & due
    is_anew = False
    if push.may_start_anew and [path for path, _ in push.changes] == [listen.place]:
        # It may be a commit that removed the place, or a fresh value: both may come to null.
        is_anew = not after
        after |= frozenset(each for each in shown if each >= min(before))
    return Step(push, before, meant, due, shown, after, is_anew, copy)


def _window_step(
    history: History, listen: Listen, before: Revisions, push: Push, copy: Any
) -> Step:
    shown = alike(history, listen, copy, range(push.on_disk + 1))
    seen = history.seen(listen)
    first = min(before)
    moved = [each for each in range(first, push.on_disk + 1) if seen[each] != seen[first]]
    # A window that is told whole starts anew, for the sake of another listener it may be.
    is_whole = [path for path, _ in push.changes] == [listen.place]
    may_stay = push.may_start_anew or is_whole
    due = frozenset(range(first, push.on_disk + 1) if may_stay else moved)
    after = shown & due
    return Step(push, before, after, due, shown, after, push.may_start_anew, copy)


def _next_touch(history: History, listen: Listen, revision: int) -> int:
    later = range(revision + 1, history.last + 1)
    return next((each for each in later if history.told(each, listen.place)), 0)


def every_step(history: History) -> Iterator[tuple[Listen, Step]]:
    for listen in history.listens:
        for step in steps_of(history, listen):
            yield listen, step


# The guarantees.


def ordered(history: History) -> Findings:
    """L1: what a listener is told comes in the order of the commits."""
    for listen, step in every_step(history):
        known = step.meant or step.shown
        if not step.after and known and max(known) < min(step.before):
            yield f"{listen} is told of {sorted(known)} after {sorted(step.before)}"


def unique(history: History) -> Findings:
    """L2: nothing is told twice."""
    for listen, step in every_step(history):
        if not step.after and (step.meant or step.shown) & step.before:
            yield f"{listen} is told again of {sorted(step.before)}"


def reliable(history: History) -> Findings:
    """L3: nothing that concerns a listener is left out, unless it starts anew from a whole value.

    In the end, when nothing is under way any more, it has heard of everything.
    """
    for listen in history.listens:
        at = started_from(history, listen)
        for step in steps_of(history, listen):
            if not step.after and step.meant and min(step.meant) > max(step.due, default=0):
                yield f"{listen} is told of {sorted(step.meant)}, {sorted(step.due)} was due"
            at = step.after
        if not listen.ended and at and history.seen(listen)[max(at)] != history.seen(listen)[-1]:
            yield f"{listen} has not heard of what came after {sorted(at)}"


def atomic(history: History) -> Findings:
    """L4: a commit is one message, and no state in between is ever visible."""
    for listen, step in every_step(history):
        if not step.meant and not step.shown:
            yield f"{listen} sees {step.copy}, which no revision was like"


def convergent(history: History) -> Findings:
    """L5: what a listener has put together is the tree of a revision, in the end of the last one.

    They are compared by the hash that clients compare.
    """
    for listen in history.listens:
        hashes = [hash_of(each) for each in history.seen(listen)]
        copy = listen.first
        for step in steps_of(history, listen):
            copy = step.copy
            if hash_of(copy) not in hashes[: step.push.on_disk + 1]:
                yield f"{listen} has {copy}"
        if not listen.ended and hash_of(copy) != hashes[-1]:
            yield f"{listen} ends with {copy}, the tree with {history.seen(listen)[-1]}"


def filtered(history: History) -> Findings:
    """L6: nothing from outside the place, the query's window or the permission comes through."""
    yield from history.strays
    for listen in history.listens:
        revisions = range(listen.asked_at, listen.begun_at + 1)
        uid = None if listen.first_uid == "nobody" else listen.first_uid
        if not any(history.may_read(each, listen, uid) for each in revisions):
            yield f"{listen} begins for {uid}, who may not read it"
    for listen, step in every_step(history):
        for path, value in step.push.changes:
            if path[: len(listen.place)] != listen.place:
                yield f"{listen} is told of {path}, which is outside"
            elif listen.query and not _concerns_window(history, listen, step, (path, value)):
                yield f"{listen} is told {path} = {value}, which its window never held"
    for refused in history.refused:
        revisions = range(refused.listen.asked_at, refused.on_disk + 1)
        may = [history.may_read(each, refused.listen, refused.uid) for each in revisions]
        if all(may) and not refused.may_have_expired:
            yield f"{refused.listen} is refused to {refused.uid}, who may read it"


def _concerns_window(
    history: History, listen: Listen, step: Step, change: tuple[Keys, Any]
) -> bool:
    """Tell whether a window held, at some time until then, what a change says, or lost it."""
    path, value = change
    keys = path[len(listen.place) :]
    windows = history.seen(listen)[: step.push.on_disk + 1]
    if value is None:
        return any(value_at(window, keys[:1]) is not None for window in windows)
    return any(value_at(window, keys) == value for window in windows)


def resumable(history: History) -> Findings:
    """L7: a listener begins from a whole value, or from its own copy only if that is right."""
    for listen in history.listens:
        if not started_from(history, listen):
            how = "resumes with" if listen.is_resumed else "begins from"
            asked, begun = listen.asked_at, listen.begun_at
            yield f"{listen} {how} {listen.first}, not seen in {asked}..{begun}"


def revoked_promptly(history: History) -> Findings:
    """L8: who may no longer read hears of nothing more, and of the end; nobody else is ended."""
    for listen in history.listens:
        at = min(started_from(history, listen), default=listen.begun_at)
        for step in steps_of(history, listen):
            at = min(step.after or step.before)
            revisions = range(at, step.push.on_disk + 1)
            if not any(history.may_read(each, listen, step.push.uid) for each in revisions):
                yield f"{listen} is told of {at} as {step.push.uid}, who may not read it"
        if not listen.ended and not history.may_read(history.last, listen, listen.end_uid):
            yield f"{listen} goes on for {listen.end_uid}, who may not read it"
        if listen.ended == "cancelled":
            revisions = range(min(at, listen.begun_at), listen.end_on_disk + 1)
            if all(history.may_read(each, listen, listen.end_uid) for each in revisions):
                yield f"{listen} is cancelled for {listen.end_uid}, who may read it"


def told_before_acknowledged(history: History) -> Findings:
    """A client is told of its own write before that is acknowledged, and the write is on disk."""
    for each in history.acknowledged:
        revision = history.revision_of.get(each.stamp)
        if revision is None:
            yield f"the write {each.stamp} is acknowledged and not on disk"
            continue
        for listen, count in each.heard:
            touching = [
                later
                for later in range(max(started_from(history, listen), default=0) + 1, revision + 1)
                if history.told(later, listen.place)
            ]
            if len(touching) > count:
                yield f"{listen} had {count} of {len(touching)} when {each.stamp} was acknowledged"


def kinds_of_steps(history: History) -> Iterator[str]:
    """Name what happened to listeners that is worth to have happened at all."""
    for listen, step in every_step(history):
        if listen.query is None:
            yield "started anew" if step.is_anew else "told of a commit"
            continue
        latest = max(step.after or step.before)
        named = {path for path, value in step.push.changes if value is not None}
        wrote = {path for path, _ in history.told(latest, listen.place)}
        if len(step.push.changes) > 1 and any(
            not any(path[: len(each)] == each or each[: len(path)] == path for each in wrote)
            for path in named
        ):
            yield "a window was refilled"
        if [path for path, _ in step.push.changes] == [listen.place]:
            yield "a window was told whole"


VALIDATORS: tuple[Callable[[History], Findings], ...] = (
    ordered,
    unique,
    reliable,
    atomic,
    convergent,
    filtered,
    resumable,
    revoked_promptly,
    told_before_acknowledged,
)
