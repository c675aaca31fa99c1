"""What a rule sees while it is evaluated: who asks, when, for what, and the trees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from treedb.auth.identity import Auth
from treedb.rules.runtime import RuntimeValue
from treedb.rules.trees import Budget, Keys, Tree
from treedb.tree.values import Leaf

# The variable `auth`: JSON as its credential had it, or as an admin's override names it.
AuthVariable: TypeAlias = Mapping[str, RuntimeValue]


def auth_variable(auth: Auth | None) -> AuthVariable | None:
    """Return what rules know of somebody; None, signed out, for nobody.

    Admins are not asked for: rules do not bind them.
    """
    if auth is None:
        return None
    assert not auth.is_admin, "rules do not bind an admin"
    return auth.seen_by_rules


@dataclass(frozen=True, slots=True)
class QueryVariables:
    """The variable `query`: what a read asks for.

    `order_by_child` is the child's path. `start_at`, `end_at` and `equal_to` are bounds, inclusive
    or not; two equal inclusive bounds are an `equal_to` as well. None is what was not asked for.
    """

    order_by_key: bool = False
    order_by_value: bool = False
    order_by_priority: bool = False
    order_by_child: str | None = None
    start_at: Leaf | None = None
    end_at: Leaf | None = None
    equal_to: Leaf | None = None
    limit_to_first: int | None = None
    limit_to_last: int | None = None

    def members(self) -> dict[str, RuntimeValue]:
        """Return the variable's members by the names that rules have for them."""
        return {
            "orderByKey": self.order_by_key,
            "orderByValue": self.order_by_value,
            "orderByPriority": self.order_by_priority,
            "orderByChild": self.order_by_child,
            "startAt": self.start_at,
            "endAt": self.end_at,
            "equalTo": self.equal_to,
            "limitToFirst": self.limit_to_first,
            "limitToLast": self.limit_to_last,
        }


# Reads without a query differ: an SDK names no index, which means the order of priorities, while
# REST without `orderBy` is in the order of keys. In writes there is no query at all.
REALTIME_READ: Final = QueryVariables(order_by_priority=True)
REST_READ: Final = QueryVariables(order_by_key=True)
NO_QUERY: Final = QueryVariables()


@dataclass(slots=True)
class Trace:
    """What the parts of one expression came to, by their numbers, in the order they were done.

    A failure leaves the number of the part that failed and the reason.
    """

    values: list[tuple[int, RuntimeValue]] = field(default_factory=list)
    failed: int | None = None
    reason: str = ""


class Scope:
    """One operation: all that stays the same for its rules, and the rule's own place in `keys`.

    `trace` is where a traced expression leaves its values.
    """

    __slots__ = ("auth", "budget", "keys", "new", "now", "old", "query", "trace")

    def __init__(
        self,
        trees: tuple[Tree, Tree],
        auth: AuthVariable | None,
        now_ms: int,
        query: QueryVariables,
        budget: Budget,
    ) -> None:
        self.old, self.new = trees
        self.auth = auth if auth is None or type(auth) is dict else dict(auth)
        self.now = now_ms
        self.query = query
        self.budget = budget
        self.keys: Keys = ()
        self.trace = Trace()
