"""Proving a theorem and accounting for it: three opinions on every line, and the false neighbours.

The kernel decides (by replay of the certificate). SymPy comments on each displayed line, and both
sides are evaluated at a random small instance by code that shares nothing with either. A line on
which SymPy or the numbers disagree makes the theorem fail, whatever the kernel said.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import mpmath

from attnproofs.calculus import evaluate as ev
from attnproofs.calculus.proof import SESSION, ProofRefused, with_letters
from attnproofs.calculus.refute import refute
from attnproofs.calculus.symbols import Scope
from attnproofs.calculus.theorem import (
    Built,
    FalseNeighbour,
    Part,
    Shown,
    Theorem,
    carry_out,
)
from attnproofs.kernel.algebra import LAWS
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import _Checker
from attnproofs.kernel.statement import Statement

# what a line may rest on beyond general laws: SymPy does not know it, so it cannot contradict it
_SPECIAL = ("hyp", "lemma", "E_indep", "absurd", "rec", "ixeq")


@dataclass(frozen=True)
class LineOpinions:
    """What SymPy and the numbers say about one displayed line."""

    part: str
    line: int
    sympy: str
    numbers: str


@dataclass(frozen=True)
class Neighbour:
    """What became of a false neighbour."""

    title: str
    refused: str
    counterexample: str
    lhs: str
    rhs: str

    @property
    def as_expected(self) -> bool:
        """Whether the kernel refused it and numbers refuted it."""
        return bool(self.refused) and bool(self.counterexample)


@dataclass
class Result:
    """What came of proving one theorem."""

    id: str
    chapter: str
    status: str
    steps: int = 0
    lines: int = 0
    axioms: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    seconds: float = 0.0
    opinions: tuple[LineOpinions, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    message: str = ""

    @property
    def held(self) -> bool:
        """Whether the theorem is proved, nobody disagrees, and its false neighbours are refused."""
        return self.status == "proved"

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON-able data."""
        counts: dict[str, int] = {}
        for o in self.opinions:
            counts[o.sympy] = counts.get(o.sympy, 0) + 1
        return {
            "id": self.id, "chapter": self.chapter, "status": self.status, "steps": self.steps,
            "lines": self.lines, "axioms": list(self.axioms), "lemmas": list(self.lemmas),
            "digests": list(self.digests), "seconds": round(self.seconds, 3),
            "sympy": counts,
            "numbers": {"agrees": sum(o.numbers == "agrees" for o in self.opinions),
                        "disagrees": sum(o.numbers == "disagrees" for o in self.opinions)},
            "false_neighbours": [
                {"title": n.title, "refused": n.refused, "counterexample": n.counterexample,
                 "lhs": n.lhs, "rhs": n.rhs} for n in self.neighbours
            ],
            "message": self.message,
        }  # fmt: skip


@dataclass
class _Account:
    opinions: list[LineOpinions] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def prove(
    theorem: Theorem, *, opinions: bool = True, neighbours: bool = True, digits: int = 50
) -> Result:
    """Prove a theorem and collect the opinions and its false neighbours.

    Parameters
    ----------
    theorem
        What to prove.
    opinions
        Whether to ask SymPy and the numbers about every displayed line.
    neighbours
        Whether to try the false neighbours.
    digits
        Digits at which numbers that are not exact are compared.
    """
    began = time.perf_counter()
    result = Result(theorem.id, theorem.chapter, "refused")
    try:
        proved = theorem.proved()
    except (ProofRefused, Refused) as refusal:
        result.message = str(refusal)
        result.seconds = time.perf_counter() - began
        return result
    result.status = "proved"
    result.steps = sum(p.steps for p in proved)
    result.lines = sum(len(s.lines) for b in theorem.built for s in b.shown)
    result.axioms = tuple(sorted(set().union(*(p.axioms for p in proved))))
    result.digests = tuple(p.statement.digest for p in proved)
    result.lemmas = cited_names(theorem)
    account = _Account()
    if opinions:
        for part, built in zip(theorem.parts, theorem.built):
            _opinions(part, built, digits, account)
        result.opinions = tuple(account.opinions)
    if neighbours:
        tried = [try_neighbour(theorem, n, digits=digits) for n in theorem.false_neighbours]
        result.neighbours = tuple(tried)
        account.problems += [
            f"the false neighbour {n.title!r} is "
            + ("not refused by the kernel" if not n.refused else "not refuted by numbers")
            for n in tried if not n.as_expected
        ]  # fmt: skip
    if account.problems:
        result.status = "disputed"
        result.message = account.problems[0]
    result.seconds = time.perf_counter() - began
    return result


def cited_names(theorem: Theorem) -> tuple[str, ...]:
    """Return the names of the statements that a theorem's proofs cite directly."""
    names: dict[str, None] = {}
    for proved in theorem.proved():
        for digest in proved.lemmas:
            names[SESSION.name_of(digest)] = None
    return tuple(names)


def _opinions(part: Part, built: Built, digits: int, account: _Account) -> None:
    from attnproofs.calculus.sympy_bridge import CANNOT_TELL, DISAGREES, opinion

    for shown in built.shown:
        numbers = _numbers(part, shown, digits)
        before = shown.start
        for k, line in enumerate(shown.lines):
            view = CANNOT_TELL
            if line.relation == "=":
                view = opinion(shown.statement, before, line.term)
            general = not any(rule in _SPECIAL for rule, _ in line.reasons)
            if view == DISAGREES and not (general and _unconditional(shown.statement)):
                view = CANNOT_TELL
            where = f"{shown.statement.name}{' ' + shown.title if shown.title else ''}"
            account.opinions.append(LineOpinions(where, k + 1, view, numbers[k]))
            if view == DISAGREES:
                account.problems.append(f"{where}, line {k + 1}: SymPy disagrees")
            if numbers[k] == "disagrees":
                account.problems.append(f"{where}, line {k + 1}: the numbers disagree")
            before = line.term


def _unconditional(statement: Statement) -> bool:
    return all(h.condition is None for h in statement.hypotheses)


def _numbers(part: Part, shown: Shown, digits: int) -> list[str]:
    """Return for each line whether the numbers agree with how it follows from the line before."""
    statement = shown.statement
    try:
        instance = ev.draw(statement, "lines", part.instance)
    except ev.NoInstance:
        return ["no instance"] * len(shown.lines)
    look = ev.Values(statement, instance, digits)
    verdicts = []
    with mpmath.workdps(digits + 15):
        before = look.real(shown.start)
        for line in shown.lines:
            after = look.real(line.term)
            agrees = ev.related(line.relation, before, after, digits)
            verdicts.append("agrees" if agrees else "disagrees")
            before = after
    return verdicts


def refusal_of(statement: Statement, scope: Scope, neighbour: FalseNeighbour) -> str:
    """Return why the kernel refuses a false neighbour ("" when it does not, or otherwise)."""
    try:
        built = carry_out(statement, scope, neighbour.attempt or _every_law(statement))
        _Checker(SESSION, statement).run(built.proof)
    except (ProofRefused, Refused) as refusal:
        refused = (
            str(refusal).removeprefix(f"{statement.name}, ").removeprefix(f"{statement.name}: ")
        )
        expected = not neighbour.because or neighbour.because in refused
        return with_letters(refused) if expected else ""
    return ""


def try_neighbour(theorem: Theorem, neighbour: FalseNeighbour, *, digits: int = 50) -> Neighbour:
    """Let the kernel and the numbers judge a false neighbour."""
    scope = Scope(f"{theorem.id}.false")
    statement = scope.claim(neighbour.statement(scope))
    refused = refusal_of(statement, scope, neighbour)
    try:
        found = refute(statement, given=neighbour.instance, digits=digits)
    except ev.NoInstance:
        found = None
    counterexample = lhs = rhs = ""
    if found is not None:
        counterexample = ev.describe(found.instance) or "both sides are numbers"
    if found is not None and found.missing is not None:
        name, key = found.missing
        counterexample += f" (there is no entry {name}[{', '.join(map(str, key))}])"
    elif found is not None:
        lhs, rhs = _short(found.lhs), _short(found.rhs)
    title = neighbour.title.get("en", "")
    return Neighbour(title, refused, counterexample, lhs, rhs)


def _every_law(statement: Statement) -> Any:
    """Return the attempt of a reader who tries everything: one line, all laws, all definitions."""
    laws = [*sorted(LAWS), "unfold"]

    def attempt(p: Any) -> None:
        from attnproofs.calculus.symbols import Expr

        claim = statement.claim
        if claim.relation == "factors" or claim.rhs is None:
            return
        goal = Expr(claim.rhs)
        if claim.relation == "=":
            p.line(goal, *laws)
        else:
            from attnproofs.calculus.proof import order

            add = p.le if claim.relation == "<=" else p.lt
            add(goal, order(None, *laws))

    return attempt


def _short(x: Any) -> str:
    return str(x) if not hasattr(x, "_mpf_") else str(mpmath.nstr(x, 12))
