"""The catalogue as a table: what `attnproofs list` shows without proving everything again.

``catalogue.json`` beside this file is written by ``python -m attnproofs.theorems.catalogue`` from
the replayed certificates, never by hand; a test writes it anew and compares. Evidence says what the
replay found at that time, and `attnproofs prove` finds it again.
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
    return json.dumps({"version": 1, "theorems": found}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    from attnproofs.files import write_whole

    write_whole(_FILE, build())
