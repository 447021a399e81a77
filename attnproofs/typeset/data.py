"""A theorem's page as JSON: everything that the other formats show, formulas as text and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from attnproofs.typeset.page import Assumption, Formula, Page, Written
from attnproofs.typeset.reasons import reason
from attnproofs.typeset.words import choose

VERSION = 1


def json_page(page: Page, language: str = "en") -> str:
    """Return the page as a JSON document."""
    return json.dumps(page_data(page, language), ensure_ascii=False, indent=2) + "\n"


def page_data(page: Page, language: str = "en") -> dict[str, Any]:
    """Return the page as plain values."""
    return {
        "version": VERSION,
        "id": page.id,
        "chapter": page.chapter,
        "language": language,
        "title": choose(page.title, language),
        "prose": choose(page.prose, language),
        "evidence": page.evidence,
        "steps": page.steps,
        "axioms": list(page.axioms),
        "lemmas": list(page.uses),
        "references": list(page.references),
        "numbers": choose(page.numbers, language),
        "parts": [
            {
                "name": part.name,
                "title": choose(part.title, language),
                "digest": part.digest,
                "hypotheses": _rows(part.assumptions),
                "claim": _formula(part.claim),
                "derivations": [
                    {
                        "title": d.title,
                        "lines": [
                            {
                                "number": step.number,
                                "relation": step.relation,
                                **_formula(step.formula),
                                "reasons": [
                                    {"rule": rule, "of": of,
                                     "words": reason(rule, of, language).label}
                                    for rule, of in step.reasons
                                ],
                            }
                            for step in d.steps
                        ],
                    }
                    for d in part.derivations
                ],
            }
            for part in page.parts
        ],
        "false_neighbours": [
            {
                "title": choose(wrong.title, language),
                "claim": _formula(wrong.claim),
                "without": _rows(wrong.without),
                "changed": _rows(wrong.changed),
                "counterexample": [_formula(f) for f in wrong.values],
                **{label: f.to("text") for label, f in zip(wrong.labels, wrong.sides)},
                "misfit": [_formula(f) for f in wrong.misfit],
                "refused": wrong.refusal,
            }
            for wrong in page.false
        ],
    }  # fmt: skip


def _rows(rows: Iterable[Assumption]) -> list[dict[str, Any]]:
    return [{"kind": r.kind, "formulas": [_formula(f) for f in r.formulas]} for r in rows]


def _formula(formula: Formula | Written) -> dict[str, str]:
    return {"text": formula.to("text"), "latex": formula.to("latex")}
