"""Theorems: one statement (or several parts), its proof, its prose, and the false claim next to it.

A theorem file holds a `Theorem` named ``THEOREM``. Statement and proof are separate functions: the
statement declares symbols in a `Scope` and returns a claim; the proof adds lines to a `Proof`.

>>> from attnproofs.calculus import Part, Sum, Theorem, eq, exp, softmax
>>> def statement(s):
...     n = s.dimension("n")
...     x = s.tensor("s", n)
...     return eq(Sum(n, lambda i: softmax(x)[i]), 1)
>>> def proof(p):
...     n, x = p["n s"]
...     Z = Sum(n, lambda l: exp(x[l]))
...     p.line(Sum(n, lambda i: exp(x[i]) / Z), "unfold")
...     p.line(Sum(n, lambda i: exp(x[i])) / Z, "sum_scale")
...     p.line(1, "ring")
>>> mine = Theorem(id="mine", chapter="mine", title={"en": "Weights sum to one"},
...                parts=(Part(statement, proof),))
>>> mine.certificate()["format"]
1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attnproofs.calculus.proof import SESSION, Line, Proof, ProofRefused
from attnproofs.calculus.symbols import Ix, Scope
from attnproofs.errors import InputError
from attnproofs.kernel import index as ix
from attnproofs.kernel import read
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Proved, _at_stage, _Checker
from attnproofs.kernel.statement import Claim, Statement, to_data
from attnproofs.kernel.wellformed import check_statement

Text = Mapping[str, str]
State = Callable[[Scope], Claim]
Prove = Callable[[Proof], Any]


@dataclass(frozen=True)
class Induction:
    """A proof by induction on a dimension, from its least value.

    `base` proves the claim there, `step` proves it at ``n + 1`` and may use ``hyp("IH")``.
    """

    on: str
    base: Prove
    step: Prove


@dataclass(frozen=True)
class Shown:
    """A derivation to display: where it starts, its lines, and which part of the proof it is."""

    title: str
    statement: Statement
    start: Any
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Part:
    """One statement of a theorem, and its proof.

    Parameters
    ----------
    statement, proof
        See the module's text. A shape needs no proof.
    name
        "" for the theorem's main statement; further parts are named.
    title
        What a further part adds, by language.
    instance
        For statements whose hypotheses random numbers would not meet: a function of a
        `random.Random` that returns the values of symbols (see `attnproofs.calculus.evaluate`).
    """

    statement: State
    proof: Prove | Induction | None = None
    name: str = ""
    title: Text = field(default_factory=dict)
    instance: Callable[[Any], dict[str, Any]] | None = None


@dataclass(frozen=True)
class FalseNeighbour:
    """A nearby claim that is false: the kernel refuses it, and numbers refute it.

    Parameters
    ----------
    title
        The wrong claim in words, by language.
    statement
        The wrong claim.
    attempt
        The derivation that one would try; left out: one line with every law of the normal form.
    because
        A fragment of the kernel's refusal.
    instance
        Values that refute it, where random ones would not (see `Part`).
    """

    title: Text
    statement: State
    attempt: Prove | Induction | None = None
    because: str = ""
    instance: Callable[[Any], dict[str, Any]] | None = None


@dataclass(frozen=True, eq=False)
class Theorem:
    """A theorem: what is claimed, why, and what would be false.

    Parameters
    ----------
    id
        The file's stem; also the LaTeX label.
    chapter
        The folder.
    title, prose
        By language (``{"en": ..., "ko": ...}``).
    parts
        The statements with their proofs, the main one first (named "").
    false_neighbours
        At least one for a theorem of the catalogue.
    numbers
        A worked line in numbers, by language (plain text with ``$...$`` for mathematics).
    references
        Keys of the bibliography (`attnproofs.theorems.bibliography`).
    lemma
        Whether it is a tool of other proofs rather than a claim about attention.
    """

    id: str
    chapter: str
    title: Text
    parts: tuple[Part, ...]
    prose: Text = field(default_factory=dict)
    false_neighbours: tuple[FalseNeighbour, ...] = ()
    numbers: Text = field(default_factory=dict)
    references: tuple[str, ...] = ()
    lemma: bool = False
    _done: dict[str, Built] = field(default_factory=dict, init=False, repr=False)
    _open: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        names = [p.name for p in self.parts]
        if not names or names[0] != "" or len(set(names)) < len(names):
            raise InputError(f"{self.id}: the first part is unnamed, and the others have names")

    def full_name(self, part: Part) -> str:
        """Return the name of a part's statement: the id, or ``id.part``."""
        return f"{self.id}.{part.name}" if part.name else self.id

    @cached_property
    def built(self) -> tuple[Built, ...]:
        """The parts with their statements and proofs carried out (and accepted step by step)."""
        return tuple(self._build(p) for p in self.parts)

    def _build(self, part: Part) -> Built:
        """Carry out a part, once; parts may cite one another, but not in a circle."""
        if part.name not in self._done:
            if part.name in self._open:
                raise ProofRefused(
                    f"{self.full_name(part)}: the proofs cite each other in a circle"
                )
            self._open.add(part.name)
            try:
                scope = Scope(self.full_name(part))
                statement = scope.claim(part.statement(scope))
                self._done[part.name] = carry_out(statement, scope, part.proof)
            finally:
                self._open.discard(part.name)
        return self._done[part.name]

    def certificate(self) -> dict[str, Any]:
        """Return the certificate: JSON-able data that `attnproofs.kernel.replay` accepts."""
        return self._certificate(self.built)

    def _certificate(self, built: tuple[Built, ...]) -> dict[str, Any]:
        return {
            "format": read.FORMAT,
            "id": self.id,
            "parts": [{"statement": to_data(b.statement), "proof": b.proof} for b in built],
        }

    def proved(self) -> tuple[Proved, ...]:
        """Return what the replay of the certificate in this process proved, part by part."""
        return self._accepted

    @cached_property
    def _accepted(self) -> tuple[Proved, ...]:
        return self._replayed(self.built)

    def _replayed(self, built: tuple[Built, ...]) -> tuple[Proved, ...]:
        digests = SESSION.load(read.parse(_as_json(self._certificate(built))))
        return tuple(SESSION.prove(d) for d in digests)

    def main(self) -> None:
        """Print the derivation (``python -m attnproofs.theorems.CHAPTER.ID``)."""
        # the printer stands above this room, so it is looked up only when somebody runs the file
        from importlib import import_module

        import_module("attnproofs.cli.show").print_theorem(self)

    def _repr_html_(self) -> str:
        """Return the theorem's page, for notebooks."""
        from importlib import import_module

        return str(import_module("attnproofs.typeset").render(self, "notebook"))

    def _repr_latex_(self) -> str:
        """Return the main statement as displayed mathematics, for notebooks."""
        from importlib import import_module

        return str(import_module("attnproofs.typeset").render(self, "claim"))

    def proved_statement(self, part: str = "") -> Statement:
        """Return the statement of a part, after its proof has been accepted in this process."""
        for p in self.parts:
            if p.name == part:
                built = self._build(p)
                if built.statement.digest not in SESSION.proved:
                    self._replayed((built,))
                return built.statement
        raise InputError(f"{self.id} has no part {part!r}")


@dataclass(frozen=True)
class Built:
    """A part that has been carried out."""

    statement: Statement
    scope: Scope
    proof: dict[str, Any]
    shown: tuple[Shown, ...]


def carry_out(statement: Statement, scope: Scope, proof: Prove | Induction | None) -> Built:
    """Check a statement and carry out its proof.

    Raises
    ------
    ProofRefused
        When the statement is not well formed, or a line is not accepted.
    """
    try:
        check_statement(statement)
    except Refused as refusal:
        raise ProofRefused(
            f"{statement.name}: the statement is refused: {refusal.reason}", term=refusal.term
        ) from None
    if proof is None:
        if statement.claim.relation != "shape":
            raise ProofRefused(f"{statement.name}: there is no proof")
        return Built(statement, scope, {"kind": "shape"}, ())
    if isinstance(proof, Induction):
        return _carry_out_induction(statement, scope, proof)
    p = Proof(statement, scope)
    proof(p)
    chain = p.chain()
    return Built(
        statement, scope, chain, (Shown("", statement, p.statement.claim.lhs, tuple(p.lines)),)
    )


def _carry_out_induction(statement: Statement, scope: Scope, proof: Induction) -> Built:
    declared = statement.symbol.get(proof.on)
    if declared is None or declared.kind != "dimension":
        raise ProofRefused(f"{statement.name}: induction on {proof.on}, which is no dimension")
    start = declared.least
    hypothesis = _Checker(SESSION, statement)._induction_hypothesis(proof.on)
    n = ix.var(proof.on)
    stages = (
        ("base", _at_stage(statement, proof.on, ix.const(start), keep=False), (), proof.base,
         ix.const(start)),
        ("step", _at_stage(statement, proof.on, ix.add(n, ix.ONE), keep=True), (hypothesis,),
         proof.step, n),
    )  # fmt: skip
    chains: dict[str, Any] = {}
    shown = []
    for title, claimed, extra, prove, value in stages:
        inner = Scope(statement.name)
        inner.symbols = {**scope.symbols, proof.on: Ix(value)}
        try:
            p = Proof(claimed, inner, extra)
        except Refused as refusal:
            raise ProofRefused(f"{statement.name} ({title}): {refusal.reason}") from None
        prove(p)
        chains[title] = p.chain()
        shown.append(Shown(title, claimed, claimed.claim.lhs, tuple(p.lines)))
    data = {"kind": "induct", "on": proof.on, "from": start, **chains}
    return Built(statement, scope, data, tuple(shown))


def _as_json(data: Any) -> bytes:
    import json

    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
