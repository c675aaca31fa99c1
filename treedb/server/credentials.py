"""Who a REST request says it is from: `?auth=`, `?access_token=` or `Authorization: Bearer`.

Cookies never count, so a page elsewhere cannot use a visitor's rights without knowing the token.
"""

from starlette.datastructures import Headers

from treedb.auth.identity import Auth
from treedb.errors import InvalidQuery, InvalidToken
from treedb.server.callers import Authenticate, acting_as
from treedb.server.parameters import Parameters


def auth_of(headers: Headers, parameters: Parameters, authenticate: Authenticate) -> Auth | None:
    """Return who asks, None for nobody; InvalidToken when the credential is no good.

    Two credentials are refused: nobody could tell which of them was meant.
    """
    auth = _auth_of(headers, parameters, authenticate)
    if parameters.override is None:
        return auth
    return acting_as(auth, parameters.override.variable)


def _auth_of(headers: Headers, parameters: Parameters, authenticate: Authenticate) -> Auth | None:
    bearers = headers.getlist("authorization")
    if len(bearers) + len(parameters.credentials) > 1:
        raise InvalidQuery(
            "The request has several credentials: give one, as auth, as access_token or in an "
            "Authorization header."
        )
    if bearers:
        return authenticate(_bearer(bearers[0]))
    if parameters.credentials:
        return authenticate(parameters.credentials[0])
    return None


def _bearer(header: str) -> str:
    scheme, _, credential = header.partition(" ")
    if scheme.lower() != "bearer":
        raise InvalidToken
    return credential.strip(" ")
