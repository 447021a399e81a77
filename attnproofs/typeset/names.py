"""How the name of a symbol is written: ``W_Q`` is W with a subscript, ``kappa`` is κ."""

from __future__ import annotations

from dataclasses import dataclass

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω", "Delta": "Δ", "Gamma": "Γ",
    "Phi": "Φ", "Sigma": "Σ", "Omega": "Ω", "ell": "ℓ",
}  # fmt: skip
_LATEX_GREEK = {sign: f"\\{name}" for name, sign in GREEK.items()}
# the shapes that ε and φ have in prose, in a terminal and in a browser
_LATEX_GREEK |= {"ε": r"\varepsilon", "φ": r"\varphi"}


@dataclass(frozen=True)
class Name:
    """A name cut into what is printed: base, primes, subscript parts.

    Examples
    --------
    >>> split_name("W_Q'")
    Name(base='W', primes=1, subscripts=('Q',))
    >>> split_name("mu_q")
    Name(base='μ', primes=0, subscripts=('q',))
    """

    base: str
    primes: int
    subscripts: tuple[str, ...]


def split_name(name: str) -> Name:
    """Cut `name` at its underscores, count its primes, turn Greek names into letters."""
    stripped = name.rstrip("'")
    base, *rest = stripped.split("_")
    return Name(
        GREEK.get(base, base),
        len(name) - len(stripped),
        tuple(GREEK.get(part, part) for part in rest if part),
    )


def latex_word(word: str) -> str:
    r"""Return one word of a name for LaTeX mathematics: letters as they are, words upright.

    Examples
    --------
    >>> print(latex_word("d"), latex_word("model"), latex_word("φQ"))
    d \mathrm{model} \varphi Q
    """
    if word in _LATEX_GREEK:
        return _LATEX_GREEK[word]
    if len(word) == 1 or word.isdigit():
        return word
    if word[0] in _LATEX_GREEK:
        return f"{_LATEX_GREEK[word[0]]} {latex_word(word[1:])}"  # φQ
    return rf"\mathrm{{{word}}}"


def sort_key(name: str) -> tuple[str, str]:
    """Return a key that sorts names for people: without regard to case first."""
    return name.lower(), name
