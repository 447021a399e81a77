"""How the library's definitions are written, and a printer for a statement's terms."""

from __future__ import annotations

from collections.abc import Sequence

from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Definition, Statement
from attnproofs.kernel.terms import Term
from attnproofs.typeset.printer import (
    ATOM,
    DOT,
    MULTIPLY,
    POWER,
    Piece,
    Printer,
    Special,
    bound_names,
)


def _matmul(p: Printer, arguments: Sequence[Term], scope: tuple[str, ...]) -> Piece:
    left, right = (p.argument(a, scope) for a in arguments)
    # (A B) C and A (B C) are different terms: both keep their parentheses
    text = p.to.product(p.wrapped(left, POWER), p.wrapped(right, POWER))
    return Piece(text, MULTIPLY, tall=left.tall or right.tall)


def _transpose(p: Printer, arguments: Sequence[Term], scope: tuple[str, ...]) -> Piece:
    inner = p.argument(arguments[0], scope)
    return Piece(p.to.power(p.wrapped(inner, ATOM), p.to.sign("⊤")), POWER, tall=inner.tall)


def _dot(p: Printer, arguments: Sequence[Term], scope: tuple[str, ...]) -> Piece:
    left, right = (p.argument(a, scope) for a in arguments)
    text = p.to.row(p.wrapped(left, POWER), p.to.sign("·"), p.wrapped(right, POWER))
    return Piece(text, DOT, tall=left.tall or right.tall)


def _function(word: str, below: str = "") -> Special:
    def write(p: Printer, arguments: Sequence[Term], scope: tuple[str, ...]) -> Piece:
        pieces = [p.argument(a, scope) for a in arguments]
        head = p.to.word(word)
        if below:
            head = p.to.subscript(head, p.to.word(below))
        tall = any(piece.tall for piece in pieces)
        inner = p.listed([p.signed(piece) for piece in pieces])
        return Piece(p.to.row(head, p.to.fence("(", inner, ")", tall)), ATOM, tall=tall)

    return write


SPECIAL: dict[str, Special] = {
    "matmul": _matmul,
    "transpose": _transpose,
    "dot": _dot,
    "column_softmax": _function("softmax", "col"),
    "variance": _function("Var"),
    "std": _function("std"),
}


def printer(statement: Statement, notation: str) -> Printer:
    """Return a printer for the terms of `statement`: knows its names, axes and definitions."""
    taken = {d.name for d in statement.declared}
    for hypothesis in statement.hypotheses:
        taken |= {name for name, _ in hypothesis.forall}
    return Printer(
        notation,
        frozenset(taken),
        SPECIAL,
        {d.name: d.axes for d in statement.declared if d.kind in ("tensor", "family")},
        statement.definition,
        preferred_letters([d.name for d in statement.declared if d.kind == "dimension"], taken),
    )


def preferred_letters(dimensions: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Give each dimension a letter of its own for the indices that run over it, while they last.

    Examples
    --------
    >>> preferred_letters(["T", "d_k", "d_v"], {"i"})
    {'T': 'j', 'd_k': 'a', 'd_v': 'b'}
    """
    given: dict[str, str] = {}
    for name in dimensions:
        for letter in bound_names(("range", ix.ONE, ix.var(name))):
            if letter not in taken and letter not in given.values():
                given[name] = letter
                break
    return given


def definition_printer(
    made: Definition, indices: Sequence[str], definitions: dict[str, Definition], notation: str
) -> Printer:
    """Return a printer for the body of a definition: its parameters, letters for its indices."""
    names = {p[1] for p in made.params} | set(indices)
    axes = {p[1]: p[2] for p in made.params if p[0] == "tensor"}
    dimensions = [p[1] for p in made.params if p[0] == "int"]
    letters = preferred_letters(dimensions, names)
    return Printer(notation, frozenset(names), SPECIAL, axes, definitions, letters)
