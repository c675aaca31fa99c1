from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.errors import InvalidQuery, TreeError
from treedb.server.parameters import MOST_PARAMETERS, Parameters, parse_parameters
from treedb.tree.forms import Form
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, by_child
from treedb.writes.mend import Side

DIM_H = Query(by_child("dim", "h"), limit=2, keeps_last=True)

UNDERSTOOD = [
    (b"", Parameters()),
    (b"&&", Parameters()),
    (b"ns=abc", Parameters(namespace="abc")),
    (b"ns=", Parameters()),
    (b"ns=a%2Fb", Parameters(namespace="a/b")),
    (b"%6es=abc", Parameters(namespace="abc")),
    (b"print=pretty", Parameters(is_pretty=True)),
    (b"print=silent", Parameters(is_silent=True)),
    (b"shallow=true", Parameters(levels=1)),
    (b"shallow=false", Parameters()),
    (b"shallow=false&depth=2", Parameters(levels=2)),
    (b"depth=1", Parameters(levels=1)),
    (b"depth=32", Parameters(levels=32)),
    (b"format=export", Parameters(form=Form.EXPORT)),
    (b"auth=owner", Parameters(credentials=("owner",))),
    (b"access_token=t", Parameters(credentials=("t",))),
    (b"auth=", Parameters(credentials=("",))),
    (b"auth=a&access_token=b", Parameters(credentials=("a", "b"))),
    (b"auth=a+b%2Bc", Parameters(credentials=("a b+c",))),
    (b"x-http-method-override=PATCH", Parameters(method_override="PATCH")),
    (b"writeSizeLimit=unlimited", Parameters()),
    (b'orderBy="$key"', Parameters(query=Query(KEY))),
    (b"orderBy=%22dim%2Fh%22&limitToLast=2", Parameters(query=DIM_H)),
    (b'orderBy="dim/h"&limitToLast=2&shallow=false', Parameters(query=DIM_H)),
    (b'orderBy="$key"&format=export', Parameters(form=Form.EXPORT, query=Query(KEY))),
    (b"foo=1&foo=2&ac=y&disableTriggers=true", Parameters()),
    (b"download=a%2Fb", Parameters(download="a/b")),
    (b"timeout=3ms", Parameters(timeout_ms=3)),
    (b"timeout=3s", Parameters(timeout_ms=3_000)),
    (b"timeout=03min", Parameters(timeout_ms=180_000)),
    (b"timeout=15min", Parameters(timeout_ms=900_000)),
    (b"timeout=900000ms", Parameters(timeout_ms=900_000)),
    (b"writeSizeLimit=tiny", Parameters(most_write_seconds=1)),
    (b"writeSizeLimit=small", Parameters(most_write_seconds=10)),
    (b"writeSizeLimit=medium", Parameters(most_write_seconds=30)),
    (b"writeSizeLimit=large", Parameters(most_write_seconds=60)),
    (b"mirrorBackfill=union", Parameters(side=Side.UNION)),
    (b"callback=f", Parameters(callback="f")),
    (b"callback=$_1.then.f2", Parameters(callback="$_1.then.f2")),
    (b"callback=" + b"f" * 100, Parameters(callback="f" * 100)),
]

REFUSED = [
    (b"print=nope", InvalidQuery, "print is 'nope'; allowed: pretty, silent."),
    (b"print=", InvalidQuery, "print is ''; allowed: pretty, silent."),
    (b"shallow=maybe", InvalidQuery, "shallow is 'maybe'; allowed: true, false."),
    (b"depth=0", InvalidQuery, "depth is '0'; allowed: a whole number from 1 to 32."),
    (b"depth=33", InvalidQuery, "depth is '33'"),
    (b"depth=-1", InvalidQuery, "depth is '-1'"),
    (b"depth=1.5", InvalidQuery, "depth is '1.5'"),
    (b"depth=01", InvalidQuery, "depth is '01'"),
    (b"depth=%D9%A3", InvalidQuery, "depth is '٣'"),
    (b"depth=1%0A", InvalidQuery, r"depth is '1\n'"),
    (b"format=nope", InvalidQuery, "format is 'nope'; allowed: export, strict."),
    (b"shallow=true&depth=2", InvalidQuery, "shallow cannot be combined with depth"),
    (b'shallow=true&orderBy="$key"', InvalidQuery, "shallow cannot be combined with orderBy"),
    (b"writeSizeLimit=nope", InvalidQuery, "writeSizeLimit is 'nope'; allowed: tiny, small,"),
    (b'shallow=false&depth=2&equalTo=1&orderBy="n"', InvalidQuery, "depth cannot be combined with"),
    (b"shallow=maybe&orderBy=5", InvalidQuery, "shallow is 'maybe'"),
    (b"orderBy=n", InvalidQuery, "orderBy is 'n'"),
    (b"limitToFirst=1", InvalidQuery, "limitToFirst needs an order"),
    (b'orderBy="n"&%6frderBy="n"', InvalidQuery, "orderBy is given twice: give it once."),
    (b'orderBy="n"&startAt=1&startAt=1', InvalidQuery, "startAt is given twice"),
    (b"callback=alert(1)//", InvalidQuery, "callback is 'alert(1)//'; allowed: a function of Java"),
    (b"callback=a.b;", InvalidQuery, "callback is 'a.b;'"),
    (b"callback=", InvalidQuery, "callback is ''"),
    (b"callback=a..b", InvalidQuery, "callback is"),
    (b"callback=1a", InvalidQuery, "callback is"),
    (b"callback=%C3%A9", InvalidQuery, "callback is"),
    (b"callback=f%0A", InvalidQuery, "callback is"),
    (b"callback=" + b"f" * 101, InvalidQuery, "in at most 100 characters."),
    (b"timeout=abc", InvalidQuery, "timeout is 'abc'; allowed: a time such as 300ms, 3s or 3min,"),
    (b"timeout=-1s", InvalidQuery, "timeout is '-1s'"),
    (b"timeout=0s", InvalidQuery, "timeout is '0s'"),
    (b"timeout=3", InvalidQuery, "timeout is '3'"),
    (b"timeout=1.5s", InvalidQuery, "timeout is"),
    (b"timeout=3S", InvalidQuery, "timeout is"),
    (b"timeout=%D9%A3s", InvalidQuery, "timeout is"),
    (b"timeout=3s%0A", InvalidQuery, "timeout is"),
    (b"timeout=16min", InvalidQuery, "timeout is '16min'; allowed: a time such as 300ms, 3s or 3m"),
    (b"timeout=" + b"9" * 5000 + b"ms", InvalidQuery, "of at most 15min."),
    (b"timeout=3s&timeout=3s", InvalidQuery, "timeout is given twice"),
    (b"auth_variable_override=5", InvalidQuery, "allowed: a JSON object, or null"),
    (b"auth_variable_override={", InvalidQuery, "allowed: a JSON object, or null"),
    (b"dryRun=maybe", InvalidQuery, "dryRun is 'maybe'; allowed: true, false"),
    (b"mirrorBackfill=left", InvalidQuery, "is 'left'; allowed: source, target, union."),
    (b"mirrorBackfill=", InvalidQuery, "mirrorBackfill is ''; allowed: source, target, union."),
    (b"explain=yes", InvalidQuery, "explain is 'yes'; allowed: 1"),
    (b"ns=a&ns=b", InvalidQuery, "ns is given twice"),
    (b"print=pretty&%70rint=pretty", InvalidQuery, "print is given twice"),
    (b"auth=a&auth=a", InvalidQuery, "auth is given twice"),
    (b"foo=%ff", InvalidQuery, "'foo' is not UTF-8 when unescaped."),
    (b"foo=%zz", InvalidQuery, "'foo' holds a % that no two hexadecimal digits follow."),
    (b"foo=%4", InvalidQuery, "'foo' holds a %"),
    (b"%ff=1", InvalidQuery, "the name of a parameter is not UTF-8"),
    (b"&" * MOST_PARAMETERS, InvalidQuery, "101 parameters, at most 100 are allowed."),
]


@pytest.mark.parametrize("query, parameters", UNDERSTOOD)
def test_what_is_asked_for_is_understood(query: bytes, parameters: Parameters) -> None:
    assert parse_parameters(query) == parameters


@pytest.mark.parametrize("query, error, detail", REFUSED)
def test_what_is_wrong_is_named(query: bytes, error: type[TreeError], detail: str) -> None:
    with pytest.raises(TreeError) as caught:
        parse_parameters(query)
    assert type(caught.value) is error
    assert detail in caught.value.detail


def test_a_credential_is_not_repeated_in_an_error() -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_parameters(b"auth=secret%zz")
    assert "secret" not in caught.value.detail


@given(st.binary() | st.text('ns=&%+print3shallowdepthorderBy"$', max_size=40).map(str.encode))
def test_any_bytes_are_understood_or_refused(query: bytes) -> None:
    with suppress(InvalidQuery):
        parse_parameters(query)
