"""Tables: ruled and coloured on a terminal, aligned plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

import click

_COLOURS = {
    "proved": "green",
    "held": "green",
    "refused": "red",
    "violated": "red",
    "disputed": "red",
    "tested": "yellow",
    "derived": "yellow",
    "not claimed": "dim",
}


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headers, in the way that fits where the output goes."""
    import sys

    if sys.stdout.isatty():
        _ruled(headers, rows)
        return
    widths = [max(len(str(r[k])) for r in [headers, *rows]) for k in range(len(headers))]
    for row in rows:
        line = "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths))
        click.echo(line.rstrip())


def print_wrapped(line: str, first: str = "", more: str = "", *, err: bool = False) -> None:
    """Print `first` and a line; a terminal gets it broken between words, with `more` before each.

    In a pipe it stays one line.
    """
    import sys

    if not (sys.stderr if err else sys.stdout).isatty():
        click.echo(first + line, err=err)
        return
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    text = textwrap.fill(
        line,
        width,
        initial_indent=first,
        subsequent_indent=more,
        break_long_words=False,
        break_on_hyphens=False,
    )
    click.echo(text, err=err)


def _ruled(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for number, h in enumerate(headers):
        table.add_column(h, overflow="fold", no_wrap=number == 0)  # a name stays in one piece
    for row in rows:
        table.add_row(*(Text(str(cell), style=_COLOURS.get(str(cell), "")) for cell in row))
    Console().print(table)
