"""``attnproofs profiles``: the declared conventions, one profile, or how two of them differ."""

from __future__ import annotations

from typing import Any

import click


@click.group("profiles", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Print every profile's conventions; SHOW one with its sources; DIFF two of them.

    A profile of one's own is a TOML file: `attnproofs profiles show strict --toml` prints one to
    start from.
    """
    if context.invoked_subcommand is None:
        _matrix(as_json)


@command.command("show")
@click.argument("profile")
@click.option("--toml", is_flag=True, help="Print the profile's file.")
def show(profile: str, toml: bool) -> None:
    """Print PROFILE (a name or a path ending in .toml): each answer, how it is known, whence."""
    from attnproofs.contract.profile import load_profile, profile_text

    if toml:
        click.echo(profile_text(profile), nl=False)
        return
    chosen = load_profile(profile)
    console, table = _table("convention", "answer", "how", "source")
    for name, e in chosen.entries.items():
        table.add_row(
            name, e.value, ", ".join(e.how), e.source + (f" ({e.note})" if e.note else "")
        )
    console.print(f"{chosen.title}, {chosen.library} {chosen.version}", style="bold")
    console.print(table)


@command.command("diff")
@click.argument("first")
@click.argument("second")
def diff(first: str, second: str) -> None:
    """Say which calls change when code moves from FIRST to SECOND, and how to write them."""
    from rich.text import Text

    from attnproofs.contract.migrate import changes
    from attnproofs.contract.profile import load_profile

    one, two = load_profile(first), load_profile(second)
    console, _ = _table()
    found = changes(one, two)
    if not found:
        console.print(f"{one.name} and {two.name} agree wherever both are known")
    for change in found:
        if change.needed:
            console.print(Text(f"{change.question}: {change.text}", "bold"))
            console.print(Text(f"  {one.name}: {change.before}: {change.before_means}"))
            console.print(Text(f"  {two.name}: {change.after}: {change.after_means}"))
            console.print(Text(f"  -> {change.advice}"))
            console.print()
    if same := [change for change in found if not change.needed]:
        console.print(Text("different, but calls stay as they are:", "bold"))
        for change in same:
            console.print(Text(f"  {change.question}: {change.before} -> {change.after}"))


def _table(*columns: str) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return Console(highlight=False), table


def _matrix(as_json: bool) -> None:
    """Conventions down, profiles across, as many side by side as the width holds."""
    import json

    from attnproofs.contract.profile import CONVENTIONS, load_profile, profile_names

    profiles = [load_profile(name) for name in profile_names()]
    if as_json:
        data = {p.name: {n: vars(e) for n, e in p.entries.items()} for p in profiles}
        click.echo(json.dumps({"version": 1, "profiles": data}, indent=2))
        return
    console, _ = _table()
    first = max(map(len, CONVENTIONS)) + 2
    block: list[Any] = []
    used = first
    for profile in [*profiles, None]:
        width = max(len(e.value) for e in profile.entries.values()) if profile else console.width
        width = max(width, len(profile.name)) + 2 if profile else width
        if block and used + width > console.width:
            _, table = _table("convention", *(p.name for p in block))
            for column in table.columns:
                column.no_wrap = True
            for name in CONVENTIONS:
                table.add_row(name, *(getattr(p, name) for p in block))
            console.print(table)
            console.print()
            block, used = [], first
        if profile:
            block.append(profile)
            used += width
