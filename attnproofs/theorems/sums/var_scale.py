"""Scaling a random variable by c scales its variance by c squared."""

from attnproofs.calculus import Part, Proof, Scope, Theorem, eq, expect, lemma, variance
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.var_moment import THEOREM as var_moment


def statement(s: Scope) -> Claim:
    c = s.scalar("c")
    x = s.random("x", order=2)
    return eq(variance(c * x), c * c * variance(x))


def proof(p: Proof) -> None:
    c, x = p["c x"]
    p.line(expect(c * x * (c * x)) - expect(c * x) * expect(c * x), lemma(var_moment))
    p.line(c * c * (expect(x * x) - expect(x) * expect(x)), "E_lin")
    p.line(c * c * variance(x), lemma(var_moment, back=True))


THEOREM = Theorem(
    id="var_scale",
    chapter="sums",
    title={"en": "Variance under scaling", "ko": "상수배의 분산"},
    prose={
        "en": "Multiplying a random variable by a constant multiplies its variance by the square.",
        "ko": "확률변수에 상수를 곱하면 분산에는 그 상수의 제곱이 곱해집니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
