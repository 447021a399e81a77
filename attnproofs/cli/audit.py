"""``attnproofs audit``: which properties of attention a function has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click


@click.command("audit")
@click.argument("target", required=False)
@click.option("--level", help="Calling convention; by default what the parameters' names say.")
@click.option("--profile", help="Conventions to hold it to (default: strict, or the adapter's).")
@click.option("--variant", default="", help="A variant it applies without a keyword (alibi).")
@click.option("--dtype", "dtypes", multiple=True, help="Data type to try; may be repeated.")
@click.option(
    "--arrays",
    default="",
    help="Arrays a function of yours takes: numpy (default), torch, jax, mlx.",
)
@click.option(
    "--device", default="", help="Device of those arrays, in the framework's words (cpu, cuda:0)."
)
@click.option("--only", multiple=True, help="Property to run (name or pattern; repeatable).")
@click.option("--skip", multiple=True, help="Property to leave out (name or pattern; repeatable).")
@click.option("--mode", default="default", show_default=True, help="quick, default or thorough.")
@click.option("--examples", type=int, help="Random cases a property, instead of the mode's.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--timeout",
    default=10.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds one call may take.",
)
@click.option("--no-save", is_flag=True, help="Do not save failures under .attnproofs/.")
@click.option("--precision", default="", help="Precision model for accuracy (fa2-bf16, ...).")
@click.option("--known", help="File of known differences (TOML, a reason for each).")
@click.option("--json", "json_file", help="Write the report as JSON to this file (- for output).")
@click.option("--junit", "junit_file", help="Write the report as JUnit XML to this file.")
@click.option("--html", "html_file", help="Write the report as one HTML page to this file.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of --json and stop.")
@click.option("-v", "--verbose", is_flag=True, help="One line for every property.")
@click.option("--list", "list_", is_flag=True, help="List the properties and stop.")
def command(
    target: str | None,
    *,
    json_file: str | None,
    verbose: bool,
    list_: bool,
    schema: bool,
    no_save: bool,
    **options: Any,
) -> int:
    """Say which properties of attention TARGET has, and show where one fails.

    TARGET is a named adapter (numpy-reference, torch-sdpa, ...), package.module:callable, or
    path/file.py:callable. Exit status: 0 all held, 1 something is violated, 2 could not run.
    """
    from rich.console import Console

    from attnproofs.contract.api import audit
    from attnproofs.contract.render import show, text
    from attnproofs.contract.store import Store
    from attnproofs.contract.target import find
    from attnproofs.errors import InputError
    from attnproofs.files import write_whole

    console = Console(stderr=False, highlight=False)
    if list_:
        return _list(console)
    if schema:
        from importlib.resources import files

        click.echo((files("attnproofs.contract") / "schema.json").read_text("utf-8"), nl=False)
        return 0
    if target is None:
        raise InputError(
            "no target; give a named adapter, path/file.py:callable or module:callable"
        )
    with _progress(console, quiet=json_file == "-") as progress:
        report = audit(
            find(
                target, options["level"] or "", arrays=options["arrays"], device=options["device"]
            ),
            level=options["level"],
            profile=options["profile"],
            variant=options["variant"],
            mode=options["mode"],
            examples=options["examples"],
            seed=options["seed"],
            dtypes=options["dtypes"],
            only=options["only"],
            skip=options["skip"],
            limit=options["timeout"],
            precision=options["precision"],
            known=options["known"],
            store=None if no_save else Store(),
            progress=progress,
        )
    written = (
        (json_file if json_file != "-" else None, report.json_text),
        (options["junit_file"], report.junit),
        (options["html_file"], report.html),
    )
    for path, content in written:
        if path:
            write_whole(Path(path), content())
    if json_file == "-":
        click.echo(report.json_text(), nl=False)
    elif console.is_terminal:
        show(report, console, verbose=verbose)
    else:
        click.echo(text(report, verbose=verbose), nl=False)
    return report.exit_status


@contextmanager
def _progress(
    console: Any, *, quiet: bool
) -> Iterator[Callable[[str, str, int, int], None] | None]:
    """A bar on a terminal that names the property at work; nothing in a pipe."""
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def advance(level: str, name: str, number: int, count: int) -> None:
            bar.update(task, description=f"{level}: {name}", completed=number, total=count)

        yield advance


def _list(console: Any) -> int:
    """Print every property, a table for each level."""
    from rich.table import Table
    from rich.text import Text

    from attnproofs.contract.properties import properties_of
    from attnproofs.contract.property import LEVELS

    for level in LEVELS:
        console.print(Text(f"level {level}", "bold"))
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column("property", no_wrap=True)
        table.add_column("sentence", overflow="fold")
        for p in properties_of(level):
            if p.level == level:
                table.add_row(f"  {p.id}", Text(f"{p.sentence} ({p.theorem})"))
        console.print(table)
        console.print()
    return 0
