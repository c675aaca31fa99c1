import io

import pytest

from treedb.cli.terminal import printable


@pytest.mark.parametrize(
    "encoding, text, shown",
    [
        ("utf-8", "Zoë", "Zoë"),
        ("ascii", "Zoë", r"Zo\xeb"),
        ("utf-8", "torn \ud800", r"torn \ud800"),
    ],
)
def test_what_the_terminal_lacks_is_written_out(
    encoding: str, text: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    assert printable(text) == shown
