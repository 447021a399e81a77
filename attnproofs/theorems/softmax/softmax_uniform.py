"""Equal scores give equal weights 1/n."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    exp,
    hyp,
    lemma,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    c = s.scalar("c")
    i = s.index("i", n)
    s.assume("equal", lambda l: eq(x[l], c), over={"l": n})
    return eq(softmax(x)[i], 1 / n)


def proof(p: Proof) -> None:
    n, x, c, i = p["n s c i"]
    p.line(exp(x[i]) / Sum(n, lambda l: exp(x[l])), "unfold")
    p.line(exp(c) / Sum(n, lambda l: exp(c)), hyp("equal"))
    p.line(exp(c) / (n * exp(c)), lemma(sum_const))
    p.line(1 / n, "ring")


def unnormalised(s: Scope) -> Claim:
    statement(s)
    n, x, c, i = s["n s c i"]
    return eq(softmax(x)[i], exp(c) / n)


def attempt(p: Proof) -> None:
    n, x, c, i = p["n s c i"]
    p.line(exp(x[i]) / Sum(n, lambda l: exp(x[l])), "unfold")
    p.line(exp(c) / Sum(n, lambda l: exp(c)), hyp("equal"))
    p.line(exp(c) / (n * exp(c)), lemma(sum_const))
    p.line(exp(c) / n, "ring")


def equal_scores(rng: Random) -> dict[str, Any]:
    n, c = rng.randint(1, 4), Fraction(rng.randint(1, 8), 4)
    return {"n": n, "c": c, "s": [c] * n}


THEOREM = Theorem(
    id="softmax_uniform",
    chapter="softmax",
    title={"en": "Equal scores, equal weights", "ko": "같은 점수, 같은 가중치"},
    prose={
        "en": "When all scores are the same number, every key gets $1/n$, whatever that number "
        "is. Zero queries, for example, turn attention into a plain mean of the values.",
        "ko": "모든 점수가 같은 값이면 그 값이 무엇이든 각 키의 가중치는 $1/n$입니다. 예를 "
        "들어 쿼리가 영벡터이면 어텐션은 밸류의 단순 평균이 됩니다.",
    },
    parts=(Part(statement, proof, instance=equal_scores),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Equal scores $c$ give the weight $e^c/n$",
                "ko": "점수가 모두 $c$이면 가중치가 $e^c/n$이라는 주장",
            },
            statement=unnormalised,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=equal_scores,
        ),
    ),
    numbers={
        "en": r"$\mathrm{softmax}(7,7,7,7)=(\frac14,\frac14,\frac14,\frac14)$.",
        "ko": r"$\mathrm{softmax}(7,7,7,7)=(\frac14,\frac14,\frac14,\frac14)$입니다.",
    },
    references=("bridle1990",),
)


if __name__ == "__main__":
    THEOREM.main()
