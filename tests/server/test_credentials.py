import pytest
from starlette.datastructures import Headers

from treedb.auth.dev_tokens import parse_dev_credential
from treedb.auth.identity import ADMIN
from treedb.errors import InvalidQuery, InvalidToken
from treedb.server.credentials import auth_of
from treedb.server.parameters import Parameters

# The header says that the algorithm is none, the claims that sub is alice.
ALICE = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."

Bearers = tuple[str, ...]


def headers_of(bearers: Bearers) -> Headers:
    return Headers(raw=[(b"authorization", each.encode("latin-1")) for each in bearers])


def test_nobody_without_a_credential() -> None:
    parameters = Parameters()
    headers = Headers({"cookie": "session=owner"})
    assert auth_of(headers, parameters, parse_dev_credential) is None


@pytest.mark.parametrize(
    "bearers, credentials",
    [(("Bearer owner",), ()), (("bearer  owner",), ()), ((), ("owner",))],
)
def test_the_owner_is_admin(bearers: Bearers, credentials: Bearers) -> None:
    parameters = Parameters(credentials=credentials)
    assert auth_of(headers_of(bearers), parameters, parse_dev_credential) is ADMIN


def test_an_unsigned_token_is_who_it_says() -> None:
    auth = auth_of(Headers(), Parameters(credentials=(ALICE,)), parse_dev_credential)
    assert auth is not None
    assert auth.uid == "alice"
    assert not auth.is_admin


@pytest.mark.parametrize(
    "bearers, credentials",
    [
        (("Basic b3duZXI6",), ()),
        (("owner",), ()),
        (("Bearer",), ()),
        (("Bearer ",), ()),
        (("Bearer nobody",), ()),
        (("Bearer \xff",), ()),
        ((), ("",)),
        ((), ("a.b",)),
    ],
)
def test_a_bad_credential_is_refused(bearers: Bearers, credentials: Bearers) -> None:
    parameters = Parameters(credentials=credentials)
    with pytest.raises(InvalidToken):
        auth_of(headers_of(bearers), parameters, parse_dev_credential)


@pytest.mark.parametrize(
    "bearers, credentials",
    [
        (("Bearer owner", "Bearer owner"), ()),
        (("Bearer owner",), ("owner",)),
        ((), ("owner", "owner")),
    ],
)
def test_two_credentials_are_refused(bearers: Bearers, credentials: Bearers) -> None:
    parameters = Parameters(credentials=credentials)
    with pytest.raises(InvalidQuery, match="several credentials"):
        auth_of(headers_of(bearers), parameters, parse_dev_credential)
