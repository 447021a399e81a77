"""``attnproofs adapters``: the named targets, and how to install what is missing."""

from __future__ import annotations

import click


@click.command("adapters")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(as_json: bool) -> int:
    """List the named targets, whether their framework is installed, and what installs it.

    No framework is imported. Other packages add adapters by the entry-point group
    attnproofs.adapters.
    """
    import json

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from attnproofs import adapters

    here = adapters.installed()
    rows = [(name, name in here, adapters.requirement(name)) for name in adapters.names()]
    if as_json:
        data = [{"name": n, "installed": found, "requirement": r} for n, found, r in rows]
        click.echo(json.dumps({"version": 1, "adapters": data}, indent=2))
        return 0
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("adapter", "framework", "comes with"):
        table.add_column(column, no_wrap=True)
    for name, found, requirement in rows:
        state = Text("installed", "green") if found else Text("missing", "dim")
        table.add_row(name, state, Text(requirement))
    Console(highlight=False).print(table)
    return 0
