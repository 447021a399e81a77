"""``attnproofs axioms``: what a theorem rests on, transitively."""

from __future__ import annotations

import json

import click


@click.command("axioms")
@click.argument("names", nargs=-1, metavar="[ID|CHAPTER]...")
@click.option("--all", "everything", is_flag=True, help="Every theorem, and the union.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")
def command(names: tuple[str, ...], *, everything: bool, as_json: bool) -> int:
    """Print the axioms and lemmas that a theorem rests on; without a name, all axioms."""
    from attnproofs.cli.tables import print_wrapped
    from attnproofs.kernel.axioms import AXIOMS
    from attnproofs.theorems.catalogue import entries

    if not names and not everything:
        if as_json:
            listed = [vars(a) for a in AXIOMS.values()]
            click.echo(json.dumps({"version": 1, "axioms": listed}, indent=2))
            return 0
        for a in AXIOMS.values():
            print_wrapped(f"{a.id}: {a.statement}", more="    ")
            print_wrapped(f"why: {a.reason}", "    ", "        ")
            print_wrapped(f"reference: {a.reference}", "    ", "        ")
        click.echo(f"{len(AXIOMS)} axioms")
        return 0
    found = entries(names)
    if as_json:
        rests = [{"id": e["id"], "axioms": e["axioms"], "lemmas": e["lemmas"]} for e in found]
        click.echo(json.dumps({"version": 1, "theorems": rests}, indent=2))
        return 0
    for e in found:
        print_wrapped(f"{e['id']}: {', '.join(e['axioms']) or '(none)'}", more="    ")
        if e["lemmas"]:
            print_wrapped(f"lemmas: {', '.join(e['lemmas'])}", "    ", "        ")
        if not everything:
            for name in e["axioms"]:
                print_wrapped(f"{name}: {AXIOMS[name].statement}", "    ", "        ")
    union = sorted({a for e in found for a in e["axioms"]})
    if everything:
        print_wrapped(f"{len(union)} axioms in all: {', '.join(union)}", more="    ")
    return 0
