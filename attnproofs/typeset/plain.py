"""A theorem's page as plain text, for a terminal."""

from __future__ import annotations

import re

from attnproofs.typeset.names import GREEK
from attnproofs.typeset.page import Assumption, Page, PartPage
from attnproofs.typeset.reasons import reason
from attnproofs.typeset.words import choose, word

WIDTH = 80  # columns, those of the narrowest terminal that is common


def text_page(page: Page, language: str = "en") -> str:
    """Return the whole page as text."""
    title = f"{plain_prose(choose(page.title, language))}  ({page.id})"
    lines = [title, "=" * _width(title)]
    evidence = word(page.evidence, language)
    lines += [f"{evidence}, {page.steps} {word('steps', language)}", ""]
    if page.prose:
        lines += [*_wrapped(choose(page.prose, language)), ""]
    for part in page.parts:
        lines += _part(part, language)
    lines.append(word("rests_on", language))
    if page.uses:
        lines += _wrapped(f"{word('lemmas', language)}: {', '.join(page.uses)}", "  ")
    lines += [*_wrapped(f"{word('axioms', language)}: {', '.join(page.axioms) or '-'}", "  "), ""]
    for false in page.false:
        title = plain_prose(choose(false.title, language))
        lines += _broken(f"{word('false', language)}: {title}", "", "  ")
        lines += _broken(false.claim.to("text"), "  ", "    ")
        for heading, rows in (("without", false.without), ("changed", false.changed)):
            shown = [
                _formulas(row)
                if heading == "without" and row.kind == "assume"
                else _row(row, language)
                for row in rows
            ]
            if shown:
                lines += _wrapped(f"{word(heading, language)}: {'; '.join(shown)}", "  ")
        if false.values:
            values = "; ".join(f.to("text") for f in false.values)
            lines += _wrapped(f"{word('counterexample', language)}: {values}", "  ")
        if false.sides:
            sides = zip(false.labels, false.sides, strict=True)
            values = ", ".join(f"{word(label, language)} {f.to('text')}" for label, f in sides)
            lines += _wrapped(values, "  ")
        if false.misfit:
            array, entry = (f.to("text") for f in false.misfit)
            lines += _wrapped(
                f"{word('misfit', language)}: {word('array', language)} {array}, "
                f"{word('missing', language)} {entry}",
                "  ",
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
        heading = plain_prose(choose(part.title, language)) or part.name
        lines += [f"{heading}  ({part.name})", "-" * _width(heading)]
    if part.assumptions:
        lines.append(word("hypotheses", language))
        for row in part.assumptions:
            lines += _wrapped(_row(row, language), "  ")
        lines.append("")
    lines += [word("statement", language), *_broken(part.claim.to("text"), "  ", "    "), ""]
    for derivation in part.derivations:
        heading = word("proof", language)
        if derivation.title:
            heading += f", {word('ind_' + derivation.title, language)}"
        lines += _broken(heading, "", "  ")
        for step in derivation.steps:
            formula = step.formula.to("text")
            if step.number is None:
                lines += _broken(formula, "       ", "         ")
                continue
            reasons = ", ".join(reason(*r, language).label for r in step.reasons)
            sign = {"<=": "≤"}.get(step.relation, step.relation)
            lines += _broken(formula, f"  ({step.number})  {sign} ", "         ")
            gap = WIDTH - _width(lines[-1]) - _width(reasons)
            if reasons and gap >= 2:
                lines[-1] += " " * gap + reasons
            elif reasons:
                lines.append(" " * (WIDTH - _width(reasons)) + reasons)
        lines.append("")
    if not part.derivations:
        lines += [word("proof", language), *_wrapped(word("shape_proof", language), "  "), ""]
    return lines


def _row(row: Assumption, language: str) -> str:
    return f"{word(row.kind, language)}: {_formulas(row)}"


def _formulas(row: Assumption) -> str:
    return ",  ".join(f.to("text") for f in row.formulas)


def _width(text: str) -> int:
    """Return the columns that `text` takes on a terminal (Korean syllables take two)."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


_COMMANDS = {
    "cdot": "·", "times": "×", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "to": "→",
    "mapsto": "↦", "in": "∈", "sum": "Σ", "infty": "∞", "approx": "≈", "dots": "...",
    "ldots": "...", "top": "ᵀ", "partial": "∂", "quad": "  ", "ln": "ln", "exp": "exp",
    "log": "log", "max": "max", "min": "min", "Rightarrow": "⇒", "neq": "≠", "pm": "±", "mid": "|",
    "ll": "<<", "gg": ">>", "lfloor": "⌊", "rfloor": "⌋", "langle": "⟨", "rangle": "⟩",
    "left": "", "right": "", "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "varepsilon": "ε",
    "cdots": "...", "equiv": "≡", "tanh": "tanh", "sin": "sin", "cos": "cos", "displaystyle": "",
    "circ": "∘", "varphi": "φ",
}  # fmt: skip
_FUNCTIONS = {"ln", "log", "exp", "max", "min", "tanh", "sin", "cos"}
_BRACED = r"\{([^{}]*)\}"


def _matrix(found: re.Match[str]) -> str:
    """Write the rows of a matrix one after another."""
    rows = [", ".join(cell.strip() for cell in row.split("&")) for row in found[1].split(r"\\")]
    return "[" + ", ".join(f"[{row}]" for row in rows) + "]"


def untex(source: str) -> str:
    r"""Return an author's inline LaTeX as plain text, near enough to read on a terminal.

    Examples
    --------
    >>> untex(r"\frac{1}{2}\sqrt{d_k} \le q\cdot k")
    '1/2√d_k ≤ q·k'
    >>> untex(r"\begin{pmatrix}1&2\\3&4\end{pmatrix}, \tfrac{15}2, \tfrac1{64}")
    '[[1, 2], [3, 4]], 15/2, 1/64'
    >>> untex(r"\ln n, \ln2, \exp(t)")
    'ln n, ln 2, exp(t)'
    """
    text = re.sub(r"\\begin\{pmatrix\}(.*?)\\end\{pmatrix\}", _matrix, source)
    text = re.sub(r"(\\[td]?frac" + _BRACED + r")(\d)", r"\1{\3}", text)
    text = re.sub(r"(\\[td]?frac)(\d)\{", r"\1{\2}{", text)
    for _ in range(4):  # nested braces, from the inside out
        text = re.sub(r"\\[td]?frac" + _BRACED + _BRACED, _quotient, text)
        text = re.sub(r"\\[td]?frac(\d)(\d)", r"\1/\2", text)
        text = re.sub(r"\\sqrt" + _BRACED, lambda m: "√" + _tight(m[1]), text)
        text = re.sub(r"\\(?:operatorname|mathrm|text|mathbf|textbf)" + _BRACED, r"\1", text)
        text = re.sub(r"([_^])" + _BRACED, lambda m: m[1] + _tight(m[2]), text)
    text = re.sub(r"\\([A-Za-z]+)(\s?)(?=([A-Za-z0-9\\]?))", _command, text)
    return re.sub(r"\\[,;!: ]", " ", text).replace("\\", "").replace("^2", "²")


def _tight(inner: str) -> str:
    return inner if re.fullmatch(r"\w+", inner) else f"({inner})"


def _command(match: re.Match[str]) -> str:
    name = match[1]
    sign = _COMMANDS[name] if name in _COMMANDS else GREEK.get(name, name)
    if name in _FUNCTIONS and match[3]:
        return f"{sign} "  # ln 2, with or without a space in the source
    return sign + (match[2] if sign in "≤≥≠→∈≈⇒↦≡" else "")


def _quotient(match: re.Match[str]) -> str:
    return f"{_tight(match[1])}/{_tight(match[2])}"


def plain_prose(text: str) -> str:
    """Return prose without dollars; what stands between them is put into plain signs."""
    return "".join(untex(p) if k % 2 else p for k, p in enumerate(text.split("$")))


def _wrapped(text: str, indent: str = "") -> list[str]:
    return _broken(plain_prose(text), indent, indent + ("  " if indent else ""))


def _broken(text: str, first: str, more: str) -> list[str]:
    """Break between words, but not inside indices; lines begin with `first`, then with `more`."""
    kept = re.sub(r"[\[{][^][{}]*[]}]", lambda m: m[0].replace(" ", "\0"), text)
    lines = [first]
    for number, piece in enumerate(kept.split(" ")):
        if number and _width(lines[-1]) + 1 + _width(piece) > WIDTH:
            lines.append(more + piece)
        else:
            lines[-1] += " " * (number > 0) + piece
    return [line.replace("\0", " ") for line in lines]
