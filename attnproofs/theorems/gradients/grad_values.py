"""The gradient with respect to the values: dV = Aᵀ dO."""

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
    s.index("j", n)
    s.index("c", d_v)


def loss(s: Scope | Proof) -> Expr:
    """Return the loss to first order: the sum of dO times O = A V."""
    T, d_v, A, V, dO = s["T d_v A V dO"]
    return Sum(T, lambda i: Sum(d_v, lambda e: dO[i, e] * (A @ V)[i, e]))


def statement(s: Scope) -> Claim:
    declare(s)
    A, V, dO, j, c = s["A V dO j c"]
    return eq(derivative(V[j, c], loss(s)), (A.T @ dO)[j, c])


def proof(p: Proof) -> None:
    T, n, d_v, A, V, dO, j, c = p["T T_s d_v A V dO j c"]
    p.line(
        derivative(
            V[j, c],
            Sum(T, lambda i: Sum(d_v, lambda e: dO[i, e] * Sum(n, lambda l: A[i, l] * V[l, e]))),
        ),
        "unfold:matmul",
    )
    p.line(
        Sum(
            T,
            lambda i: Sum(
                d_v,
                lambda e: dO[i, e] * Sum(n, lambda l: ind(l.is_(j)) * (ind(e.is_(c)) * A[i, l])),
            ),
        ),
        differentiate(),
    )
    p.line(
        Sum(T, lambda i: Sum(d_v, lambda e: dO[i, e] * (ind(e.is_(c)) * A[i, j]))),
        lemma(one_point),
    )
    p.line(Sum(T, lambda i: Sum(d_v, lambda e: ind(e.is_(c)) * (A[i, j] * dO[i, e]))), "ring")
    p.line(Sum(T, lambda i: A[i, j] * dO[i, c]), lemma(one_point))
    p.line((A.T @ dO)[j, c], "unfold")


def untransposed(s: Scope) -> Claim:
    T, d_v = s.dimensions("T d_v")
    A, V, dO = s.tensor("A", T, T), s.tensor("V", T, d_v), s.tensor("dO", T, d_v)
    j, c = s.index("j", T), s.index("c", d_v)
    s.uses("transpose")
    return eq(derivative(V[j, c], loss(s)), (A @ dO)[j, c])


def attempt(p: Proof) -> None:
    T, A, dO, j, c = p["T A dO j c"]
    p.line(Sum(T, lambda i: A[i, j] * dO[i, c]), lemma(THEOREM, T_s=T), "unfold")
    p.line((A @ dO)[j, c], "unfold")


THEOREM = Theorem(
    id="grad_values",
    chapter="gradients",
    title={"en": "Gradient of the values", "ko": "밸류의 기울기"},
    prose={
        "en": r"If $\mathrm{dO}$ is the gradient of a loss with respect to the output $O=AV$, "
        r"the gradient with respect to the values is $A^\top \mathrm{dO}$: each value collects "
        r"the output gradients of the tokens that looked at it, in proportion to their weights.",
        "ko": r"손실의 출력 $O=AV$에 대한 기울기가 $\mathrm{dO}$이면 밸류에 대한 기울기는 "
        r"$A^\top \mathrm{dO}$입니다. 각 밸류는 자신을 본 토큰들의 출력 기울기를 그 가중치만큼 "
        r"모아 받습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"$A\,\mathrm{dO}$, without the transpose",
                "ko": r"전치 없이 $A\,\mathrm{dO}$라는 주장",
            },
            statement=untransposed,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$A=\begin{pmatrix}1&0\\ \frac12&\frac12\end{pmatrix}$, "
        r"$\mathrm{dO}=(1,1)^\top$: $\mathrm{dV}=(\frac32,\frac12)^\top$.",
        "ko": r"$A=\begin{pmatrix}1&0\\ \frac12&\frac12\end{pmatrix}$, "
        r"$\mathrm{dO}=(1,1)^\top$이면 $\mathrm{dV}=(\frac32,\frac12)^\top$입니다.",
    },
    references=("dao2022",),
)


if __name__ == "__main__":
    THEOREM.main()
