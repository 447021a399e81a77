"""``attnproofs identify``: which conventions a function follows, and the nearest library."""

from __future__ import annotations

from typing import Any

import click


@click.command("identify")
@click.argument("target")
@click.option("--profile", help="Compare with this profile instead of the nearest one.")
@click.option("--level", default="sdpa", show_default=True, help="Level of an adapter to ask.")
@click.option("--arrays", help="Arrays the function takes: numpy (default), torch, jax or mlx.")
@click.option("--device", help="Device of those arrays, in the framework's words (cpu, cuda:0).")
@click.option("--dtype", help="Format of the probes, instead of the first that it takes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(
    target: str, profile: str | None, level: str, dtype: str | None, as_json: bool, **arrays: Any
) -> int:
    """Infer the conventions of TARGET by small calls, and name the nearest profile.

    TARGET is a named adapter (torch-sdpa, jax-dpa, ...), package.module:callable, or
    path/file.py:callable. Each difference comes with two lines that show it. Exit status: 0 the
    conventions were found, 2 could not run.
    """
    import json

    from attnproofs.contract.identify import identify
    from attnproofs.contract.profile import load_profile
    from attnproofs.contract.target import find

    wanted = load_profile(profile) if profile else None
    function = _load(find(target, level, **{k: v for k, v in arrays.items() if v}))
    extra = (wanted,) if wanted else ()
    found = identify(function, name=target, dtype=dtype, profiles=extra)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
        return 0
    _show(found, wanted or load_profile(found.nearest))
    return 0


def _load(target: Any) -> Any:
    """The target's function; what goes wrong in the user's own module is one sentence."""
    import traceback

    from attnproofs.errors import AttnproofsError, TargetError

    try:
        return target.load()
    except AttnproofsError:
        raise
    except Exception as error:  # the module may raise anything at all
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename}, line {last.lineno}"
        if isinstance(error, SyntaxError):
            place = f"{error.filename}, line {error.lineno}"
        raise TargetError(
            f"{target.name} cannot be loaded: {type(error).__name__}: {error} ({place})"
        ) from error


def _show(found: Any, profile: Any) -> None:
    """Tables for a person."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from attnproofs.contract.profile import CONVENTIONS

    console = Console(highlight=False)
    differences = found.differences(profile)
    conflicts = [d for d in differences if d.offered]
    console.print(Text(f"{found.target}: {'; '.join(found.notes)}"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("convention", "answer", "seen"):
        table.add_column(column, overflow="fold")
    for name, seen in found.observations.items():
        wrong = any(d.question == name for d in conflicts)
        table.add_row(name, Text(seen.value, "bold red" if wrong else ""), Text(seen.detail))
    console.print(table)
    console.print()
    kind = "nearest profile" if profile.name == found.nearest else "profile"
    count = len(conflicts)
    words = "no difference" if not count else f"{count} difference{'s' if count > 1 else ''}"
    console.print(Text(f"{kind}: {profile.name} ({profile.title}): {words}", "bold"))
    if found.as_near and profile.name == found.nearest:
        console.print(Text(f"as near: {', '.join(found.as_near)}"))
    for d in conflicts:
        question = CONVENTIONS[d.question]
        console.print()
        console.print(Text(f"{d.question}: {question.text}", "bold"))
        console.print(Text(f"  here     {d.here}: {question.answers.get(d.here, '')}"))
        console.print(Text(f"  profile  {d.there}: {question.answers[d.there]}"))
        for line in d.probe.splitlines():
            # not wrapped: it is to be copied
            console.print(Text(f"    {line}"), soft_wrap=True)
    lacking = [d for d in differences if not d.offered]
    if lacking:
        console.print()
        names = ", ".join(f"{d.question} ({d.here} here, {d.there} there)" for d in lacking)
        console.print(Text(f"offered by one of the two only: {names}"))
