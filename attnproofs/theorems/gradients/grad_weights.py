"""The gradient with respect to the weights: dA = dO Vᵀ."""

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    derivative,
    differentiate,
    eq,
    ind,
    lemma,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> None:
    T, n, d_v = s.dimensions("T T_s d_v")
    s.tensor("A", T, n)
    s.tensor("V", n, d_v)
    s.tensor("dO", T, d_v)
    s.index("i", T)
    s.index("j", n)


def loss(s: Scope | Proof) -> Expr:
    T, d_v, A, V, dO = s["T d_v A V dO"]
    return Sum(T, lambda k: Sum(d_v, lambda e: dO[k, e] * (A @ V)[k, e]))


def statement(s: Scope) -> Claim:
    declare(s)
    A, V, dO, i, j = s["A V dO i j"]
    return eq(derivative(A[i, j], loss(s)), (dO @ V.T)[i, j])


def proof(p: Proof) -> None:
    T, n, d_v, A, V, dO, i, j = p["T T_s d_v A V dO i j"]
    p.line(
        derivative(
            A[i, j],
            Sum(T, lambda k: Sum(d_v, lambda e: dO[k, e] * Sum(n, lambda l: A[k, l] * V[l, e]))),
        ),
        "unfold:matmul",
    )
    p.line(
        Sum(
            T,
            lambda k: Sum(
                d_v,
                lambda e: dO[k, e] * Sum(n, lambda l: ind(l.is_(j)) * (ind(k.is_(i)) * V[l, e])),
            ),
        ),
        differentiate(),
    )
    p.line(
        Sum(T, lambda k: Sum(d_v, lambda e: dO[k, e] * (ind(k.is_(i)) * V[j, e]))),
        lemma(one_point),
    )
    p.line(Sum(T, lambda k: ind(k.is_(i)) * Sum(d_v, lambda e: dO[k, e] * V[j, e])), "sum_scale")
    p.line(Sum(d_v, lambda e: dO[i, e] * V[j, e]), lemma(one_point))
    p.line((dO @ V.T)[i, j], "unfold")


def halved(s: Scope) -> Claim:
    declare(s)
    A, V, dO, i, j, n = s["A V dO i j T_s"]
    return eq(derivative(A[i, j], loss(s)), (dO @ V.T)[i, j] / n)


def attempt(p: Proof) -> None:
    V, dO, i, j, n = p["V dO i j T_s"]
    p.line((dO @ V.T)[i, j], lemma(THEOREM))
    p.line((dO @ V.T)[i, j] / n, "ring")


THEOREM = Theorem(
    id="grad_weights",
    chapter="gradients",
    title={"en": "Gradient of the weights", "ko": "가중치의 기울기"},
    prose={
        "en": "The gradient with respect to the weight $A_{ij}$ is the dot product of the "
        "output gradient of token $i$ with the value of token $j$: the more a value points "
        "where the output should go, the more weight it asks for.",
        "ko": "가중치 $A_{ij}$에 대한 기울기는 토큰 $i$의 출력 기울기와 토큰 $j$의 밸류의 "
        "내적입니다. 밸류가 출력이 가야 할 방향을 향할수록 더 큰 가중치를 요구합니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "Averaged over the keys", "ko": "키의 수로 나눈 평균이라는 주장"},
            statement=halved,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$\mathrm{dO}_i=(1,2)$, $v_j=(3,-1)$: $\mathrm{dA}_{ij}=1$.",
        "ko": r"$\mathrm{dO}_i=(1,2)$, $v_j=(3,-1)$이면 $\mathrm{dA}_{ij}=1$입니다.",
    },
    references=("dao2022",),
)


if __name__ == "__main__":
    THEOREM.main()
