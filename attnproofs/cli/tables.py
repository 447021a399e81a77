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


def print_hanging(line: str, indent: str) -> None:
    """Print a line, on a terminal broken between words with what follows set further in."""
    import sys

    if not sys.stdout.isatty():
        click.echo(indent + line)
        return
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    more = indent + "    "
    click.echo(textwrap.fill(line, width, initial_indent=indent, subsequent_indent=more))


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
