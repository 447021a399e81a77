"""The difference of two scores of one query has variance 2."""

from collections.abc import Callable
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    dot,
    eq,
    expect,
    hyp,
    ind,
    independent,
    lemma,
    random_value,
    sqrt,
    unfold,
    variance,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.scaling.qk_mean import THEOREM as qk_mean
from attnproofs.theorems.scaling.qk_variance import THEOREM as qk_variance
from attnproofs.theorems.sums.one_point import THEOREM as one_point
from attnproofs.theorems.sums.second_moment import THEOREM as second_moment
from attnproofs.theorems.sums.sum_prod import THEOREM as sum_prod
from attnproofs.theorems.sums.var_moment import THEOREM as var_moment
from attnproofs.theorems.sums.var_scale import THEOREM as var_scale


def declare(s: Scope) -> None:
    d = s.dimension("d_k")
    q = s.family("q", d, order=2, independent=True)
    k, other = s.family("k", d, order=2), s.family("k_2", d, order=2)
    s.independent("q", "k", "k_2")
    s.assume("q_centred", lambda a: eq(expect(q[a]), 0), over={"a": d})
    s.assume("q_unit", lambda a: eq(expect(q[a] * q[a]), 1), over={"a": d})
    s.assume("k_centred", lambda a: eq(expect(k[a]), 0), over={"a": d})
    s.assume("k_unit", lambda a: eq(expect(k[a] * k[a]), 1), over={"a": d})
    s.assume("k_2_unit", lambda a: eq(expect(other[a] * other[a]), 1), over={"a": d})
    s.uses("variance")


def gap(s: Scope | Proof) -> Expr:
    """Return the difference of both scores before scaling."""
    q, k, other = s["q k k_2"]
    return dot(q, k) - dot(q, other)


def statement(s: Scope) -> Claim:
    declare(s)
    return eq(variance(1 / sqrt(s["d_k"]) * gap(s)), 2)


def proof(p: Proof) -> None:
    d = p["d_k"]
    scale = 1 / sqrt(d)
    p.line(scale * scale * variance(gap(p)), lemma(var_scale, c=scale, x=random_value(gap(p))))
    p.line(scale * scale * (2 * d), lemma((THEOREM, "unscaled")))
    p.line(2, "sqrt_sq")


def unscaled(s: Scope) -> Claim:
    declare(s)
    return eq(variance(gap(s)), 2 * s["d_k"])


def proof_unscaled(p: Proof) -> None:
    d, q, k, other = p["d_k q k k_2"]
    g, t, u = gap(p), dot(q, k), dot(q, other)
    p.line(expect(g * g) - expect(g) * expect(g), lemma(var_moment, x=random_value(g)))
    p.line(
        (expect(t * t) - expect(t) * expect(t))
        + (expect(u * u) - expect(u) * expect(u))
        - 2 * (expect(t * u) - expect(t) * expect(u)),
        "E_lin",
    )
    p.line(
        variance(t) + variance(u) - 2 * (expect(t * u) - expect(t) * expect(u)),
        lemma(var_moment, x=random_value(t), back=True),
        lemma(var_moment, x=random_value(u), back=True),
    )
    p.line(
        d + d - 2 * (0 - 0 * expect(u)),
        lemma(qk_variance, d_k=d, q=q, k=k),
        lemma(qk_variance, d_k=d, q=q, k=other),
        lemma((THEOREM, "cross")),
        lemma(qk_mean, d_k=d, q=q, k=k),
    )
    p.line(2 * d, "ring")


def cross(s: Scope) -> Claim:
    d = s.dimension("d_k")
    q = s.family("q", d, order=2, independent=True)
    k, other = s.family("k", d, order=2), s.family("k_2", d, order=2)
    s.independent("q", "k", "k_2")
    s.assume("q_centred", lambda a: eq(expect(q[a]), 0), over={"a": d})
    s.assume("q_unit", lambda a: eq(expect(q[a] * q[a]), 1), over={"a": d})
    s.assume("k_centred", lambda a: eq(expect(k[a]), 0), over={"a": d})
    return eq(expect(dot(q, k) * dot(q, other)), 0)


def proof_cross(p: Proof) -> None:
    d, q, k, other = p["d_k q k k_2"]

    def double(body: Callable[[Ix, Ix], Expr]) -> Expr:
        return Sum(d, lambda a: Sum(d, lambda b: body(a, b)))

    p.line(
        expect(double(lambda a, b: q[a] * k[a] * (q[b] * other[b]))), unfold("dot"), lemma(sum_prod)
    )
    p.line(double(lambda a, b: expect(q[a] * q[b] * (k[a] * other[b]))), "E_lin")
    p.line(double(lambda a, b: expect(q[a] * q[b]) * expect(k[a] * other[b])), independent)
    p.line(double(lambda a, b: ind(b.is_(a)) * expect(k[a] * other[b])), lemma(second_moment, d=d))
    p.line(Sum(d, lambda a: expect(k[a] * other[a])), lemma(one_point))
    p.line(Sum(d, lambda a: expect(k[a]) * expect(other[a])), independent)
    p.line(Sum(d, lambda a: 0 * expect(other[a])), hyp("k_centred"))
    p.line(0, "sum_scale")


def one(s: Scope) -> Claim:
    declare(s)
    return eq(variance(1 / sqrt(s["d_k"]) * gap(s)), 1)


def attempt(p: Proof) -> None:
    d = p["d_k"]
    scale = 1 / sqrt(d)
    p.line(scale * scale * variance(gap(p)), lemma(var_scale, c=scale, x=random_value(gap(p))))
    p.line(scale * scale * (2 * d), lemma((THEOREM, "unscaled")))
    p.line(1, "sqrt_sq")


def few_dimensions(rng: Random) -> dict[str, Any]:
    return {"d_k": rng.randint(1, 2)}


THEOREM = Theorem(
    id="score_gap_variance",
    chapter="scaling",
    title={"en": "The gap between two scores", "ko": "두 점수의 차이"},
    prose={
        "en": "Softmax sees differences of scores only. For one query and two independent keys "
        "the difference of the scaled scores has variance 2, whatever $d_k$ is, so its typical "
        "size is $\\sqrt{2}$ and the ratio of two weights is typically $e^{1.41}\\approx4$. Both "
        "scores share the query, and still their variances add.",
        "ko": r"소프트맥스는 점수의 차이만 봅니다. 쿼리 하나와 독립인 두 키에 대해 스케일된 "
        r"점수의 차이는 $d_k$와 관계없이 분산이 2이므로, 차이의 전형적인 크기는 $\sqrt{2}$이고 두 "
        r"가중치의 비는 보통 $e^{1.41}\approx4$입니다. 두 점수가 쿼리를 공유하는데도 분산은 "
        r"그대로 더해집니다.",
    },
    parts=(
        Part(statement, proof, instance=few_dimensions),
        Part(
            unscaled,
            proof_unscaled,
            name="unscaled",
            title={"en": "Before scaling", "ko": "스케일하기 전"},
            instance=few_dimensions,
        ),
        Part(
            cross,
            proof_cross,
            name="cross",
            title={"en": "The two scores are uncorrelated", "ko": "두 점수는 상관이 없다"},
            instance=few_dimensions,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The variance is 1, as for one score",
                "ko": "점수 하나처럼 분산이 1이라는 주장",
            },
            statement=one,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=few_dimensions,
        ),
    ),
    numbers={
        "en": r"Standard deviation $\sqrt{2}\approx1.41$ for every $d_k$; unscaled it would be "
        r"$\sqrt{2d_k}$, $11.3$ for $d_k=64$.",
        "ko": r"표준편차는 어떤 $d_k$에서도 $\sqrt{2}\approx1.41$이며, 스케일하지 않으면 "
        r"$\sqrt{2d_k}$로 $d_k=64$일 때 $11.3$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
