"""Rows and columns of the softmax Jacobian sum to zero."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    derivative,
    eq,
    ind,
    lemma,
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
    return eq(Sum(n, lambda j: derivative(x[j], softmax(x)[i])), 0)


def proof(p: Proof) -> None:
    n, x, i = p["n s i"]
    w = softmax(x)
    p.line(Sum(n, lambda j: w[i] * (ind(i.is_(j)) - w[j])), lemma(softmax_jacobian))
    p.line(
        Sum(n, lambda j: ind(j.is_(i)) * w[i]) - w[i] * Sum(n, lambda j: w[j]),
        "sum_add",
        "sum_scale",
    )
    p.line(w[i] - w[i] * 1, lemma(one_point, e=i, f=array(n, lambda j: w[i])), lemma(softmax_sum))
    p.line(0, "ring")


def columns(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    j = s.index("j", n)
    return eq(Sum(n, lambda i: derivative(x[j], softmax(x)[i])), 0)


def proof_columns(p: Proof) -> None:
    n, x, j = p["n s j"]
    w = softmax(x)
    p.line(Sum(n, lambda i: w[i] * (ind(i.is_(j)) - w[j])), lemma(softmax_jacobian))
    p.line(
        Sum(n, lambda i: ind(i.is_(j)) * w[i]) - w[j] * Sum(n, lambda i: w[i]),
        "sum_add",
        "sum_scale",
    )
    p.line(w[j] - w[j] * 1, lemma(one_point), lemma(softmax_sum))
    p.line(0, "ring")


def own_weight(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    return eq(Sum(n, lambda j: derivative(x[j], softmax(x)[i])), softmax(x)[i])


def attempt(p: Proof) -> None:
    p.line(0, lemma(THEOREM))
    p.line(softmax(p["s"])[p["i"]], "ring")


THEOREM = Theorem(
    id="softmax_jacobian_null",
    chapter="softmax",
    title={"en": "The Jacobian annihilates constants", "ko": "야코비 행렬은 상수를 없앤다"},
    prose={
        "en": "Rows sum to 0 because moving all scores together changes no weight; columns sum "
        "to 0 because the weights keep summing to 1. The Jacobian is never invertible: one "
        "direction of the scores is invisible.",
        "ko": "행의 합이 0인 것은 모든 점수를 함께 움직여도 가중치가 변하지 않기 때문이고, "
        "열의 합이 0인 것은 가중치의 합이 늘 1이기 때문입니다. 따라서 이 행렬은 결코 가역이 "
        "아니며, 점수의 한 방향은 결과에 드러나지 않습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            columns,
            proof_columns,
            name="columns",
            title={"en": "Columns sum to zero", "ko": "열의 합은 0이다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Each row sums to its own weight",
                "ko": "각 행의 합이 그 가중치와 같다는 주장",
            },
            statement=own_weight,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$p=(\frac12,\frac14,\frac14)$: first row $(\frac14,-\frac18,-\frac18)$, sum 0.",
        "ko": r"$p=(\frac12,\frac14,\frac14)$이면 첫 행은 $(\frac14,-\frac18,-\frac18)$이고 "
        r"합은 0입니다.",
    },
    references=("bridle1990",),
)


if __name__ == "__main__":
    THEOREM.main()
