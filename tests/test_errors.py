"""Every error has its status, its code and its fixed text."""

import pytest

from treedb import errors
from treedb.errors import ProtocolError, TreeError

# The status strings the SDKs know (Firebase's JavaScript SDK and Android client).
STATUSES = {
    "failure",
    "permission_denied",
    "invalid_token",
    "expired_token",
    "datastale",
    "too_big",
    "unavailable",
}
EVERY = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TreeError)
]


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_an_error_has_a_known_status_an_http_code_and_a_text(kind: type[TreeError]) -> None:
    assert kind.status in STATUSES
    assert 400 <= kind.http_status < 600
    assert kind.text


def test_the_reason_is_the_detail_or_else_the_fixed_text() -> None:
    assert TreeError().reason == TreeError.text
    assert TreeError("what, where").reason == "what, where"
    assert str(TreeError("what, where")) == "what, where"


def test_a_protocol_error_carries_its_close_code() -> None:
    assert ProtocolError("bad").close_code == 1008
    assert ProtocolError("long", 1009).close_code == 1009
