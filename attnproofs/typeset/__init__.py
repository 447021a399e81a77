"""What readers see: text, LaTeX, HTML and figures, in English and Korean."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from attnproofs.errors import InputError

if TYPE_CHECKING:
    from attnproofs.calculus.theorem import Theorem

# format -> module of this room and its function of a page and a language
_WRITERS = {
    "text": ("plain", "text_page"),
    "latex": ("latex", "fragment"),
    "html": ("web", "document"),
    "json": ("data", "json_page"),
    "notebook": ("web", "notebook"),
    "claim": ("latex", "claim"),
}


def render(theorem: Theorem, form: str = "text", language: str = "en") -> str:
    """Return a theorem's page as text.

    Parameters
    ----------
    theorem
        A theorem of the catalogue or of your own.
    form
        ``text``, ``latex`` (a fragment), ``html`` (one self-contained file), ``json``, ``notebook``
        (HTML for a cell) or ``claim`` (the main statement in LaTeX).
    language
        ``en`` or ``ko``.

    Raises
    ------
    InputError
        When there is no such format or language.
    """
    from attnproofs.typeset.page import page
    from attnproofs.typeset.words import LANGUAGES

    if language not in LANGUAGES:
        raise InputError(f"language {language!r} is not known; expected {' or '.join(LANGUAGES)}")
    if form not in _WRITERS:
        raise InputError(f"format {form!r} is not known; expected one of {', '.join(_WRITERS)}")
    module, function = _WRITERS[form]
    write = getattr(import_module(f"attnproofs.typeset.{module}"), function)
    return str(write(page(theorem), language))
