"""A user's mistake in a proof script gets one sentence that names the line and the reason."""

from __future__ import annotations

from typing import Any

import pytest

from attnproofs.calculus import Part, Scope, Sum, Theorem, eq, exp, le, lemma, softmax, split
from attnproofs.calculus.proof import Proof, ProofRefused, hyp
from attnproofs.errors import InputError
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("x", n)
    s.scalar("c")
    s.assume("small", le(x[1], 5))
    return eq(Sum(n, lambda i: softmax(x)[i]), 1)


def refusal(proof: Any, made: Any = statement) -> str:
    t = Theorem("mine", "mine", {"en": "Mine"}, (Part(made, proof),))
    with pytest.raises(ProofRefused) as refused:
        t.proved()
    assert refused.value.exit_status == 1
    return str(refused.value)


@pytest.mark.parametrize(
    ("hints", "because"),
    [
        (("ring",), "mine, line 1: the two sides are not equal by ring"),
        (("rnig",), "mine, line 1: unknown rule: rnig"),
        ((hyp("big"),), "mine, line 1: hyp big: it does not apply anywhere in the line"),
        ((split(1),), "mine, line 1: sum_split"),
    ],
)
def test_a_wrong_line_names_its_number_and_the_reason(hints: Any, because: str) -> None:
    assert because in refusal(lambda p: p.line(1, *hints))


def test_the_second_line_is_called_the_second() -> None:
    def proof(p: Proof) -> None:
        n, x = p["n x"]
        p.line(Sum(n, lambda i: exp(x[i]) / Sum(n, lambda l: exp(x[l]))), "unfold")
        p.line(2, "ring")

    assert refusal(proof).startswith("mine, line 2: ")


def test_a_proof_that_ends_elsewhere_or_is_empty() -> None:
    def elsewhere(p: Proof) -> None:
        n, x = p["n x"]
        p.line(Sum(n, lambda i: exp(x[i]) / Sum(n, lambda l: exp(x[l]))), "unfold")

    assert "the derivation ends in something else than the right side" in refusal(elsewhere)
    assert "the derivation has no lines" in refusal(lambda p: None)
    assert "there is no proof" in refusal(None)


def test_an_ill_formed_line_and_an_ill_formed_statement() -> None:
    assert "an index of x is out of range" in refusal(lambda p: p.line(p["x"][p["n"] + 1], "ring"))

    def outside(s: Scope) -> Claim:
        x = s.tensor("x", 3)
        return eq(x[4], 0)

    assert "mine: the statement is refused: an index of x is out of range" in refusal(
        lambda p: p.line(0, "ring"), outside
    )


def test_proofs_that_cite_each_other_are_refused() -> None:
    def claim(s: Scope) -> Claim:
        c = s.scalar("c")
        return eq(exp(c), 0)

    t = Theorem(
        "circle", "mine", {"en": "Circle"},
        (
            Part(claim, lambda p: p.line(0, lemma((t, "b"), c=p["c"]))),
            Part(claim, lambda p: p.line(0, lemma(t, c=p["c"])), name="b"),
        ),
    )  # fmt: skip
    with pytest.raises(ProofRefused, match="the proofs cite each other in a circle"):
        t.proved()


def test_a_theorem_has_one_unnamed_part() -> None:
    with pytest.raises(InputError, match="the first part is unnamed, and the others have names"):
        Theorem("t", "mine", {"en": "T"}, (Part(statement, name="a"),))


def test_a_name_that_is_not_declared() -> None:
    t = Theorem("t", "mine", {"en": "T"}, (Part(statement, lambda p: p["z"]),))
    with pytest.raises(InputError, match="t: z is not declared; declared: n, x, c"):
        t.proved()
