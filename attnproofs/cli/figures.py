"""``attnproofs figures``: draw the figures of the book and the site."""

from __future__ import annotations

from pathlib import Path

import click

from attnproofs.errors import InputError


@click.command("figures")
@click.argument("names", nargs=-1, metavar="[FIGURE]...")
@click.option(
    "-o",
    "--output",
    "directory",
    default="figures",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["pdf", "png", "svg"]),
    default=("pdf", "png"),
    show_default=True,
    help="Repeat for several.",
)
@click.option("--list", "only_list", is_flag=True, help="Print ids and alt texts, draw nothing.")
def command(
    names: tuple[str, ...], directory: Path, formats: tuple[str, ...], only_list: bool
) -> None:
    """Draw the figures as vector PDF and as PNG (needs the extra 'plots').

    FIGURE is an id as printed by --list; without one all are drawn. The same version of matplotlib
    writes the same bytes.
    """
    from attnproofs.files import write_whole
    from attnproofs.typeset.figures import all_figures

    known = all_figures()
    for name in names:
        if name not in known:
            raise InputError(f"no figure is called {name!r}; expected one of {', '.join(known)}")
    for figure in (known[name] for name in (names or known)):
        if only_list:
            click.echo(f"{figure.id}\n    {figure.alt['en']}")
            continue
        for kind, content in zip(formats, figure.render(*formats), strict=True):
            path = directory / f"{figure.id}.{kind}"
            write_whole(path, content)
            click.echo(path)
