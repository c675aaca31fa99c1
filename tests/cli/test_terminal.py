import io

import pytest

from treedb.cli.terminal import columns, printable, tell, tell_progress


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


def test_what_is_told_and_how_far_it_is_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    tell("torn \ud800")
    tell_progress("half of it")
    assert capsys.readouterr() == ("torn \\ud800\n", "half of it\n")


def test_a_column_is_as_wide_as_its_widest_cell() -> None:
    rows = [("place", "entries"), ("/a", "1"), ("/a/longer", "")]
    assert columns(rows) == ["place      entries", "/a         1", "/a/longer"]
