"""``attnproofs show``: one theorem with its derivation, as text, LaTeX, HTML or JSON."""

from __future__ import annotations

import click

from attnproofs.calculus.theorem import Theorem


@click.command("show")
@click.argument("name", metavar="ID")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "latex", "html", "json"]),
    default="text",
    show_default=True,
    help="html is one self-contained file; latex is a fragment that needs amsmath.",
)
@click.option(
    "--lang", "language", type=click.Choice(["en", "ko"]), default="en", show_default=True
)
def command(name: str, form: str, language: str) -> None:
    """Show a theorem: hypotheses, statement, derivation, what it rests on, what would be false."""
    from attnproofs.theorems import theorem

    print_theorem(theorem(name), form, language)


def print_theorem(theorem: Theorem, form: str = "text", language: str = "en") -> None:
    """Print a theorem; also what ``python -m attnproofs.theorems.CHAPTER.ID`` does."""
    from attnproofs.typeset import render

    click.echo(render(theorem, form, language), nl=False)
