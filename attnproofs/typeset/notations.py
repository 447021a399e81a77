r"""Three ways of writing mathematics down: LaTeX, text for a terminal, MathML.

A notation knows how a fraction, a subscript or a sum sign looks; it decides nothing about
parentheses. That is `attnproofs.typeset.printer`'s business, once for all three.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Protocol

from attnproofs.typeset.names import latex_word, split_name


class Notation(Protocol):
    """The pieces that the printer puts together. Every method returns finished markup."""

    stacked: bool  # fractions, roots and exponents are two-dimensional and need no parentheses

    def number(self, digits: str) -> str:
        """Write an unsigned integer."""

    def name(self, name: str) -> str:
        """Write the name of a symbol."""

    def word(self, word: str) -> str:
        """Write the name of a function, upright."""

    def sign(self, sign: str) -> str:
        """Write one of the signs ``+ - = ≤ < ≠ , ; : · ¬ ∧ ∨ ∈ × → …``."""

    def space(self) -> str:
        """Leave a small gap."""

    def row(self, *parts: str) -> str:
        """Put parts side by side."""

    def product(self, *factors: str) -> str:
        """Put factors side by side."""

    def fence(self, left: str, body: str, right: str, tall: bool) -> str:
        """Enclose `body`; `tall` asks for large delimiters."""

    def subscript(self, base: str, below: str) -> str:
        """Attach a subscript."""

    def power(self, base: str, exponent: str) -> str:
        """Attach an exponent."""

    def fraction(self, above: str, below: str) -> str:
        """Write a quotient."""

    def slash(self, above: str, below: str) -> str:
        """Write a quotient on one line."""

    def width(self, text: str) -> int:
        """Estimate the width of markup, in letters."""

    def root(self, body: str) -> str:
        """Write a square root."""

    def total(self, below: str, above: str, body: str) -> str:
        """Write a sum of `body`; `above` may be empty."""

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """Write a matrix of finished entries."""


_LATEX_SIGNS = {
    "+": " + ", "-": " - ", "=": " = ", "≤": r" \le ", "<": " < ", "≠": r" \ne ", ",": ", ",
    ";": "; ", ":": ":", "·": r" \cdot ", "¬": r"\lnot ", "∧": r" \land ", "∨": r" \lor ",
    "∈": r" \in ", "×": r"\times ", "→": r" \to ", "∂": r"\partial ", "⊤": r"\top", "…": r"\dots ",
    "ᴱ": r"\operatorname{E}", "∞": r"\infty ", "∀": r"\forall\,", "⇒": r" \Rightarrow ",
    "⊥": r"\perp ", "↦": r" \mapsto ", "∃": r"\exists\,", "≥": r" \ge ",
    "≔": r" := ", "⊆": r" \subseteq ", "/": "/",
}  # fmt: skip


class Latex:
    """LaTeX; needs amsmath and nothing else."""

    stacked = True

    def number(self, digits: str) -> str:
        """Write an unsigned integer."""
        return digits

    def name(self, name: str) -> str:
        """Write the name of a symbol."""
        cut = split_name(name)
        text = latex_word(cut.base) + "'" * cut.primes
        if cut.subscripts:
            text += "_{" + ",".join(map(latex_word, cut.subscripts)) + "}"
        return text

    def word(self, word: str) -> str:
        """Write the name of a function, upright."""
        if word in ("ln", "exp"):
            return f"\\{word}"
        return r"\operatorname{" + word.replace("_", r"\_").replace(" ", r"\ ") + "}"

    def sign(self, sign: str) -> str:
        """Write a sign."""
        return _LATEX_SIGNS[sign]

    def space(self) -> str:
        """Leave a small gap."""
        return r"\;"

    def row(self, *parts: str) -> str:
        """Put parts side by side."""
        return "".join(parts)

    def product(self, *factors: str) -> str:
        """Put factors side by side; two numbers in a row get a dot between them."""
        text = factors[0]
        for factor in factors[1:]:
            text += (r" \cdot " if factor[0].isdigit() else r"\,") + factor
        return text

    def fence(self, left: str, body: str, right: str, tall: bool) -> str:
        r"""Enclose `body`. Not ``\left``: that would forbid a line break inside."""
        signs = {"⟨": r"\langle", "⟩": r"\rangle"}
        left, right = signs.get(left, left), signs.get(right, right)
        if tall:
            return rf"\Bigl{left} {body} \Bigr{right}"
        if left == "|":
            return rf"\lvert {body} \rvert"
        if left == "{":
            return rf"\{{{body}\}}"
        return f"{left}{body}{right}" if left[0] != "\\" else f"{left} {body} {right}"

    def subscript(self, base: str, below: str) -> str:
        """Attach a subscript; a base that has one already is put in parentheses first."""
        if "_" in base and not base.endswith(")"):
            base = f"({base})"
        return base + "_{" + below + "}"

    def power(self, base: str, exponent: str) -> str:
        """Attach an exponent."""
        return base + "^{" + exponent + "}"

    def fraction(self, above: str, below: str) -> str:
        """Write a quotient; a fraction inside it stays as large, and its bar is the shorter one."""
        above, below = (
            rf"\,{part.replace(chr(92) + 'frac', chr(92) + 'cfrac')}\," if "frac" in part else part
            for part in (above, below)
        )
        return rf"\frac{{{above}}}{{{below}}}"

    def slash(self, above: str, below: str) -> str:
        """Write a quotient on one line."""
        return rf"{above} \big/ {below}"

    def width(self, text: str) -> int:
        """Estimate the width of markup, in letters: commands count one, braces and signs none."""
        text = re.sub(r"\\(?:operatorname|mathrm|Bigl|Bigr|lvert|rvert|,)", "", text)
        text = re.sub(r"\\c?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1", text)
        return len(re.sub(r"[{}_^\s]", "", re.sub(r"\\[A-Za-z]+", "x", text)))

    def root(self, body: str) -> str:
        """Write a square root."""
        return rf"\sqrt{{{body}}}"

    def total(self, below: str, above: str, body: str) -> str:
        """Write a sum."""
        over = f"^{{{above}}}" if above else ""
        return rf"\sum_{{{below}}}{over} {body}"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """Write a matrix in parentheses."""
        body = r" \\ ".join(" & ".join(row) for row in rows)
        # in braces: a matrix is a letter to what stands beside it, such as a comma
        text = rf"{{\begin{{pmatrix}} {body} \end{{pmatrix}}}}"
        if "frac" not in body:
            return text
        return rf"{{\renewcommand{{\arraystretch}}{{1.35}}{text}}}"  # fractions must not touch


class Text:
    """One line of Unicode text, for terminals and plain files."""

    stacked = False

    def number(self, digits: str) -> str:
        """Write an unsigned integer."""
        return digits

    def name(self, name: str) -> str:
        """Write the name of a symbol."""
        cut = split_name(name)
        return "_".join([cut.base, *cut.subscripts]) + "'" * cut.primes

    def word(self, word: str) -> str:
        """Write the name of a function."""
        return word

    def sign(self, sign: str) -> str:
        """Write a sign."""
        if sign == "ᴱ":
            return "E"
        if sign in "+-=≤<≠∧∨∈→⇒↦≥≔⊆":
            return f" {sign} "
        return f"{sign} " if sign in ",;" else sign

    def space(self) -> str:
        """Leave a small gap."""
        return " "

    def row(self, *parts: str) -> str:
        """Put parts side by side."""
        return "".join(parts)

    def product(self, *factors: str) -> str:
        """Put factors side by side."""
        return "·".join(factors)

    def fence(self, left: str, body: str, right: str, tall: bool) -> str:
        """Enclose `body`."""
        del tall
        return f"{left}{body}{right}"

    def subscript(self, base: str, below: str) -> str:
        """Attach a subscript, as an index in brackets."""
        return f"{base}[{below}]"

    def power(self, base: str, exponent: str) -> str:
        """Attach an exponent."""
        if exponent.isdigit():
            return base + exponent.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{base}^{exponent}"

    def fraction(self, above: str, below: str) -> str:
        """Write a quotient."""
        return f"{above}/{below}"

    slash = fraction

    def width(self, text: str) -> int:
        """Return the number of characters."""
        return len(text)

    def root(self, body: str) -> str:
        """Write a square root."""
        return f"√({body})"

    def total(self, below: str, above: str, body: str) -> str:
        """Write a sum."""
        return f"Σ_{{{below}{'..' + above if above else ''}}} {body}"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """Write a matrix as nested lists."""
        return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"


_TIMES = '<mo>&#x2062;</mo><mspace width="0.14em"/>'
_CLOSING = re.compile(r'(<mo form="postfix"[^>]*>[^<]*</mo>)((?:</mrow>)+)$')


class Mathml:
    """Presentation MathML (the Core subset that browsers draw without any script)."""

    stacked = True

    def number(self, digits: str) -> str:
        """Write an unsigned integer."""
        return f"<mn>{digits}</mn>"

    def _word(self, word: str) -> str:
        if word.isdigit():
            return f"<mn>{word}</mn>"
        variant = ' mathvariant="normal"' if len(word) > 1 else ""
        return f"<mi{variant}>{html.escape(word)}</mi>"

    def name(self, name: str) -> str:
        """Write the name of a symbol."""
        cut = split_name(name)
        text = self._word(cut.base)
        if cut.primes:
            text = f"<msup>{text}<mo>{'′' * cut.primes}</mo></msup>"
        if cut.subscripts:
            below = "<mo>,</mo>".join(map(self._word, cut.subscripts))
            text = f"<msub>{text}<mrow>{below}</mrow></msub>"
        return text

    def word(self, word: str) -> str:
        """Write the name of a function, upright."""
        return f'<mi mathvariant="normal">{html.escape(word)}</mi>'

    def sign(self, sign: str) -> str:
        """Write a sign."""
        if sign == "ᴱ":
            return "<mi>𝔼</mi>"
        if sign in "∞∂⊤":
            return f'<mi mathvariant="normal">{sign}</mi>'
        return f"<mo>{html.escape('−' if sign == '-' else sign)}</mo>"

    def space(self) -> str:
        """Leave a small gap."""
        return '<mspace width="0.5em"/>'

    def row(self, *parts: str) -> str:
        """Put parts side by side."""
        return f"<mrow>{''.join(parts)}</mrow>"

    def product(self, *factors: str) -> str:
        """Put factors side by side; a number after another factor gets a dot before it."""
        text = factors[0]
        for factor in factors[1:]:
            text += "<mo>·</mo>" if factor.startswith("<mn>") else _TIMES
            text += factor
        return f"<mrow>{text}</mrow>"

    def fence(self, left: str, body: str, right: str, tall: bool) -> str:
        """Enclose `body`."""
        stretch = "true" if tall else "false"
        return (
            f'<mrow><mo form="prefix" stretchy="{stretch}">{left}</mo>{body}'
            f'<mo form="postfix" stretchy="{stretch}">{right}</mo></mrow>'
        )

    def subscript(self, base: str, below: str) -> str:
        """Attach a subscript; a base that has one already is put in parentheses first."""
        if base.startswith("<msub>"):
            base = self.fence("(", base, ")", False)
        closing = _CLOSING.search(base)
        if closing:  # as TeX does: the script belongs to the delimiter, not to the tall whole
            head, mark, tail = base[: closing.start()], closing[1], closing[2]
            return f"{head}<msub>{mark}<mrow>{below}</mrow></msub>{tail}"
        return f"<msub>{base}<mrow>{below}</mrow></msub>"

    def power(self, base: str, exponent: str) -> str:
        """Attach an exponent."""
        return f"<msup><mrow>{base}</mrow><mrow>{exponent}</mrow></msup>"

    def fraction(self, above: str, below: str) -> str:
        """Write a quotient."""
        return f"<mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac>"

    def slash(self, above: str, below: str) -> str:
        """Write a quotient on one line."""
        return self.row(above, "<mo>/</mo>", below)

    def width(self, text: str) -> int:
        """Return 0: a browser lets a wide formula scroll, so fractions stay stacked."""
        del text
        return 0

    def root(self, body: str) -> str:
        """Write a square root."""
        return f"<msqrt>{body}</msqrt>"

    def total(self, below: str, above: str, body: str) -> str:
        """Write a sum."""
        if not above:
            head = f"<munder><mo>∑</mo><mrow>{below}</mrow></munder>"
        else:
            head = f"<munderover><mo>∑</mo><mrow>{below}</mrow><mrow>{above}</mrow></munderover>"
        return f"<mrow>{head}{body}</mrow>"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """Write a matrix in parentheses."""
        body = "".join(
            "<mtr>" + "".join(f"<mtd>{cell}</mtd>" for cell in row) + "</mtr>" for row in rows
        )
        return self.fence("(", f"<mtable>{body}</mtable>", ")", True)


NOTATIONS: dict[str, Notation] = {"latex": Latex(), "text": Text(), "mathml": Mathml()}
