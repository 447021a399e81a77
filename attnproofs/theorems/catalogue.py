"""The catalogue as a table: what `attnproofs list` shows without proving everything again.

``catalogue.json`` beside this file is written by ``python -m attnproofs.theorems.catalogue`` from
the replayed certificates, never by hand; a test writes it anew and compares. Evidence says what the
replay found at that time, and `attnproofs prove` finds it again. The table also says in which order
theorems are listed and printed: within a chapter, none before those that it cites.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from attnproofs.errors import InputError

_FILE = Path(__file__).with_name("catalogue.json")


@cache
def _table() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))["theorems"]
    return found


def entries(names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the entries of the catalogue, or those of the named chapters and ids.

    Raises
    ------
    InputError
        When a name is no chapter and no id; the message names the nearest.
    """
    table = _table()
    known = {e["id"] for e in table} | {e["chapter"] for e in table}
    for name in names:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, sorted(known), n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "`attnproofs list` shows all"
            raise InputError(f"there is no theorem or chapter {name!r}; {hint}")
    return [e for e in table if not names or e["id"] in names or e["chapter"] in names]


def order() -> dict[str, int]:
    """Return the place of every theorem in the catalogue (none when there is no table yet)."""
    try:
        return {entry["id"]: k for k, entry in enumerate(_table())}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _ordered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort each chapter: alphabetically, but for what a theorem cites, which comes just before."""
    waiting = {e["id"]: e for e in sorted(found, key=lambda e: str(e["id"]))}
    ordered: list[dict[str, Any]] = []

    def place(name: str, chapter: str) -> None:
        if name not in waiting or waiting[name]["chapter"] != chapter:
            return
        entry = waiting.pop(name)
        for cited in sorted(lemma.split(".")[0] for lemma in entry["lemmas"]):
            place(cited, chapter)
        ordered.append(entry)

    for chapter in dict.fromkeys(e["chapter"] for e in found):
        for name in tuple(waiting):
            place(name, chapter)
    return ordered


def build() -> str:
    """Prove everything and return the table as JSON text."""
    from attnproofs.calculus.proving import prove
    from attnproofs.theorems import select

    found = []
    for theorem in select(()):
        result = prove(theorem, opinions=False, neighbours=False)
        found.append({
            "id": theorem.id, "chapter": theorem.chapter, "title": dict(theorem.title),
            "evidence": result.status, "lemma": theorem.lemma,
            "statements": [b.statement.name for b in theorem.built],
            "digests": list(result.digests), "steps": result.steps, "lines": result.lines,
            "axioms": list(result.axioms), "lemmas": list(result.lemmas),
            "references": list(theorem.references),
        })  # fmt: skip
    table = {"version": 1, "theorems": _ordered(found)}
    return json.dumps(table, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    from attnproofs.files import write_whole

    write_whole(_FILE, build())
