"""The gradient with respect to the scores: dS = A ∘ (dA - rowsum(A ∘ dA))."""

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    derivative,
    differentiate,
    eq,
    ind,
    lemma,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.gradients.softmax_jacobian_rows import THEOREM as softmax_jacobian_rows
from attnproofs.theorems.softmax.softmax_jacobian import THEOREM as softmax_jacobian
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> None:
    T, n = s.dimensions("T T_s")
    s.tensor("S", T, n)
    s.tensor("dA", T, n)
    s.index("i", T)
    s.index("j", n)


def loss(s: Scope | Proof) -> Expr:
    T, n, S, dA = s["T T_s S dA"]
    return Sum(T, lambda k: Sum(n, lambda l: dA[k, l] * softmax(S[k])[l]))


def statement(s: Scope) -> Claim:
    declare(s)
    n, S, dA, i, j = s["T_s S dA i j"]
    A = softmax(S[i])
    mean = Sum(n, lambda l: A[l] * dA[i, l])
    return eq(derivative(S[i, j], loss(s)), A[j] * (dA[i, j] - mean))


def proof(p: Proof) -> None:
    T, n, S, dA, i, j = p["T T_s S dA i j"]
    A = softmax(S[i])
    mean = Sum(n, lambda l: A[l] * dA[i, l])

    def row(k: Ix) -> Expr:
        B = softmax(S[k])
        return Sum(n, lambda l: dA[k, l] * (B[l] * (ind(l.is_(j)) - B[j])))

    p.line(
        Sum(T, lambda k: Sum(n, lambda l: dA[k, l] * derivative(S[i, j], softmax(S[k])[l]))),
        differentiate(),
    )
    p.line(
        Sum(T, lambda k: ind(k.is_(i)) * row(k)),
        lemma(softmax_jacobian_rows),
        "sum_add",
        "sum_scale",
    )
    p.line(row(i), lemma(one_point, n=T, e=i, f=array(T, row)))
    p.line(
        Sum(n, lambda l: ind(l.is_(j)) * (dA[i, l] * A[l])) - A[j] * mean, "sum_add", "sum_scale"
    )
    p.line(dA[i, j] * A[j] - A[j] * mean, lemma(one_point))
    p.line(A[j] * (dA[i, j] - mean), "ring")


def row(s: Scope) -> Claim:
    n = s.dimension("n")
    x, g = s.tensor("s", n), s.tensor("g", n)
    j = s.index("j", n)
    p = softmax(x)
    mean = Sum(n, lambda l: p[l] * g[l])
    return eq(derivative(x[j], Sum(n, lambda l: g[l] * p[l])), p[j] * (g[j] - mean))


def proof_row(p: Proof) -> None:
    n, x, g, j = p["n s g j"]
    w = softmax(x)
    mean = Sum(n, lambda l: w[l] * g[l])
    p.line(Sum(n, lambda l: g[l] * derivative(x[j], w[l])), differentiate())
    p.line(Sum(n, lambda l: g[l] * (w[l] * (ind(l.is_(j)) - w[j]))), lemma(softmax_jacobian))
    p.line(Sum(n, lambda l: ind(l.is_(j)) * (g[l] * w[l])) - w[j] * mean, "sum_add", "sum_scale")
    p.line(w[j] * (g[j] - mean), lemma(one_point))


def without_mean(s: Scope) -> Claim:
    declare(s)
    S, dA, i, j = s["S dA i j"]
    return eq(derivative(S[i, j], loss(s)), softmax(S[i])[j] * dA[i, j])


def attempt(p: Proof) -> None:
    n, S, dA, i, j = p["T_s S dA i j"]
    A = softmax(S[i])
    p.line(A[j] * (dA[i, j] - Sum(n, lambda l: A[l] * dA[i, l])), lemma(THEOREM))
    p.line(A[j] * dA[i, j], "ring")


THEOREM = Theorem(
    id="grad_scores",
    chapter="gradients",
    title={"en": "Gradient of the scores", "ko": "점수의 기울기"},
    prose={
        "en": r"The gradient of a score is its weight times how much the gradient of that "
        r"weight exceeds the weighted mean of its row. So each row of $\mathrm{dS}$ sums to 0, "
        r"and keys with little weight receive little gradient.",
        "ko": r"점수의 기울기는 그 가중치에, 가중치의 기울기가 그 행의 가중평균을 얼마나 "
        r"넘는지를 곱한 값입니다. 따라서 $\mathrm{dS}$의 각 행은 합이 0이며, 가중치가 작은 키는 "
        r"기울기도 작게 받습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(row, proof_row, name="row", title={"en": "One row", "ko": "한 행"}),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"$A\circ \mathrm{dA}$, without the row sum",
                "ko": r"행의 합을 빼지 않은 $A\circ \mathrm{dA}$라는 주장",
            },
            statement=without_mean,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$A_i=(\frac12,\frac14,\frac14)$, $\mathrm{dA}_i=(4,0,0)$: mean $2$, "
        r"$\mathrm{dS}_i=(1,-\frac12,-\frac12)$.",
        "ko": r"$A_i=(\frac12,\frac14,\frac14)$, $\mathrm{dA}_i=(4,0,0)$이면 평균은 $2$이고 "
        r"$\mathrm{dS}_i=(1,-\frac12,-\frac12)$입니다.",
    },
    references=("dao2022", "milakov2018"),
)


if __name__ == "__main__":
    THEOREM.main()
