"""The coverage page shows the file, and what its rules came to, and runs no script."""

from treedb.errors import PermissionDenied
from treedb.paths.path import Path
from treedb.rules.authority import NOBODY, Authority
from treedb.rules.loader import parse_rules
from treedb.server.coverage_page import coverage_page
from treedb.tree.reader import ValueReader

TEXT = """{"rules": { // <script>alert(1)</script>
  "open": {".read": true},
  "shut": {".read": "auth != null && 1 < 2"},
  "never": {".write": "newData.exists()"}
}}"""


def test_each_rule_is_marked_by_what_it_came_to() -> None:
    authority = Authority.of(parse_rules(TEXT), counting=True)
    for place in ("open", "shut"):
        try:
            authority.permit_read(Path((place,)), ValueReader(None), NOBODY, 0)
        except PermissionDenied:
            assert place == "shut"
    assert authority.coverage is not None
    page = coverage_page("a&b", authority.ruleset, authority.coverage.report())
    assert '<mark class="deny" title="asked 1: true 0, false 1, failed 0">auth != null' in page
    assert '<mark class="never"' in page
    assert '<mark class="allow"' in page
    assert "a&amp;b" in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "1 &lt; 2" in page
