"""``attnproofs grade``: which faulty attention functions would slip through a test."""

from __future__ import annotations

import fnmatch
import json
import os
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from attnproofs.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from attnproofs.mutants import Mutant
    from attnproofs.mutants.grade import Grade, Grader, Outcome

_LEVELS = (
    *("softmax", "sdpa", "weights", "lse", "grad", "decode", "mha"),
    *("softcap", "sinks", "alibi", "window", "varlen", "dropout"),
)


_HELP = """Say which faulty attention functions would slip through TESTS.

\b
TESTS is one of
  path/test_file.py             a pytest file whose tests take the function
                                under test from a fixture called attention
  allclose:rtol=1e-2,atol=1e-2  that tolerance on ordinary inputs
  flash-attention, kernelbench, the rules of these projects, restated
  onnx, torch-testing
  audit                         the audit of this tool

The mutants are those of attnproofs.mutants, most of them after a public bug report. The correct
function must pass TESTS first.

Exit status: 0 every mutant was caught, 1 some slipped through, 2 could not run.
"""


@click.command("grade", help=_HELP)
@click.argument("tests", required=False)
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="LEVEL",
    type=click.Choice(_LEVELS),
    help="Grade with the mutants of this level (repeatable; for a test file one, default sdpa).",
)
@click.option("--only", multiple=True, metavar="ID", help="Only these mutants; * is a wildcard.")
@click.option(
    "--fixture",
    default="attention",
    show_default=True,
    help="Fixture of the test file that gives the function under test.",
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds that the test file may take for one mutant; beyond, the mutant is caught.",
)
@click.option(
    "-j",
    "--jobs",
    default=min(4, os.cpu_count() or 1),
    type=click.IntRange(min=1),
    help="Processes that run the test file or the audit.  [default: one a core, at most 4]",
)
@click.option("--slipped", "brief", is_flag=True, help="Leave the caught mutants out of the table.")
@click.option("--list", "listing", is_flag=True, help="Print the gallery of mutants and stop.")
@click.option("--json", "json_file", metavar="FILE", help="Write the result as JSON; - for stdout.")
def command(
    *,
    tests: str | None,
    levels: tuple[str, ...],
    only: tuple[str, ...],
    fixture: str,
    timeout: float,
    jobs: int,
    brief: bool,
    listing: bool,
    json_file: str | None,
) -> int:
    """Run the command; its help text is `_HELP`."""
    mutants = _chosen(levels, only)
    if listing:
        if tests is not None:
            raise InputError("--list prints the gallery and takes no TESTS; leave one of them out")
        _print_gallery(mutants, json_file)
        return 0
    if tests is None:
        raise InputError(
            "TESTS is missing: give a test file, allclose:rtol=R,atol=A or the name of a rule "
            "(attnproofs grade --help)"
        )
    test = _test(tests, levels, fixture, timeout, jobs)
    result = _run(test, mutants)
    _report(result, json_file, brief)
    return 1 if result.slipped else 0


def _chosen(levels: tuple[str, ...], only: tuple[str, ...]) -> tuple[Mutant, ...]:
    """The mutants of the levels and ids that were asked for."""
    from attnproofs.mutants import gallery

    everything = gallery()
    for pattern in only:
        if not fnmatch.filter([m.id for m in everything], pattern):
            raise InputError(
                f"--only {pattern}: no mutant has such an id; `attnproofs grade --list` prints them"
            )
    return tuple(
        m
        for m in everything
        if (not levels or m.level in levels)
        and (not only or any(fnmatch.fnmatchcase(m.id, pattern) for pattern in only))
    )


def _test(tests: str, levels: tuple[str, ...], fixture: str, timeout: float, jobs: int) -> Grader:
    """What TESTS names."""
    from attnproofs.mutants.grade import EachInTurn
    from attnproofs.mutants.rules import parse

    if tests == "audit":
        from attnproofs.cli.grade_audit import Audit

        return Audit(jobs)
    rule = parse(tests)
    if rule is not None:
        return EachInTurn(rule.name, rule.title, rule.levels, rule.examine)
    from attnproofs.mutants.suite import Suite

    if len(levels) > 1:
        raise InputError(
            f"a test file is graded at one level, not at {', '.join(levels)}; give --level once"
        )
    return Suite(tests, levels[0] if levels else "sdpa", fixture, timeout, jobs)


def _run(test: Grader, mutants: tuple[Mutant, ...]) -> Grade:
    """Grade, with a progress bar when somebody is watching."""
    from attnproofs.mutants.grade import grade

    if not sys.stderr.isatty():
        return grade(test, mutants)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("checking the correct function", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, description="grading", completed=done, total=total)

        return grade(test, mutants, advance)


def _report(result: Grade, json_file: str | None, brief: bool) -> None:
    """Print the tables, and write the JSON where it was asked for."""
    text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n"
    if json_file == "-":
        click.echo(text, nl=False)
        return
    from rich.console import Console

    console = Console(highlight=False)
    _print_slipped(console, result)
    if not brief:
        _print_caught(console, result)
    _print_summary(console, result)
    if json_file is not None:
        from attnproofs.files import write_whole

        write_whole(json_file, text)


def _titled(title: str, *, expand: bool = False) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    return Table(title=title, title_justify="left", expand=expand, box=SIMPLE)


def _print_slipped(console: Console, result: Grade) -> None:
    from rich.text import Text

    if not result.slipped:
        return
    table = _titled("slipped through", expand=True)
    width = _first_columns(table, console, result.slipped)
    table.add_column("what it does wrong", ratio=1)
    for outcome in result.slipped:
        m = outcome.mutant
        sentence = _with_source(m.sentence, m.sources)
        table.add_row(_in_width(m.id, width), m.level, Text(sentence))
    console.print(table)


def _first_columns(table: Table, console: Console, outcomes: tuple[Outcome, ...]) -> int:
    """Add the columns of id and level, and return the width of the former."""
    width = min(max(len(o.mutant.id) for o in outcomes), console.width // 3)
    table.add_column("mutant", width=width)
    table.add_column("level", no_wrap=True)
    return width


def _in_width(identity: str, width: int) -> Text:
    """An id broken at its hyphens."""
    from rich.text import Text

    return Text("\n".join(textwrap.wrap(identity, width)))


def _with_source(sentence: str, sources: tuple[str, ...]) -> str:
    return f"{sentence} ({sources[0]})" if sources else sentence


def _print_caught(console: Console, result: Grade) -> None:
    from rich.text import Text

    if not result.caught:
        return
    table = _titled("caught", expand=True)
    width = _first_columns(table, console, result.caught)
    table.add_column("what it does wrong", ratio=4)
    table.add_column("caught by", ratio=3, overflow="fold")
    for outcome in result.caught:
        m = outcome.mutant
        by = textwrap.shorten(outcome.by, 60, placeholder=" …")
        table.add_row(_in_width(m.id, width), m.level, Text(m.sentence), Text(by))
    console.print(table)


def _print_summary(console: Console, result: Grade) -> None:
    from rich.text import Text

    levels = list(dict.fromkeys(o.mutant.level for o in result.outcomes))
    table = _titled("by level")
    for name in ("level", "caught", "slipped through", "not examined"):
        table.add_column(name, justify="left" if name == "level" else "right")
    for level in levels:
        counts = [
            sum(o.mutant.level == level for o in group)
            for group in (result.caught, result.slipped, result.not_examined)
        ]
        table.add_row(level, *(str(n) if n else "·" for n in counts))
    console.print(table)
    examined = len(result.caught) + len(result.slipped)
    console.print(Text(f"{result.name}: {result.title}"))
    line = f"caught {len(result.caught)} of {examined} mutants, {100 * result.rate:.1f} %"
    if result.not_examined:
        more = len(result.not_examined)
        line += f"; {more} more {'is' if more == 1 else 'are'} of levels that it does not examine"
    console.print(Text(line, style="bold"))


def _print_gallery(mutants: tuple[Mutant, ...], json_file: str | None) -> None:
    from attnproofs.mutants import CAUSES
    from attnproofs.mutants.grade import FORMAT_VERSION

    if json_file is not None:
        rows = [
            {
                "id": m.id,
                "level": m.level,
                "sentence": m.sentence,
                "breaks": CAUSES[m.cause],
                "sources": list(m.sources),
                "seen_on": [str(call) for call in m.witness()],
            }
            for m in mutants
        ]
        content = {"format": "attnproofs-gallery", "version": FORMAT_VERSION, "mutants": rows}
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        if json_file == "-":
            click.echo(text, nl=False)
            return
        from attnproofs.files import write_whole

        write_whole(json_file, text)
        return
    from rich.console import Console
    from rich.text import Text

    table = _titled(f"{len(mutants)} mutants", expand=True)
    console = Console(highlight=False)
    width = min(max((len(m.id) for m in mutants), default=1), console.width // 3)
    table.add_column("mutant", width=width)
    table.add_column("level", no_wrap=True)
    table.add_column("what it does wrong", ratio=5)
    table.add_column("public report", ratio=3, overflow="fold")
    for m in mutants:
        reports = Text("\n".join(m.sources))
        table.add_row(_in_width(m.id, width), m.level, Text(m.sentence), reports)
    console.print(table)
