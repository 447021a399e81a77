"""``attnproofs prove``: run proof scripts, replay their certificates, write them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from attnproofs.calculus.proving import Result
    from attnproofs.calculus.theorem import Theorem
    from attnproofs.theorems.batch import Outcome


@click.command("prove")
@click.argument("names", nargs=-1, metavar="[ID|CHAPTER|FILE.py]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the certificates into this folder, with those of the cited lemmas.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
@click.option(
    "--kernel-only",
    is_flag=True,
    help="Leave out SymPy's and the numbers' opinions and the false neighbours.",
)
def command(
    names: tuple[str, ...], *, output: Path | None, as_json: bool, kernel_only: bool
) -> int:
    """Prove theorems: of the catalogue by id or chapter, your own by file. Without names, all.

    Each proof is replayed by the kernel; SymPy and exact numbers give a second and a third opinion
    on every line; each false neighbour is refused and refuted. The columns say on how many lines
    they agree, and how many neighbours were refused.

    Exit status: 0 all proved, 1 something is refused, 2 could not run.
    """
    from attnproofs.theorems.batch import outcomes

    theorems = load(names)
    counted: list[str] = []

    def progress(done: Outcome) -> None:
        counted.append(done.result.id)
        if sys.stderr.isatty():
            text = f"{len(counted)}/{len(theorems)} {done.result.id}"
            click.echo(f"\r\033[K{text}", nl=False, err=True)

    found = outcomes(
        theorems, opinions=not kernel_only, neighbours=not kernel_only, progress=progress
    )
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)
    results = [one.result for one in found]
    if output is not None:
        write_certificates(found, output)
    if as_json:
        document = {"version": 1, "results": [r.to_json() for r in results]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        show(results)
    return 0 if all(r.held for r in results) else 1


def load(names: tuple[str, ...]) -> list[Theorem]:
    """Return the theorems that the names stand for: ids, chapters, or a user's files."""
    from attnproofs.calculus.scripts import theorems_in_file
    from attnproofs.theorems import select

    if not names:
        return select(())
    found: list[Theorem] = []
    for name in names:
        found += theorems_in_file(Path(name)) if name.endswith(".py") else select((name,))
    return list({t.id: t for t in found}.values())


def write_certificates(found: list[Outcome], folder: Path) -> None:
    """Write the certificates of what is proved, and of all that it cites."""
    from attnproofs.files import write_whole
    from attnproofs.theorems import theorem
    from attnproofs.theorems.batch import outcome

    pending, done = list(found), set()
    while pending:
        one = pending.pop(0)
        if one.result.id in done or not one.certificate:
            continue
        done.add(one.result.id)
        write_whole(folder / f"{one.result.id}.json", one.certificate)
        missing = set(one.cited) - done - {p.result.id for p in pending}
        pending += [
            outcome(theorem(id), opinions=False, neighbours=False) for id in sorted(missing)
        ]


def show(results: list[Result]) -> None:
    """Print the results as a table, and every problem as a sentence."""
    from attnproofs.cli.tables import print_table

    rows: list[tuple[Any, ...]] = []
    for r in results:
        agreed = sum(o.sympy == "agrees" for o in r.opinions)
        numbers = sum(o.numbers == "agrees" for o in r.opinions)
        refuted = sum(n.as_expected for n in r.neighbours)
        rows.append(
            (
                r.id,
                r.status,
                str(r.lines),
                str(r.steps),
                f"{agreed}/{len(r.opinions)}",
                f"{numbers}/{len(r.opinions)}",
                f"{refuted}/{len(r.neighbours)}",
                f"{r.seconds:.2f} s",
            )
        )
    print_table(
        (
            "theorem",
            "status",
            "lines",
            "steps",
            "SymPy",
            "numbers",
            "neighbours",
            "time",
        ),
        rows,
    )
    for r in results:
        if r.message:
            click.echo(f"{r.id}: {r.message}")
    bad = sum(not r.held for r in results)
    click.echo(f"{len(results) - bad} proved, {bad} refused")
