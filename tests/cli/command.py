"""A group of commands of `treedb`, called in this process."""

import pytest

from treedb.cli.main import main


class Command:
    """`treedb <group>`; what a call printed and the code it ended with."""

    def __init__(
        self, group: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._group = group
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str) -> tuple[int | str | None, str, str]:
        self._monkeypatch.setattr("sys.argv", ["treedb", self._group, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = self._capsys.readouterr()
        return ended.value.code, printed.out, printed.err
