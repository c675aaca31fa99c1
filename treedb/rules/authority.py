"""The one authoriser: every read, listen and write of every transport passes here.

An authority is a ruleset in force. It lets admins by, asks the rules about everybody else, and
says why only to callers who may know.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from treedb.auth.identity import ADMIN, Auth
from treedb.errors import ExpiredToken, PermissionDenied
from treedb.paths.path import Path
from treedb.rules.cascade import Ask
from treedb.rules.coverage import Coverage
from treedb.rules.dependencies import ReadPlaces
from treedb.rules.rule import Rule
from treedb.rules.ruleset import Ruleset
from treedb.rules.scope import REALTIME_READ, QueryVariables, auth_variable
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for something, and how: `query` is what a read asks for.

    `wants_reason` is for those who may see the rules' data: a denial then comes with its
    explanation. Source of the query variables: Firebase's "Query-based rules".
    """

    auth: Auth | None = None
    query: QueryVariables = REALTIME_READ
    wants_reason: bool = False

    @property
    def is_admin(self) -> bool:
        """Tell whether the rules do not bind the caller."""
        return self.auth is not None and self.auth.is_admin


NOBODY = Caller()
SERVER = Caller(ADMIN)


@dataclass(frozen=True, slots=True)
class Authority:
    """A ruleset, and whether its use is counted for coverage."""

    ruleset: Ruleset
    coverage: Coverage | None = field(default=None, compare=False)

    @classmethod
    def of(cls, ruleset: Ruleset, *, counting: bool) -> "Authority":
        """Return the authority of a ruleset; counting makes every check slower."""
        return cls(ruleset, Coverage(ruleset) if counting else None)

    def permit_read(
        self, path: Path, reader: Reader, caller: Caller, now_ms: int
    ) -> frozenset[Path]:
        """Return the places that the permission depends on; PermissionDenied when there is none.

        While none of those places changes, nor the caller, the permission stands.
        """
        _refuse_expired(caller, now_ms)
        if caller.is_admin:
            return frozenset()
        auth, watched = auth_variable(caller.auth), ReadPlaces(reader)
        asked: dict[str, Any] = {"auth": auth, "now_ms": now_ms, "query": caller.query}
        verdict = self.ruleset.check_read(path, watched, ask=self._ask, **asked)
        if verdict.allowed:
            return frozenset(watched.places)
        if not caller.wants_reason:
            raise PermissionDenied
        raise PermissionDenied(self.ruleset.explain_read(path, reader, **asked).to_text())

    def permit_write(
        self,
        patch: Patch,
        before: Reader,
        caller: Caller,
        now_ms: int,
        *,
        operation: "Operation",
        named: Sequence[Path] | None = None,
    ) -> None:
        """Return when a patch, its server values resolved, may be applied; else PermissionDenied.

        `named` are the places that the client named, all those of the patch when None: what else
        is in it the server added, and it is only validated.
        """
        _refuse_expired(caller, now_ms)
        if caller.is_admin or not patch.changes:
            return
        auth, after = auth_variable(caller.auth), Overlay(before, patch)
        verdict = self.ruleset.check_write(
            patch, before, after, auth=auth, now_ms=now_ms, named=named, ask=self._ask
        )
        if verdict.allowed:
            return
        if not caller.wants_reason:
            raise PermissionDenied
        explanation = self.ruleset.explain_write(
            patch,
            before,
            after,
            auth=auth,
            now_ms=now_ms,
            named=named,
            operation=operation.name,
            path=operation.path,
        )
        raise PermissionDenied(explanation.to_text())

    @property
    def _ask(self) -> Ask:
        return Rule.holds if self.coverage is None else self.coverage.ask


def _refuse_expired(caller: Caller, now_ms: int) -> None:
    # Checked here too, because a credential may expire between its check and the commit.
    if caller.auth is not None and caller.auth.has_expired(now_ms):
        raise ExpiredToken


@dataclass(frozen=True, slots=True)
class Operation:
    """What a client asked for, to be shown when it is denied: "set", "update", and where."""

    name: str
    path: Path
