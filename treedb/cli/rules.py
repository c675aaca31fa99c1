"""`treedb rules`: the commands for those who write rules, and for those who put them in force."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn, TypeAlias

import typer

from treedb.cli.terminal import printable

rules = typer.Typer(
    no_args_is_help=True, help="Check, explain and test security rules; get and put a server's."
)

RulesFile: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="A file of rules; - is standard input.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
Url: TypeAlias = Annotated[
    str | None,
    typer.Option("--url", help="The server; without it the one that the settings tell of."),
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", help="The server's data folder, which may hold its admin token."),
]
Namespace: TypeAlias = Annotated[str, typer.Option("--ns", help="The namespace.")]


@rules.command()
def check(file: RulesFile) -> None:
    """List every mistake of a rules file, with its line and a caret, or else the warnings.

    The exit code is 1 when there are mistakes, and 0 when there are warnings only.
    """
    from treedb.cli import rules_files

    report = rules_files.check(file)
    _end(report.text, report.code)


@rules.command()
def explain(
    file: RulesFile,
    operation: Annotated[str, typer.Argument(metavar="read|write|update", help="What is asked.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The place, such as /rooms/r1.")],
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="What is written: JSON, or -.")
    ] = None,
    *,
    data: Annotated[
        str | None, typer.Option("--data", help="The database: a file of JSON, or an object.")
    ] = None,
    auth: Annotated[
        str | None, typer.Option("--auth", help="Who asks: a user's id, or auth as an object.")
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", help='A read\'s query: {"limitToFirst": 10}.')
    ] = None,
    now: Annotated[
        int | None, typer.Option("--now", help="The time in milliseconds; the present by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell whether rules allow an operation, and why: every rule asked, every part's value."""
    from treedb.cli.rules_files import Question
    from treedb.cli.rules_files import explain as explain_question
    from treedb.clock import SystemClock

    now_ms = SystemClock().now_ms() if now is None else now
    question = Question(operation, path, value, data, auth, query, now_ms)
    report = explain_question(file, question, as_json=as_json)
    _end(report.text, report.code)


@rules.command("test")
def run_tests(
    file: RulesFile,
    tests: Annotated[str, typer.Argument(metavar="TESTS", help="A file of tests, in JSON.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Run a file of tests: data, who asks for what, and whether it is to be allowed.

    A test that fails is explained. The exit code is 1 when one fails.
    """
    from treedb.cli import rules_files

    report = rules_files.run_tests(file, tests, as_json=as_json)
    _end(report.text, report.code)


@rules.command("get")
def get_rules(*, url: Url = None, ns: Namespace = "default", data: Data = None) -> None:
    """Print the rules that are in force on a server, as they were written."""
    from treedb.cli import rules_in_force

    server = rules_in_force.find_server(url, data, os.environ, Path())
    sys.stdout.write(printable(rules_in_force.get_rules(server, ns)))


@rules.command("put")
def put_rules(
    file: RulesFile,
    *,
    url: Url = None,
    ns: Namespace = "default",
    data: Data = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only have the server check them.")
    ] = False,
    mirror_backfill: Annotated[
        str | None,
        typer.Option(
            "--mirror-backfill",
            metavar="source|target|union",
            help="Bring the data to agree with new mirrors; this side is right where they differ.",
        ),
    ] = None,
) -> None:
    """Put rules in force on a server, in one step, and cancel the listens they deny.

    Rules with mistakes are listed as by `check`, and nothing is sent. Rules with mirrors or counts
    that the data disagrees with are refused, unless it is said which side is right.
    """
    from treedb.cli.rules_files import Report, load_rules
    from treedb.cli.rules_in_force import find_server
    from treedb.cli.rules_in_force import put_rules as put_text
    from treedb.cli.stored_mirrors import parse_side

    ruleset = load_rules(file)
    if isinstance(ruleset, Report):
        _end(ruleset.text, ruleset.code)
    side = None if mirror_backfill is None else parse_side("--mirror-backfill", mirror_backfill)
    server = find_server(url, data, os.environ, Path())
    backfills = put_text(server, ns, ruleset.text, is_dry_run=dry_run, side=side)
    done = "would be taken by" if dry_run else "are in force in"
    print(f"The rules {done} namespace {ns} of {server}.")
    if backfills:
        number = (
            "1 new mirror or count" if backfills == 1 else f"{backfills} new mirrors and counts"
        )
        is_being = "would be" if dry_run else "is being"
        print(f"The data {is_being} brought to agree with {number}, {mirror_backfill} is right.")
        if not dry_run:
            print("`treedb mirrors list` and /.inspect/mirrors.json tell how far that is.")


def _end(text: str, code: int) -> NoReturn:
    print(printable(text))
    raise typer.Exit(code)
