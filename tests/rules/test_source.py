from treedb.errors import Finding
from treedb.rules.source import Mistake, Source, findings_of, format_findings

TEXT = "ab\ncd\r\nef\rgh"


def test_lines_end_at_each_kind_of_break_and_crlf_is_one() -> None:
    source = Source.of(TEXT)
    places = [source.position(offset) for offset in (0, 1, 2, 3, 4, 7, 9, 10, 11)]
    assert places == [
        (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1), (3, 3), (4, 1), (4, 2),
    ]  # fmt: skip
    assert [source.line(number) for number in (1, 2, 3, 4)] == ["ab", "cd", "ef", "gh"]


def test_a_byte_order_mark_is_no_column() -> None:
    source = Source.of("\ufeff{}")
    assert source.position(1) == (1, 1)
    assert source.position(0) == (1, 1)
    assert source.line(1) == "{}"


def test_the_end_of_the_text_has_a_position() -> None:
    assert Source.of("").position(0) == (1, 1)
    assert Source.of("a\n").position(2) == (2, 1)


def test_findings_come_in_the_order_of_the_text_and_are_limited() -> None:
    mistakes = [Mistake(4, "third"), Mistake(0, "first"), Mistake(3, "second", "try", "/a .read")]
    assert findings_of(Source.of(TEXT), mistakes, 2) == (
        Finding(1, 1, "first", source="ab"),
        Finding(2, 1, "second", "try", "/a .read", "cd"),
    )


def test_a_finding_is_shown_with_its_line_and_a_caret() -> None:
    finding = Finding(3, 19, "Unknown variable 'atuh'.", "did you mean 'auth'?", "/a .read")
    line = '\t\t        "x": "atuh == 1"'
    shown = format_findings([Finding(3, 17, "No.", "hint", "/a .read", line)], "rules.json")
    assert shown == ('rules.json:3:17: No. (/a .read)\n    "x": "atuh == 1"\n          ^ hint')
    assert str(finding) == "3:19: Unknown variable 'atuh'."


def test_a_long_line_is_shown_around_the_place() -> None:
    line = "x" * 500 + "!" + "y" * 500
    shown = format_findings([Finding(1, 501, "No.", source=line)]).split("\n")
    assert len(shown[1]) < 130
    assert shown[1][shown[2].index("^")] == "!"


def test_what_cannot_be_printed_keeps_its_place() -> None:
    shown = format_findings([Finding(1, 3, "No.", source="a\x1b!")]).split("\n")
    assert shown[1:] == ["    a !", "      ^"]
