"""The notation chapter: declared symbols, definitions, and the shapes of one attention layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnproofs.typeset.names import sort_key
from attnproofs.typeset.notations import NOTATIONS
from attnproofs.typeset.page import Formula, Page, definition_formula
from attnproofs.typeset.words import MEANINGS, SHAPES, word

_ORDER = ("dimensions", "indices", "scalars", "tensors", "predicates", "functions", "family",
          "independent_family")  # fmt: skip
_SHOWN_SHAPES = 3
# the kind of symbol to which a name's meaning in `MEANINGS` belongs, where it is not an array
_OTHERWISE = {
    **dict.fromkeys(("T", "T_s", "T_t", "d_k", "d_v", "d_model", "H", "n"), ("dimensions",)),
    "keep": ("predicates",),
    "κ": ("functions",),
    "S:predicates": ("predicates",),
}
_ARRAYS = ("tensors", "family", "independent_family")


def symbols(
    pages: Sequence[Page], language: str, notation: str = "latex"
) -> tuple[list[dict[str, Any]], list[tuple[str, list[str]]]]:
    """Return one row a symbol: how it is written, what it is, which shapes it has.

    Symbols of which nothing but their kind is to be said come second, kind by kind. The rows come
    from the declarations of the theorems' statements; a meaning is added where the
    field has a fixed use of the name.
    """
    found: dict[tuple[str, str], dict[str, None]] = {}
    for page in pages:
        for part in page.parts:
            for kind, name, shape in part.symbols:
                if kind != "indices" and not page.lemma:
                    found.setdefault((kind, name), {})[shape.to(notation)] = None
    rows = []
    plain: dict[str, list[str]] = {}
    for kind, name in sorted(found, key=lambda k: (_ORDER.index(k[0]), sort_key(k[1]))):
        shapes = [s for s in found[kind, name] if s]
        meaning = _meaning(kind, name, language)
        if not meaning and not shapes:
            plain.setdefault(word(kind, language), []).append(NOTATIONS[notation].name(name))
            continue
        rows.append(
            {
                "name": NOTATIONS[notation].name(name),
                "kind": word(kind, language),
                "meaning": meaning,
                "shapes": shapes[:_SHOWN_SHAPES],
                "more": len(shapes) > _SHOWN_SHAPES,
            }
        )
    return rows, list(plain.items())


def _meaning(kind: str, name: str, language: str) -> str:
    """Return what a symbol of this kind means wherever it occurs; "" when that varies."""
    for key in (f"{name}:{kind}", name):
        if key in MEANINGS and kind in _OTHERWISE.get(key, _ARRAYS):
            return MEANINGS[key][language]
    return ""


def definitions(pages: Sequence[Page]) -> list[tuple[str, Formula]]:
    """Return the definitions that the statements use, each after those it uses."""
    from attnproofs.calculus.library import definition, definitions_in

    names = {name for page in pages for name in page.definitions}
    made = definitions_in(sorted(names))
    known = {d.name: d for d in made}
    return [(d.name, definition_formula(definition(d.name), known)) for d in made]


def shapes(language: str) -> list[tuple[str, str, str]]:
    """Return rows (array, shape, meaning) in LaTeX."""
    return [(array, shape, text[language]) for array, shape, text in SHAPES]
