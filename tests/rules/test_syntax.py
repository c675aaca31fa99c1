from treedb.config import DEFAULT_LIMITS
from treedb.rules.parser import parse_expression
from treedb.rules.syntax import Name, every_part, parts_of


def test_parts_come_in_the_order_they_stand() -> None:
    whole = parse_expression("a ? f(b, c) : d[e] == !g && h.i", DEFAULT_LIMITS)
    names = [part.name for part in every_part(whole) if isinstance(part, Name)]
    assert names == ["a", "f", "b", "c", "d", "e", "g", "h"]


def test_every_part_is_yielded_once_the_whole_first() -> None:
    whole = parse_expression("f([a, 'x'], /r/) + -1 > 2", DEFAULT_LIMITS)
    parts = list(every_part(whole))
    assert parts[0] is whole
    assert len({part.span.index for part in parts}) == len(parts) == whole.span.index + 1
    assert sum(len(parts_of(part)) for part in parts) == len(parts) - 1
