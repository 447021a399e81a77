"""A theorem's page as plain text, for a terminal."""

from __future__ import annotations

import textwrap

from attnproofs.typeset.page import Page, PartPage
from attnproofs.typeset.reasons import reason
from attnproofs.typeset.words import choose, word

WIDTH = 88


def text_page(page: Page, language: str = "en") -> str:
    """Return the whole page as text."""
    title = f"{choose(page.title, language)}  ({page.id})"
    lines = [title, "=" * _width(title)]
    evidence = word(page.evidence, language)
    lines += [f"{evidence}, {page.steps} {word('steps', language)}", ""]
    if page.prose:
        lines += [*_wrapped(choose(page.prose, language)), ""]
    for part in page.parts:
        lines += _part(part, language)
    rests = [f"{word('lemmas', language)}: {', '.join(page.uses)}"] if page.uses else []
    rests.append(f"{word('axioms', language)}: {', '.join(page.axioms) or '-'}")
    lines += [word("rests_on", language), *(f"  {row}" for row in rests), ""]
    for false in page.false:
        lines.append(f"{word('false', language)}: {choose(false.title, language)}")
        lines.append(f"  {false.claim.to('text')}")
        if false.values:
            values = "; ".join(f.to("text") for f in false.values)
            lines += _wrapped(f"{word('counterexample', language)}: {values}", "  ")
            left, right = false.labels
            lines.append(
                f"  {word(left, language)} {false.sides[0]}, {word(right, language)} "
                f"{false.sides[1]}"
            )
        if false.refusal:
            lines += _wrapped(f"{word('refused', language)}: {false.refusal}", "  ")
        lines.append("")
    if page.numbers:
        lines += [word("numbers", language), *_wrapped(choose(page.numbers, language), "  "), ""]
    return "\n".join(lines).rstrip() + "\n"


def _part(part: PartPage, language: str) -> list[str]:
    lines = []
    if part.name:
        heading = choose(part.title, language) or part.name
        lines += [f"{heading}  ({part.name})", "-" * _width(heading)]
    if part.assumptions:
        lines.append(word("hypotheses", language))
        for row in part.assumptions:
            formulas = ",  ".join(f.to("text") for f in row.formulas)
            lines += _wrapped(f"{word(row.kind, language)}: {formulas}", "  ")
        lines.append("")
    lines += [word("statement", language), f"  {part.claim.to('text')}", ""]
    for derivation in part.derivations:
        heading = word("proof", language)
        if derivation.title:
            heading += f", {word('ind_' + derivation.title, language)}"
        lines.append(heading)
        for step in derivation.steps:
            formula = step.formula.to("text")
            if step.number is None:
                lines.append(f"       {formula}")
                continue
            reasons = ", ".join(reason(*r, language).label for r in step.reasons)
            sign = {"<=": "≤"}.get(step.relation, step.relation)
            line = f"  ({step.number})  {sign} {formula}"
            gap = WIDTH - _width(line) - _width(reasons)
            if not reasons:
                lines.append(line)
            elif gap >= 2:
                lines.append(line + " " * gap + reasons)
            else:
                lines += [line, " " * (WIDTH - _width(reasons)) + reasons]
        lines.append("")
    if not part.derivations:
        lines += [word("proof", language), *_wrapped(word("shape_proof", language), "  "), ""]
    return lines


def _width(text: str) -> int:
    """Return the columns that `text` takes on a terminal (Korean syllables take two)."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text.replace("$", ""),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + ("  " if indent else ""),
        break_on_hyphens=False,
    )
