"""The coverage of the rules as a page: the file, with each rule marked by what it came to."""

from html import escape
from typing import Any, Final

from treedb.rules.ruleset import Ruleset

_TITLES: Final = {
    "never": "never asked",
    "allow": "only ever true",
    "deny": "only ever false",
    "mixed": "true and false",
    "error": "failed at least once",
}
_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #8884; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid #8884; border-radius: .5rem; }
mark { color: inherit; border-radius: .2rem; padding: 0 .15rem; }
.never { background: #8883; } .allow { background: #3a93; } .deny { background: #c803; }
.mixed { background: #36c3; } .error { background: #c333; }
"""


def coverage_page(namespace: str, ruleset: Ruleset, report: dict[str, Any]) -> str:
    """Return a page of HTML, without scripts, from a ruleset and the report of its use."""
    legend = " ".join(f'<mark class="{status}">{title}</mark>' for status, title in _TITLES.items())
    rows = "".join(_row(rule) for rule in report["rules"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Rules coverage: '
        f"{escape(namespace)}</title><style>{_STYLE}</style><body>"
        f"<h1>Rules coverage of {escape(namespace)}</h1>"
        "<p>Counted since these rules came into force; what an admin did does not count.</p>"
        f"<p>{legend}</p><pre>{_marked(ruleset, report)}</pre>"
        "<h2>Rules</h2><table><tr><th>place<th>kind<th>expression<th>asked<th>true<th>false"
        f"<th>failed</tr>{rows}</table></body></html>"
    )


def _row(rule: dict[str, Any]) -> str:
    numbers = "".join(
        f'<td class="number">{rule[name]}' for name in ("evaluated", "true", "false", "error")
    )
    return (
        f"<tr><td><code>{escape(rule['node'])}</code><td>{escape(rule['kind'])}"
        f'<td><mark class="{rule["status"]}"><code>{escape(rule["expr"])}</code></mark>{numbers}'
    )


def _marked(ruleset: Ruleset, report: dict[str, Any]) -> str:
    """Return the file's text with the expression of each rule marked."""
    text, end, parts = ruleset.text, 0, []
    for rule, counted in sorted(
        zip(ruleset.rules, report["rules"], strict=True),
        key=lambda pair: pair[0].text.offset(0),
    ):
        start = rule.text.offset(0)
        stop = rule.text.offset(len(rule.expression))
        title = (
            f"asked {counted['evaluated']}: true {counted['true']}, false {counted['false']}, "
            f"failed {counted['error']}"
        )
        parts += [
            escape(text[end:start]),
            f'<mark class="{counted["status"]}" title="{title}">{escape(text[start:stop])}</mark>',
        ]
        end = stop
    return "".join((*parts, escape(text[end:])))
