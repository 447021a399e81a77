"""Dividing by the square root of d_k makes the variance of a score 1."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    dot,
    eq,
    lemma,
    sqrt,
    variance,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.scaling._assumptions import centred_and_unit
from attnproofs.theorems.scaling.qk_variance import THEOREM as qk_variance
from attnproofs.theorems.sums.var_scale import THEOREM as var_scale


def statement(s: Scope) -> Claim:
    d_k, q, k = centred_and_unit(s)
    return eq(variance(1 / sqrt(d_k) * dot(q, k)), 1)


def proof(p: Proof) -> None:
    d_k, q, k = p["d_k q k"]
    scale = 1 / sqrt(d_k)
    p.line(scale * scale * variance(dot(q, k)), lemma(var_scale, c=scale))
    p.line(scale * scale * d_k, lemma(qk_variance))
    p.line(1, "sqrt_sq")


def divided_by_dimension(s: Scope) -> Claim:
    d_k, q, k = centred_and_unit(s)
    return eq(variance(1 / d_k * dot(q, k)), 1)


def divided_attempt(p: Proof) -> None:
    d_k, q, k = p["d_k q k"]
    p.line(1 / d_k * (1 / d_k) * variance(dot(q, k)), lemma(var_scale, c=1 / d_k))
    p.line(1 / d_k * (1 / d_k) * d_k, lemma(qk_variance))
    p.line(1, "ring")


THEOREM = Theorem(
    id="qk_variance_scaled",
    chapter="scaling",
    title={"en": "Variance of a scaled score", "ko": "스케일된 점수의 분산"},
    prose={
        "en": "Under the assumptions of the previous theorem the scaled score "
        "$q\\cdot k/\\sqrt{d_k}$ has variance 1 whatever $d_k$ is. Dividing by $d_k$ would "
        "over-correct: the variance would be $1/d_k$, and the weights would drift to uniform.",
        "ko": "앞의 정리와 같은 가정 아래에서 스케일된 점수 $q\\cdot k/\\sqrt{d_k}$의 분산은 $d_k$에 "
        "관계없이 1입니다. $d_k$로 나누면 지나칩니다. 분산이 $1/d_k$가 되어 가중치가 균등 분포에 "
        "가까워집니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "Dividing by $d_k$ gives variance 1",
                "ko": "$d_k$로 나누면 분산이 1이라는 주장",
            },
            divided_by_dimension,
            divided_attempt,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$d_k=64$: $\tfrac18\cdot\tfrac18\cdot64=1$; dividing by $64$ instead leaves "
        r"$\tfrac1{64}$.",
        "ko": r"$d_k=64$이면 $\tfrac18\cdot\tfrac18\cdot64=1$입니다. $64$로 나누면 $\tfrac1{64}$이 "
        r"됩니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
