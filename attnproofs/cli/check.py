"""``attnproofs check``: the claims confirmed by numbers, at 50 digits and more."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from attnproofs.suites import CheckResult


@click.command("check")
@click.argument("names", nargs=-1, metavar="[CHAPTER]...")
@click.option(
    "--digits", default=50, show_default=True, help="Digits both sides must share, 50 or more."
)
@click.option("--examples", type=int, help="Drawn inputs per check, instead of the profile's.")
@click.option(
    "--profile",
    default="default",
    show_default=True,
    help="quick, default or thorough: how many inputs are drawn.",
)
@click.option("--seed", type=int, help="Draw other inputs than the fixed ones.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
def command(
    names: tuple[str, ...],
    *,
    digits: int,
    examples: int | None,
    profile: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Confirm the claims numerically, by suites that share nothing with the proofs.

    CHAPTER is one of the suites' names (softmax, masking, heads, ..); without one all of them
    run. The same inputs are drawn every time unless --seed asks for others.

    Exit status: 0 every check held, 1 a claim was refuted, 2 the suites could not run.
    """
    from rich.console import Console

    from attnproofs.suites import run_suites

    console = Console(stderr=True)
    with console.status("running the suites ...") as status:
        counter = [0]

        def progress(result: CheckResult) -> None:
            counter[0] += 1
            status.update(f"{counter[0]} checks done, last: {result.chapter} / {result.name}")

        results = run_suites(
            names, digits=digits, examples=examples, profile=profile, seed=seed, progress=progress
        )
    held = all(result.held for result in results)
    if as_json:
        checks = [{**asdict(result), "held": result.held} for result in results]
        document = {"version": 1, "digits": digits, "seed": seed, "held": held, "checks": checks}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        _print_table(results)
        _print_summary(results, digits)
    return 0 if held else 1


def _print_table(results: list[CheckResult]) -> None:
    """Print a table for a terminal, aligned plain lines for a pipe."""
    from rich.console import Console

    console = Console()
    names = max(len(r.name) for r in results)
    chapters = max(len(r.chapter) for r in results)
    if not console.is_terminal:
        for r in results:
            click.echo(f"{r.chapter:<{chapters}}  {r.name:<{names}}  {r.examples:>5}  {_word(r)}")
        return
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    # the claim gets what the other columns leave, if that is enough to read it
    space = console.width - max(chapters, 7) - names - len("examples") - len("REFUTED") - 15
    table = Table(box=SIMPLE)
    table.add_column("chapter", no_wrap=True)
    table.add_column("check", no_wrap=True)
    if space >= 30:
        table.add_column("claim", no_wrap=True, max_width=space, overflow="ellipsis")
    table.add_column("examples", justify="right", no_wrap=True)
    table.add_column("result", no_wrap=True)
    chapter = None
    for r in results:
        cells = [Text("" if r.chapter == chapter else r.chapter), Text(r.name)]
        cells += [Text(r.claim)] if space >= 30 else []
        verdict = Text(_word(r), style="green" if r.held else "bold red")
        table.add_row(*cells, f"{r.examples}", verdict)
        chapter = r.chapter
    console.print(table)


def _word(result: CheckResult) -> str:
    return {"passed": "held", "failed": "REFUTED"}.get(result.outcome, result.outcome)


def _print_summary(results: list[CheckResult], digits: int) -> None:
    """Print what each failed check found, then one line for all."""
    for r in results:
        if not r.held:
            click.echo(f"\n{_word(r)}: {r.chapter} / {r.name}\n{r.claim}")
            click.echo(textwrap.indent(r.message, "  "))
    held = sum(r.held for r in results)
    examples = sum(r.examples for r in results)
    count = len({r.chapter for r in results})
    click.echo(
        f"\n{held} of {len(results)} checks held: {count} chapter{'s' * (count > 1)}, "
        f"{examples} examples, {digits} digits"
    )
