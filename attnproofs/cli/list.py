"""``attnproofs list``: the catalogue with evidence words."""

from __future__ import annotations

import json

import click


@click.command("list")
@click.argument("names", nargs=-1, metavar="[CHAPTER|ID]...")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
def command(names: tuple[str, ...], *, as_json: bool) -> int:
    """List the theorems of the catalogue with the evidence for each.

    Evidence words: proved (a certificate that the kernel replays), derived (rests on something
    tested), tested (numbers only).
    """
    from attnproofs.theorems.catalogue import entries

    found = entries(names)
    if as_json:
        click.echo(json.dumps({"version": 1, "theorems": found}, ensure_ascii=False, indent=2))
        return 0
    from attnproofs.cli.tables import print_table

    rows = [(e["id"], e["chapter"], e["evidence"], e["title"]["en"]) for e in found]
    print_table(("theorem", "chapter", "evidence", "statement"), rows)
    claims = sum(not e["lemma"] for e in found)
    click.echo(
        f"{claims} theorems, {len(found) - claims} tools, "
        f"{sum(e['evidence'] == 'proved' for e in found)} proved"
    )
    return 0
