r"""The book, one-page documents and fragments in LaTeX.

Formulas come from the printer, words from `attnproofs.typeset.words`, the frame from the templates
beside this file. The book needs pdflatex (English) or xelatex with kotex (Korean) and packages that
every TeX distribution has; a fragment needs amsmath alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from attnproofs.errors import InputError
from attnproofs.typeset.notations import NOTATIONS
from attnproofs.typeset.page import Page, Step
from attnproofs.typeset.reasons import reason
from attnproofs.typeset.words import choose, word

# signs that prose may use outside dollars
_SIGNS = {
    "≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$", "×": r"$\times$", "·": r"$\cdot$", "−": "$-$",
    "√": r"$\surd$", "∞": r"$\infty$", "→": r"$\to$", "↦": r"$\mapsto$", "Σ": r"$\Sigma$",
    "∂": r"$\partial$", "∈": r"$\in$", "⊤": r"$\top$", "ᵀ": r"$^{\top}$", "²": "$^2$", "³": "$^3$",
    "⁴": "$^4$", "½": r"$\frac12$", "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$",
    "δ": r"$\delta$", "Δ": r"$\Delta$", "ε": r"$\varepsilon$", "κ": r"$\kappa$",
    "λ": r"$\lambda$", "μ": r"$\mu$", "π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$",
    "τ": r"$\tau$", "φ": r"$\varphi$", "ℓ": r"$\ell$", "≈": r"$\approx$", "∑": r"$\sum$",
    "∘": r"$\circ$", "±": r"$\pm$", "⋅": r"$\cdot$", "∗": "$*$", "⊙": r"$\odot$",
    "∅": r"$\emptyset$",
    "∀": r"$\forall$", "∃": r"$\exists$", "∉": r"$\notin$", "⊆": r"$\subseteq$", "∧": r"$\land$",
    "∨": r"$\lor$", "¬": r"$\lnot$", "≪": r"$\ll$", "≫": r"$\gg$", "≡": r"$\equiv$", "∼": r"$\sim$",
    "∝": r"$\propto$", "←": r"$\leftarrow$", "↔": r"$\leftrightarrow$", "∫": r"$\int$",
    "¹": "$^1$", "⁰": "$^0$", "⁵": "$^5$", "⁶": "$^6$", "⁷": "$^7$", "⁸": "$^8$", "⁹": "$^9$",
    "⁻": "$^-$", "₀": "$_0$", "₁": "$_1$", "₂": "$_2$", "₃": "$_3$", "ᵢ": "$_i$", "ⱼ": "$_j$",
    "ₖ": "$_k$", "¼": r"$\frac14$", "θ": r"$\theta$", "η": r"$\eta$", "ω": r"$\omega$",
    "Γ": r"$\Gamma$", "Φ": r"$\Phi$", "Ω": r"$\Omega$", "Π": r"$\Pi$", "ψ": r"$\psi$",
    "ν": r"$\nu$",
    "′": "$'$", "\u00a0": "~", "‑": "-", "Ł": r"{\L}",
    "⟨": r"$\langle$", "⟩": r"$\rangle$", "…": r"\dots{}", "⇒": r"$\Rightarrow$",
    "“": "``", "”": "''", "‘": "`", "’": "'", "–": "--", "—": "---",
}  # fmt: skip
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$",
    "|": r"\textbar{}",
}  # fmt: skip
_LAST_LATIN = "\u024f"


def escape(text: str) -> str:
    r"""Return prose for LaTeX: what stands between dollars is mathematics and stays as it is.

    Raises
    ------
    InputError
        When a sign has no LaTeX here: better loud than a missing glyph on paper.

    Examples
    --------
    >>> print(escape("100 % of d_k, where $d_k = 64$"))
    100 \% of d\_k, where $d_k = 64$
    """
    parts = text.split("$")
    if len(parts) % 2 == 0:
        raise InputError(f"an odd number of dollar signs in {text!r}")
    out = []
    for k, part in enumerate(parts):
        out.append(f"${''.join(map(_math_sign, part))}$" if k % 2 else "".join(map(_sign, part)))
    # between Korean words the dot is a comma, not a product; the box keeps kotex from spacing it
    return re.sub(r"(?<=[가-힣])\$\\cdot\$(?=[가-힣])", r"\\mbox{·}", "".join(out))


# the longest piece, in letters, that stays on one line
_SHORT = 36
_BREAK = r"\penalty600 "
_TOKEN = re.compile(r"\\Big[lr](?:\\[A-Za-z]+|\\?.)|\\[A-Za-z]+|\\.|, |.")
_OPENING = ("(", "[", r"\{", r"\langle", r"\lvert")
_CLOSING = (")", "]", r"\}", r"\rangle", r"\rvert")


def breakable(formula: str) -> str:
    r"""Let a long formula break between factors and after commas; keep short pieces whole.

    TeX itself breaks at relations and signs only; here those stay the better places. Braces around
    what is short, a formula, an item of a list, what stands between brackets, forbid every break
    inside.

    Examples
    --------
    >>> print(breakable("[j = 1]"))
    {[{j = 1}]}
    >>> print(breakable(r"[j = 1]\,\frac{c\,d}{e} + abcdefghijklmnopqrstuvwxyzabcdefgh"))
    [{j = 1}]\,\penalty600 \frac{c\,d}{e} + abcdefghijklmnopqrstuvwxyzabcdefgh
    """
    out: list[str] = []
    starts = [0]  # where the formula and what stands in each open bracket begin
    items = [0]  # and the last item of each that is a list
    depth = 0
    for token in _TOKEN.findall(formula):
        depth += {"{": 1, "}": -1}.get(token, 0)
        bare = re.sub(r"^\\Big[lr]", "", token)
        if not depth and token == ", ":
            _keep(out, items[-1])
            # between items of the outermost list, which may have commas themselves, a wider gap
            out += [token if len(starts) > 1 else r",\; ", _BREAK]
            items[-1] = len(out)
            continue
        if not depth and bare in _CLOSING and len(starts) > 1:
            _keep_list(out, starts.pop(), items.pop())
        out.append(token)
        if not depth and bare in _OPENING:
            starts.append(len(out))
            items.append(len(out))
        elif not depth and token == "\\,":
            out.append(_BREAK)
    _keep_list(out, 0, items[0])
    return "".join(out)


def _keep_list(out: list[str], start: int, item: int) -> None:
    """Keep what begins at `start` whole if it is short, else its last item, if it is a list."""
    if not _keep(out, start) and item > start:
        _keep(out, item)


def _keep(out: list[str], start: int) -> bool:
    """Put braces around the tokens from `start` on, if they are short; tell whether they are."""
    piece = "".join(out[start:]).replace(_BREAK, "")
    short = NOTATIONS["latex"].width(piece) <= _SHORT
    if short and (" " in piece or "\\," in piece):
        out[start:] = [f"{{{piece}}}"]
    return short


def _indexed(title: str) -> str:
    r"""Return an entry of the index: filed without its article, Korean by initial consonant.

    Examples
    --------
    >>> print(_indexed("The Jacobian"))
    Jacobian@The Jacobian
    """
    # makeindex reads these as signs of its own; a bar is left in mathematics only
    text = re.sub(r'([!@"])', r'"\1', title).replace("|", r"\vert ")
    key = re.sub(r"^(An?|The) ", "", text)
    if "가" <= key[0] <= "힣":
        # makeindex puts a gap where the first byte changes: before the syllable, for each of the
        # 19 initial consonants, a letter that begins with a byte of its own
        key = chr(0x100 + 0x40 * ((ord(key[0]) - ord("가")) // 588)) + key
    return text if key == text else f"{key}@{text}"


def _cited(prose: str, keys: Sequence[str]) -> str:
    r"""Return prose with its references before the last full stop.

    Examples
    --------
    >>> print(_cited("It holds.", ("b", "a")))
    It holds~\mbox{\cite{a,b}}.
    """
    if not keys:
        return prose
    text = prose.rstrip()
    stop = "." if text.endswith(".") else ""
    return f"{text.removesuffix(stop)}~\\mbox{{\\cite{{{','.join(sorted(keys))}}}}}{stop}"


def _math_sign(c: str) -> str:
    """Return a character of an author's inline mathematics; signs become commands."""
    return c if c.isascii() else _SIGNS.get(c, c).strip("$") + " "


def _sign(c: str) -> str:
    found = _ESCAPES.get(c) or _SIGNS.get(c)
    if found is not None:
        return found
    if c <= _LAST_LATIN or "\u1100" <= c <= "\u11ff" or "\u3000" <= c <= "\u303f":
        return c
    if "\uac00" <= c <= "\ud7a3" or "\u4e00" <= c <= "\u9fff":
        return c
    raise InputError(f"no LaTeX is known for {c!r} (U+{ord(c):04X})")


def _tied(source: str) -> str:
    """Keep initials with the name, and the number of an edition with its word, on one line.

    Examples
    --------
    >>> _tied("K. Hoffman and R. Kunze, Linear Algebra, 2nd ed., 1971")
    'K.~Hoffman and R.~Kunze, Linear Algebra, 2nd~ed., 1971'
    """
    source = re.sub(r"\b([A-Z]\.) (?=[A-Z])", r"\1~", source)
    return re.sub(r"(\d(?:st|nd|rd|th)) (?=ed\.)", r"\1~", source)


@cache
def _environment() -> Any:
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("attnproofs.typeset", "templates"),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    made.filters["e"] = escape
    made.filters["breakable"] = breakable
    made.filters["indexed"] = _indexed
    made.filters["cited"] = _cited
    return made


def _reasons(step: Step, language: str, linked: bool) -> str:
    out = []
    for rule, of in step.reasons:
        r = reason(rule, of, language)
        if not linked:
            out.append(escape(r.label))
        elif r.target.startswith("thm:"):
            out.append(rf"\theoremlink{{{r.target[4:]}}}{{{escape(r.label)}}}")
        else:
            out.append(rf"\rulelink{{{r.target[5:]}}}{{{escape(r.label)}}}")
    return ", ".join(out)


def _sign_of(relation: str) -> str:
    return {"<=": r"\le", "": ""}.get(relation, relation)


class _Words:
    """Words of one language as attributes, escaped, for the templates."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __getitem__(self, key: str) -> str:
        return escape(word(key, self._language))


def theorem_body(page: Page, language: str, *, linked: bool) -> str:
    """Return the body of a theorem's page: hypotheses, statement, proof and so on."""
    template = _environment().get_template("theorem.tex")
    return str(
        template.render(
            page=page,
            words=_Words(language),
            language=language,
            linked=linked,
            choose=lambda text: choose(text, language),
            reasons=lambda step: _reasons(step, language, linked),
            sign=_sign_of,
        )
    )


def standalone(page: Page, language: str = "en") -> str:
    """Return a complete document with one theorem."""
    from attnproofs.theorems.bibliography import references

    template = _environment().get_template("standalone.tex")
    return str(
        template.render(
            page=page,
            words=_Words(language),
            language=language,
            title=escape(choose(page.title, language)),
            preamble=_preamble(language),
            body=theorem_body(page, language, linked=False),
            bibliography=references(page.references, language),
        )
    )


def _preamble(language: str) -> str:
    return str(_environment().get_template("preamble.tex").render(language=language))


def book(
    pages: Sequence[Page], language: str = "en", *, chapters: Sequence[str] | None = None
) -> str:
    """Return the book of the given pages as one LaTeX document.

    Parameters
    ----------
    pages
        Theorems in the order of the book, each chapter's together.
    language
        ``en`` or ``ko``.
    chapters
        Chapters whose figures are included; those of `pages` when left out.
    """
    from attnproofs import __version__
    from attnproofs.kernel.axioms import AXIOMS
    from attnproofs.theorems import CHAPTERS
    from attnproofs.theorems.bibliography import references
    from attnproofs.typeset import notation
    from attnproofs.typeset.figures.captions import BY_CHAPTER, CAPTIONS
    from attnproofs.typeset.words import AXIOM_TEXTS, INTRODUCTIONS, RULE_TEXTS, RULES

    symbols, plain_symbols = notation.symbols(pages, language)
    present = list(dict.fromkeys(p.chapter for p in pages)) if chapters is None else list(chapters)
    used = _rules_of(pages)
    cited = sorted({key for p in pages for key in p.references})
    sections = []
    for chapter in present:
        title = CHAPTERS.get(chapter, {language: chapter, "en": chapter})
        sections.append(
            {
                "id": chapter,
                "title": escape(choose(title, language)),
                "introduction": escape(choose(INTRODUCTIONS.get(chapter, {"en": ""}), language)),
                "figures": [
                    {
                        "id": f,
                        "caption": escape(CAPTIONS[f]["caption"][language]),
                        "alt": escape(CAPTIONS[f]["alt"][language]),
                    }
                    for f in BY_CHAPTER.get(chapter, ())
                ],
                "theorems": [
                    {
                        "page": p,
                        "title": escape(choose(p.title, language)),
                        "body": theorem_body(p, language, linked=True),
                    }
                    for p in pages
                    if p.chapter == chapter
                ],
            }
        )
    axioms = {a for p in pages for a in p.axioms}
    known = {p.id for p in pages}
    outside = sorted({u for p in pages for u in p.uses} - known)
    return str(
        _environment()
        .get_template("book.tex")
        .render(
            language=language,
            words=_Words(language),
            preamble=_preamble(language),
            generated=escape(
                word("generated", language).format(
                    version=__version__,
                    theorems=len(pages),
                    steps=sum(p.steps for p in pages),
                )
            ),
            chapters=sections,
            symbols=symbols,
            plain_symbols=plain_symbols,
            definitions=notation.definitions(pages),
            shapes=notation.shapes(language),
            rules=[
                (name, escape(RULES[name][language]), escape(RULE_TEXTS[name][language]))
                for name in RULES
                if name in used
            ],
            axioms=[
                (name, escape(AXIOM_TEXTS[name][language]), _tied(escape(a.reference)))
                for name, a in AXIOMS.items()
                if name in axioms
            ],
            bibliography=references(cited, language),
            outside=outside,
        )
    )  # fmt: skip


def _rules_of(pages: Iterable[Page]) -> set[str]:
    """Return the rules that pages name: in a line, or by the form of a claim or of its proof."""
    found = set()
    for p in pages:
        if "rank" in p.axioms:  # a claim about a rank is closed by a rule that no line names
            found.add("factor")
        for part in p.parts:
            if not part.derivations:
                found.add("shape")
            for d in part.derivations:
                if d.title:
                    found.add("induct")
                found |= {rule for step in d.steps for rule, _ in step.reasons}
    return found


# -- fragments ----------------------------------------------------------------------------------


def fragment(page: Page, language: str = "en") -> str:
    """Return statement and derivation for pasting: needs amsmath, defines nothing."""
    lines = [f"% {page.id}: {choose(page.title, 'en')}; needs \\usepackage{{amsmath}}"]
    for part in page.parts:
        if part.name:
            heading = escape(choose(part.title, language) or part.name)
            lines.append(rf"\paragraph{{{heading}}}")
        rows = "; ".join(
            f"{escape(word(row.kind, language))}: "
            + ", ".join(f"${f.to('latex')}$" for f in row.formulas)
            for row in part.assumptions
        )
        if rows:
            lines.append(rf"\noindent\textit{{{escape(word('hypotheses', language))}.}} {rows}.")
        lines += [r"\[", f"  {part.claim.to('latex')}", r"\]"]
        for derivation in part.derivations:
            if derivation.title:
                lines.append(rf"\noindent {escape(word('ind_' + derivation.title, language))}:")
            lines += [r"\begin{align*}", *_aligned(derivation.steps, language), r"\end{align*}"]
    return "\n".join(lines) + "\n"


def claim(page: Page, language: str = "en") -> str:
    """Return the main statement as displayed mathematics."""
    del language  # a formula has none
    return f"$\\displaystyle {page.parts[0].claim.to('latex')}$"


def _aligned(steps: Sequence[Step], language: str) -> list[str]:
    rows = []
    for step in steps:
        formula = step.formula.to("latex")
        if step.number is None:
            rows.append(f"  &\\phantom{{={{}}}} {formula}")
            continue
        text = _reasons(step, language, linked=False)
        rows.append(f"  &{_sign_of(step.relation)} {formula}")
        if text:
            rows[-1] += rf" && \text{{{text}}}"
    return [row + (r" \\" if k < len(rows) - 1 else "") for k, row in enumerate(rows)]
