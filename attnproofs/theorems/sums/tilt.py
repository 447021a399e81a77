"""Raising scores by at most h multiplies a sum of exponentials by at most e^h."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import Part, Proof, Scope, Sum, Theorem, exp, hyp, le
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    b, x, move = s.tensor("b", n), s.tensor("s", n), s.tensor("δ", n)
    h = s.scalar("h")
    s.assume("nonnegative", lambda l: le(0, b[l]), over={"l": n})
    s.assume("above", lambda l: le(move[l], h), over={"l": n})
    return le(
        Sum(n, lambda j: b[j] * exp(x[j] + move[j])), exp(h) * Sum(n, lambda j: b[j] * exp(x[j]))
    )


def proof(p: Proof) -> None:
    n, b, x, h = p["n b s h"]
    p.le(Sum(n, lambda j: b[j] * exp(x[j] + h)), hyp("above"))
    p.line(exp(h) * Sum(n, lambda j: b[j] * exp(x[j])), "expring", "sum_scale")


def bounded(rng: Random) -> dict[str, Any]:
    n, h = rng.randint(1, 3), Fraction(rng.randint(-4, 4), 2)
    return {
        "n": n,
        "h": h,
        "b": [Fraction(rng.randint(0, 4), 4) for _ in range(n)],
        "δ": [h - Fraction(rng.randint(0, 4), 2) for _ in range(n)],
    }


THEOREM = Theorem(
    id="tilt",
    chapter="sums",
    title={"en": "Raised scores", "ko": "올라간 점수"},
    prose={
        "en": "If no score rises by more than $h$, a sum of exponentials with nonnegative "
        "factors grows by at most the factor $e^h$.",
        "ko": "어느 점수도 $h$보다 많이 오르지 않으면, 음이 아닌 계수를 곱한 지수의 합도 "
        "$e^h$배를 넘지 않습니다.",
    },
    parts=(Part(statement, proof, instance=bounded),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
