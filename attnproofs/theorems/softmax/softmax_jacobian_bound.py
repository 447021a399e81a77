"""A row of the Jacobian has absolute sum 2 p (1 - p), at most one half, and 0 at both ends."""

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
    abs_val,
    absolute,
    derivative,
    eq,
    fact_of,
    ind,
    le,
    lemma,
    order,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_jacobian import THEOREM as softmax_jacobian
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    p = softmax(x)
    return eq(Sum(n, lambda j: absolute(derivative(x[j], p[i]))), 2 * p[i] * (1 - p[i]))


def proof(p: Proof) -> None:
    n, x, i = p["n s i"]
    w = softmax(x)
    one = w[i] - 2 * w[i] * w[i]
    p.line(
        Sum(n, lambda j: w[i] * w[j] + ind(j.is_(i)) * (w[i] - 2 * w[i] * w[j])),
        lemma((THEOREM, "entry"), within=lambda j: {"j": j}),
    )
    p.line(
        w[i] * Sum(n, lambda j: w[j]) + Sum(n, lambda j: ind(j.is_(i)) * (w[i] - 2 * w[i] * w[j])),
        "sum_add",
        "sum_scale",
    )
    p.line(w[i] * 1 + one, lemma(softmax_sum), lemma(one_point))
    p.line(2 * w[i] * (1 - w[i]), "ring")


def entry(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i, j = s.index("i", n), s.index("j", n)
    p = softmax(x)
    return eq(
        absolute(derivative(x[j], p[i])),
        p[i] * p[j] + ind(j.is_(i)) * (p[i] - 2 * p[i] * p[j]),
    )


def proof_entry(p: Proof) -> None:
    _n, x, i, j = p["n s i j"]
    w = softmax(x)
    own, other = ind(j.is_(i)), ind(~j.is_(i))
    size = absolute(w[i] * (ind(i.is_(j)) - w[j]))
    p.line(size, lemma(softmax_jacobian))
    p.line(own * size + other * size, "ind_bool")
    p.line(
        own * absolute(w[i] * (1 - w[j])) + other * absolute(w[i] * (0 - w[j])),
        "ind_val",
    )
    p.line(
        own * (w[i] * (1 - w[j])) + other * (w[i] * w[j]),
        abs_val(facts=(fact_of((softmax_sum, "at_most_one"), i=j),)),
    )
    p.line(w[i] * w[j] + own * (w[i] - 2 * w[i] * w[j]), "ind_bool")


def half(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    return le(Sum(n, lambda j: absolute(derivative(x[j], softmax(x)[i]))), Fraction(1, 2))


def proof_half(p: Proof) -> None:
    w = softmax(p["s"])[p["i"]]
    p.line(2 * w * (1 - w), lemma(THEOREM))
    p.le(Fraction(1, 2), order(2 * (w - Fraction(1, 2)) ** 2))


def ends(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    p = softmax(x)
    return le(Sum(n, lambda j: absolute(derivative(x[j], p[i]))), 2 * (1 - p[i]))


def proof_ends(p: Proof) -> None:
    w = softmax(p["s"])[p["i"]]
    p.line(2 * w * (1 - w), lemma(THEOREM))
    p.le(2 * (1 - w), order(2 * (1 - w) * (1 - w)))


def low_end(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    p = softmax(x)
    return le(Sum(n, lambda j: absolute(derivative(x[j], p[i]))), 2 * p[i])


def proof_low_end(p: Proof) -> None:
    w = softmax(p["s"])[p["i"]]
    p.line(2 * w * (1 - w), lemma(THEOREM))
    p.le(2 * w, order(2 * w**2))


def quarter(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    return le(Sum(n, lambda j: absolute(derivative(x[j], softmax(x)[i]))), Fraction(1, 4))


def attempt(p: Proof) -> None:
    w = softmax(p["s"])[p["i"]]
    p.line(2 * w * (1 - w), lemma(THEOREM))
    p.le(Fraction(1, 4), order(2 * (w - Fraction(1, 2)) ** 2 - Fraction(1, 4)))


def two_equal(rng: Random) -> dict[str, Any]:
    return {"n": 2, "s": [0, 0], "i": 1}


THEOREM = Theorem(
    id="softmax_jacobian_bound",
    chapter="softmax",
    title={
        "en": "The Jacobian is bounded and dies at saturation",
        "ko": "야코비 행렬의 상한과 포화에서의 소멸",
    },
    prose={
        "en": "The absolute values in row $i$ of the Jacobian add up to $2p_i(1-p_i)$: at most "
        "1/2, and close to 0 as soon as the weight is close to 0 or 1. Gradients through "
        "saturated weights vanish; this is the reason that the scores are divided by the "
        "square root of $d_k$.",
        "ko": "야코비 행렬 $i$행의 절댓값을 모두 더하면 $2p_i(1-p_i)$입니다. 1/2을 넘지 "
        "않으며, 가중치가 0이나 1에 가까우면 0에 가까워집니다. 포화된 가중치를 지나는 기울기는 "
        "사라지며, 점수를 $d_k$의 제곱근으로 나누는 이유가 여기에 있습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            entry,
            proof_entry,
            name="entry",
            title={"en": "One entry of the row", "ko": "행의 성분 하나"},
        ),
        Part(half, proof_half, name="half", title={"en": "At most one half", "ko": "1/2 이하"}),
        Part(
            ends,
            proof_ends,
            name="ends",
            title={
                "en": "It vanishes as the weight tends to 1",
                "ko": "가중치가 1로 가면 사라진다",
            },
        ),
        Part(
            low_end,
            proof_low_end,
            name="low_end",
            title={
                "en": "It vanishes as the weight tends to 0",
                "ko": "가중치가 0으로 가면 사라진다",
            },
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "At most one quarter (the bound of a single entry)",
                "ko": "성분 하나의 상한인 1/4 이하라는 주장",
            },
            statement=quarter,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=two_equal,
        ),
    ),
    numbers={
        "en": r"$p_i=\frac12$: $2\cdot\frac12\cdot\frac12=\frac12$; $p_i=0.999$: $0.001998$.",
        "ko": r"$p_i=\frac12$이면 $2\cdot\frac12\cdot\frac12=\frac12$, $p_i=0.999$이면 "
        r"$0.001998$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
