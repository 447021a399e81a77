"""``attnproofs experiments``: the usual experiments, prediction beside measurement."""

from __future__ import annotations

import json

import click

from attnproofs.errors import InputError


@click.command("experiments")
@click.argument("names", nargs=-1, metavar="[EXPERIMENT]...")
@click.option("--seed", default=20170612, show_default=True, type=click.IntRange(min=0))
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of tables.")
def command(names: tuple[str, ...], seed: int, as_json: bool) -> int:
    """Measure what explanations of attention claim, next to what is predicted.

    EXPERIMENT is one of scores, entropy, doubling, masks, gradients; without a name all of them
    run. Exit status 1 when a measurement is more than four standard errors from its prediction.
    """
    from attnproofs.experiments.runs import EXPERIMENTS, REPEATS

    known = {experiment.id: experiment for experiment in EXPERIMENTS}
    for name in names:
        if name not in known:
            raise InputError(
                f"no experiment is called {name!r}; expected one of {', '.join(known)}"
            )
    chosen = [known[name] for name in names] if names else list(EXPERIMENTS)
    results = [(experiment, experiment.run(seed)) for experiment in chosen]
    held = all(row.agrees for _, rows in results for row in rows)
    if as_json:
        document = {
            "version": 1,
            "seed": seed,
            "draws": REPEATS,
            "experiments": [
                {"id": e.id, "title": e.title, "rows": [row.to_json() for row in rows]}
                for e, rows in results
            ],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
        return 0 if held else 1

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for experiment, rows in results:
        table = Table(title=experiment.title, title_justify="left", title_style="bold", box=SIMPLE)
        table.add_column("quantity", overflow="fold")
        for column in ("predicted", "one draw", "mean ± s.e."):
            table.add_column(column, justify="right", no_wrap=True)
        table.add_column("agrees", no_wrap=True)
        for row in rows:
            exact = row.standard_error == 0
            verdict = "yes" if row.agrees else "NO"
            table.add_row(
                row.quantity,
                f"{row.predicted:.5g}",
                f"{row.one_draw:.5g}",
                f"{row.measured:.5g}"
                if exact
                else f"{row.measured:.5g} ± {row.standard_error:.2g}",
                f"{verdict}, exact" if exact else f"{verdict}, {row.deviation:.1f} s.e.",
            )
        console.print(table)
    console.print(
        f"seed {seed}; mean and standard error over {REPEATS} independent draws; "
        "'agrees' means within 4 standard errors, or equal where the quantity is exact."
    )
    return 0 if held else 1
