"""Every exception of treedb, each with the status the realtime protocol and HTTP give it.

An error carries two texts. `text` is the contract: the words Firebase answers, the same for every
error of its class, and what clients compare. `detail` is one sentence for the person reading:
what, where, found, allowed, and the way out. Nothing else is raised at a client.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar


class TreeError(Exception):
    """Base of everything treedb raises on purpose.

    `status` is the realtime protocol's status string, `http_status` the REST code, `text` the
    fixed public text; `detail` is the sentence given when raising, "" when `text` says it all.
    """

    status: ClassVar[str] = "failure"
    http_status: ClassVar[int] = 400
    text: str = "Bad request"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or self.text)
        self.detail = detail

    @property
    def reason(self) -> str:
        """Tell the reason as one text: the detail if there is one, else the fixed text."""
        return self.detail or self.text


# The peer asked for something that cannot be: the request is refused and nothing changes.


class InvalidPath(TreeError):
    text = "Invalid path: Invalid token in path"


class InvalidJson(TreeError):
    text = "Invalid data; couldn't parse JSON object, array, or value."


class InvalidData(TreeError):
    text = (
        "Invalid data; couldn't parse JSON object, array, or value. "
        "Perhaps you're using invalid characters in your key names."
    )


class NotAnObject(TreeError):
    text = (
        "Invalid data; couldn't parse JSON object. "
        "Are you sending a JSON object with valid key names?"
    )


class NoData(TreeError):
    text = "Error: No data supplied."


class TooDeep(TreeError):
    text = "Data exceeds maximum depth"


class StringTooLong(TreeError):
    text = "String exceeds 10 MB"


class TooManyNodes(TreeError):
    text = "Too many nodes"


class ConflictingPaths(TreeError):
    text = "Invalid data; one path of the update is an ancestor of another, or they are equal."


class InvalidPatch(TreeError):
    text = "Invalid JSON Patch"


class NotFinite(TreeError):
    text = "Invalid data; the increment makes the number infinite."


class NoSuchNode(TreeError):
    text = "A priority can only be set where there is a value."


class InvalidQuery(TreeError):
    """A query, or another parameter, cannot be understood; some have a fixed text of their own."""

    text = "Invalid query parameter"

    def __init__(self, detail: str = "", text: str = "") -> None:
        if text:
            self.text = text
        super().__init__(detail)


class IndexNotDefined(InvalidQuery):
    """An order over REST needs an index that the rules do not have."""

    text = "Index not defined"

    def __init__(self, name: str, place: object) -> None:
        super().__init__(
            text=f'Index not defined, add ".indexOn": "{name}", for path "{place}", to the rules'
        )


class InvalidNamespace(TreeError):
    text = "Invalid namespace"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake in a rules file, or one warning about it.

    `line` and `column` count from 1 in the file. `place` names the rule ("/rooms/$id .write"), ""
    when it is none's; `source` is the line as it stands; `hint` is the way out, "" if unknown.
    """

    line: int
    column: int
    message: str
    hint: str = ""
    place: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class RulesError(TreeError):
    """A rules file is refused; `findings` holds its mistakes in the file's order, at least one.

    `is_unreadable` tells that the text is not even the JSON that rules are written in.
    """

    text = "Invalid rules"

    def __init__(self, findings: Sequence[Finding], *, is_unreadable: bool = False) -> None:
        super().__init__(str(findings[0]))
        self.findings = tuple(findings)
        self.is_unreadable = is_unreadable


class UnsupportedRequest(TreeError):
    text = "This request is not supported."


class PayloadTooLarge(TreeError):
    status = "too_big"
    http_status = 413
    text = "Payload is too large"


class BodyTooLarge(PayloadTooLarge):
    """More body than is taken: its rest stays unread and the connection is closed."""


class TooBigToRead(TreeError):
    status = "too_big"
    http_status = 400
    text = "The data requested exceeds the maximum size that can be accessed with a single request."


class ReadTimeout(TreeError):
    text = "The read takes longer than the timeout that was asked for."


class WriteTooLarge(TreeError):
    """The estimated time of a write is more than its `writeSizeLimit`."""

    status = "too_big"
    text = "Data to write exceeds the maximum size that can be modified with a single request."


class UriTooLong(TreeError):
    http_status = 414
    text = "URI too long"


class HeadersTooLarge(TreeError):
    http_status = 431
    text = "Request headers are too large"


class TooManyListens(TreeError):
    status = "too_big"
    http_status = 429
    text = "Too many listens on one connection"


class UnsupportedEncoding(TreeError):
    http_status = 415
    text = "Unsupported content encoding"


class NotFound(TreeError):
    http_status = 404
    text = "404 Not Found"


class MissingJsonEnding(NotFound):
    """The URL names no place and no page."""

    text = "append .json to your request URI to use the REST API."


class MethodNotAllowed(TreeError):
    """`allowed` are the methods that the URL takes, "" where they are those of the tree."""

    http_status = 405
    text = "Method Not Allowed"

    def __init__(self, allowed: str = "") -> None:
        super().__init__()
        self.allowed = allowed


class RequestTimeout(TreeError):
    http_status = 408
    text = "Request Timeout"


class Misdirected(TreeError):
    http_status = 421
    text = "Host is not allowed"


class ForeignOrigin(TreeError):
    """The page that asks is of an origin which is not allowed."""

    status = "permission_denied"
    http_status = 403
    text = "Origin is not allowed"


# Who asks may not, or is not who they say.


class PermissionDenied(TreeError):
    status = "permission_denied"
    http_status = 401
    text = "Permission denied"


class InvalidToken(TreeError):
    status = "invalid_token"
    http_status = 401
    text = "Could not parse auth token."


class ExpiredToken(TreeError):
    status = "expired_token"
    http_status = 401
    text = "Auth token is expired"


# The world changed or is full.


class DataStale(TreeError):
    status = "datastale"
    http_status = 412
    text = "Transaction hash does not match"


class PatchConflict(TreeError):
    """An operation of a JSON Patch cannot be done: `operation` is its number, counted from 0."""

    http_status = 409
    text = "The patch does not fit the value."

    def __init__(self, detail: str = "", operation: int = 0) -> None:
        super().__init__(detail)
        self.operation = operation


class Unavailable(TreeError):
    status = "unavailable"
    http_status = 503
    text = "Service unavailable"


class InsufficientStorage(TreeError):
    status = "unavailable"
    http_status = 507
    text = "Insufficient storage"


class MapFull(InsufficientStorage):
    """The store's address space is used up; the writer grows it and tries again."""


# Ours alone: never sent in this form.


class StoreError(TreeError):
    """The files on disk cannot be used as they are: the start is refused, or the writer stops."""

    status = "unavailable"
    http_status = 503
    text = "The store cannot be used"


class SettingsError(TreeError):
    """A setting is missing or wrong: the start is refused with the detail."""

    text = "Wrong settings"


class WrongUse(TreeError):
    """A command was called wrongly: it does nothing and ends with the detail."""

    text = "Wrong use of a command"


class CloseCode(IntEnum):
    """Why a connection is closed. Source: RFC 6455, section 7.4.1, and IANA's registry."""

    NORMAL = 1000
    GOING_AWAY = 1001
    UNSUPPORTED_DATA = 1003
    NOT_UTF_8 = 1007
    POLICY_VIOLATION = 1008
    TOO_BIG = 1009
    INTERNAL_ERROR = 1011
    TRY_AGAIN_LATER = 1013


class ProtocolError(TreeError):
    """The peer broke the realtime protocol: its connection is closed with `close_code`."""

    text = "Protocol error"

    def __init__(self, detail: str, close_code: int = CloseCode.POLICY_VIOLATION) -> None:
        super().__init__(detail)
        self.close_code = close_code


class RuleSyntaxError(TreeError):
    """Reading a rules file, or an expression in it, cannot go on at `offset` of its text."""

    text = "Syntax error in rules"

    def __init__(self, offset: int, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.offset = offset
        self.hint = hint


class RuleFailure(TreeError):
    """A rule met a value its expression cannot work on: the whole rule counts as false."""

    status = "permission_denied"
    http_status = 401
    text = "The rule failed"


class RuleBudgetExceeded(TreeError):
    """The rules of one operation cost more than `Limits.rules_steps`: it is denied."""

    status = "permission_denied"
    http_status = 401
    text = "The rules took too many steps"
