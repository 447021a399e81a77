"""``attnproofs latex``: the book, one-page documents and fragments to paste."""

from __future__ import annotations

from pathlib import Path

import click

from attnproofs.errors import InputError


@click.command("latex")
@click.argument("names", nargs=-1, metavar="[ID|CHAPTER]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; standard output when left out.",
)
@click.option("--fragment", "kind", flag_value="fragment", help="For pasting; needs amsmath only.")
@click.option("--standalone", "kind", flag_value="standalone", help="A document of its own.")
@click.option("--pdf", is_flag=True, help="Compile with latexmk; needs -o.")
@click.option(
    "--lang", "language", type=click.Choice(["en", "ko"]), default="en", show_default=True
)
def command(
    names: tuple[str, ...], output: Path | None, kind: str | None, pdf: bool, language: str
) -> None:
    r"""Write derivations as LaTeX.

    Without names, the book of the whole catalogue; with chapters or several ids, the book of
    these. With one ID, a fragment to paste (needs \usepackage{amsmath}), or with --standalone a
    document of its own. The same input gives the same bytes. English compiles with pdflatex,
    Korean with xelatex and kotex.
    """
    from attnproofs.theorems import CHAPTERS, select
    from attnproofs.typeset import latex
    from attnproofs.typeset.page import page

    if pdf and output is None:
        raise InputError("--pdf needs a file: -o NAME.tex")
    theorems = select(names)
    single = len(theorems) == 1 and names[0] not in CHAPTERS
    if kind is None:
        kind = "book" if not single else ("standalone" if pdf else "fragment")
    if kind != "book" and not single:
        raise InputError(f"--{kind} takes one theorem id, not {len(theorems)} theorems")
    if kind == "fragment" and pdf:
        raise InputError("a fragment is no document; use --standalone with --pdf")
    pages = [page(t) for t in theorems]
    if kind == "fragment":
        text = latex.fragment(pages[0], language)
    elif kind == "standalone":
        text = latex.standalone(pages[0], language)
    else:
        text = latex.book(pages, language)
    if output is None:
        click.echo(text, nl=False)
        return
    from attnproofs.files import write_whole

    tex = output.with_suffix(".tex") if pdf else output
    write_whole(tex, text)
    click.echo(tex)
    if pdf:
        from attnproofs.typeset.pdf import compile_pdf

        if kind == "book":
            _draw_figures(tex.parent / "figures")
        click.echo(compile_pdf(tex, language))


def _draw_figures(directory: Path) -> None:
    """Draw the figures that the book includes, unless they are there already."""
    from attnproofs.errors import MissingDependency
    from attnproofs.files import write_whole
    from attnproofs.typeset.figures import all_figures

    for figure in all_figures().values():
        path = directory / f"{figure.id}.pdf"
        if path.exists():
            continue
        try:
            write_whole(path, figure.render("pdf")[0])
        except MissingDependency as missing:
            click.echo(f"attnproofs: the book is set without figures: {missing}", err=True)
            return
