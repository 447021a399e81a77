"""``attnproofs audit``: which properties of attention a function has."""

from __future__ import annotations

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
@click.option("--timeout", default=10.0, show_default=True, help="Seconds one call may take.")
@click.option("--no-save", is_flag=True, help="Do not save failures under .attnproofs/.")
@click.option("--json", "json_file", help="Write the report as JSON to this file (- for output).")
@click.option("-v", "--verbose", is_flag=True, help="One line for every property.")
@click.option("--list", "list_", is_flag=True, help="List the properties and stop.")
def command(
    target: str | None,
    json_file: str | None,
    verbose: bool,
    list_: bool,
    no_save: bool,
    **options: Any,
) -> int:
    """Say which properties of attention TARGET has, and show where one fails.

    TARGET is a named adapter (numpy-reference, torch-sdpa, ...), package.module:callable, or
    path/file.py:callable. Exit status: 0 all held, 1 something is violated, 2 could not run.
    """
    from rich.console import Console

    from attnproofs.contract.api import audit
    from attnproofs.contract.render import show
    from attnproofs.contract.store import Store
    from attnproofs.contract.target import find
    from attnproofs.errors import InputError

    console = Console(stderr=False, highlight=False)
    if list_:
        return _list(console)
    if target is None:
        raise InputError(
            "no target; give a named adapter, path/file.py:callable or module:callable"
        )
    report = audit(
        find(target, options["level"] or "", arrays=options["arrays"], device=options["device"]),
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
        store=None if no_save else Store(),
    )
    if json_file == "-":
        click.echo(report.json_text(), nl=False)
    else:
        if json_file:
            from attnproofs.files import write_whole

            write_whole(Path(json_file), report.json_text())
        show(report, console, verbose=verbose)
    return report.exit_status


def _list(console: Any) -> int:
    """Print every property."""
    from rich.table import Table

    from attnproofs.contract.properties import properties_of
    from attnproofs.contract.property import LEVELS

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("level", "property", "theorem"):
        table.add_column(name, no_wrap=True)
    table.add_column("sentence", overflow="fold")
    for level in LEVELS:
        for p in properties_of(level):
            if p.level == level:
                table.add_row(level, p.id, p.theorem, p.sentence)
    console.print(table)
    return 0
