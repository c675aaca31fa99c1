"""Who a client is to the database: what its credential says, and whether it is told why not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from treedb.auth.identity import Auth, stepped_down
from treedb.errors import InvalidQuery
from treedb.rules.authority import Caller
from treedb.rules.scope import REALTIME_READ, QueryVariables

Authenticate = Callable[[str], Auth]


@dataclass(frozen=True, slots=True)
class Callers:
    """How credentials are checked, and who may see why something was denied.

    An explanation shows the rules and the data they read, so it is for development
    (`explains_to_all`) and for tokens with a true claim `debug`, never for others.
    """

    authenticate: Authenticate
    explains_to_all: bool

    def caller(
        self, auth: Auth | None, query: QueryVariables = REALTIME_READ, *, explains: bool = True
    ) -> Caller:
        """Return the caller that somebody is; with `explains` it is told why, if it may know."""
        has_debug_claim = auth is not None and auth.token.get("debug") is True
        may_know = self.explains_to_all or has_debug_claim
        return Caller(auth, query, wants_reason=explains and may_know)


def acting_as(auth: Auth | None, variable: Mapping[str, Any] | None) -> Auth | None:
    """Return whom an admin acts as: a client whose `auth` is `variable`, or nobody.

    Raises InvalidQuery when somebody else than an admin asks for it. Source: Firebase's
    "databaseAuthVariableOverride".
    """
    if auth is None or not auth.is_admin:
        raise InvalidQuery(
            "auth_variable_override is for an admin's credential; leave it out, or give one."
        )
    return stepped_down(auth, variable)
