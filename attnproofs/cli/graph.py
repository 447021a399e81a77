"""``attnproofs graph``: the dependency graph of the catalogue, as DOT or SVG text."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("graph")
@click.argument("names", nargs=-1, metavar="[ID|CHAPTER]...")
@click.option("--format", "form", type=click.Choice(["dot", "svg"]), help="Default: by -o, or dot.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; standard output when left out.",
)
@click.option("--no-definitions", is_flag=True, help="Theorems only.")
def command(
    names: tuple[str, ...], form: str | None, output: Path | None, no_definitions: bool
) -> None:
    """Write what rests on what: solid edges from proofs, dashed edges from statements.

    With names, these theorems and everything that they rest on. Theorems are coloured by evidence;
    definitions are boxes. No Graphviz is needed for SVG.
    """
    from attnproofs.theorems import select
    from attnproofs.typeset import graph

    made = graph.dependency_graph(select(names), definitions=not no_definitions)
    if form is None:
        form = "svg" if output is not None and output.suffix == ".svg" else "dot"
    text = graph.svg(made) if form == "svg" else graph.dot(made)
    if output is None:
        click.echo(text, nl=False)
        return
    from attnproofs.files import write_whole

    write_whole(output, text)
    click.echo(output)
