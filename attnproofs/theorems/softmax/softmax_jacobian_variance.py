"""The quadratic form of the softmax Jacobian is a variance."""

from attnproofs.calculus import (
    Expr,
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
    le,
    lemma,
    sign,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_jacobian import THEOREM as softmax_jacobian
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def form(s: Scope | Proof) -> Expr:
    n, x, u = s["n s u"]
    p = softmax(x)
    return Sum(n, lambda i: Sum(n, lambda j: u[i] * derivative(x[j], p[i]) * u[j]))


def spread(s: Scope | Proof) -> Expr:
    n, x, u = s["n s u"]
    p = softmax(x)
    mean = Sum(n, lambda k: p[k] * u[k])
    return Sum(n, lambda i: p[i] * (u[i] - mean) ** 2)


def declare(s: Scope) -> None:
    n = s.dimension("n")
    s.tensor("s", n)
    s.tensor("u", n)


def statement(s: Scope) -> Claim:
    declare(s)
    return eq(form(s), spread(s))


def proof(p: Proof) -> None:
    n, x, u = p["n s u"]
    w = softmax(x)
    mean = Sum(n, lambda k: w[k] * u[k])
    square = Sum(n, lambda i: w[i] * u[i] ** 2)
    p.line(
        Sum(n, lambda i: Sum(n, lambda j: u[i] * (w[i] * (ind(i.is_(j)) - w[j])) * u[j])),
        lemma(softmax_jacobian),
    )
    p.line(
        Sum(n, lambda i: Sum(n, lambda j: ind(j.is_(i)) * (u[i] * w[i] * u[j]))) - mean * mean,
        "sum_add",
        "sum_scale",
    )
    p.line(
        square - mean * mean,
        lemma(
            one_point,
            within=lambda i: {"n": n, "e": i, "f": array(n, lambda j: u[i] * w[i] * u[j])},
        ),
    )
    p.line(
        square - 2 * mean * mean + mean * mean * Sum(n, lambda i: w[i]),
        lemma(softmax_sum, back=True),
    )
    p.line(spread(p), "sum_add", "sum_scale")


def nonnegative(s: Scope) -> Claim:
    declare(s)
    return le(0, form(s))


def proof_nonnegative(p: Proof) -> None:
    p.le(spread(p), sign())
    p.line(form(p), lemma(THEOREM, back=True))


def second_moment(s: Scope) -> Claim:
    declare(s)
    n, x, u = s["n s u"]
    return eq(form(s), Sum(n, lambda i: softmax(x)[i] * u[i] ** 2))


def attempt(p: Proof) -> None:
    n, x, u = p["n s u"]
    p.line(spread(p), lemma(THEOREM))
    p.line(Sum(n, lambda i: softmax(x)[i] * u[i] ** 2), "sum_add", "sum_scale")


THEOREM = Theorem(
    id="softmax_jacobian_variance",
    chapter="softmax",
    title={"en": "The Jacobian is a covariance", "ko": "야코비 행렬은 공분산이다"},
    prose={
        "en": r"Let $J$ be the Jacobian. For any direction $u$, $u^\top Ju$ is the variance of $u$ under the weights. "
        r"So the Jacobian is symmetric positive semidefinite, and it is flat in exactly those "
        r"directions in which $u$ is constant where weight lies.",
        "ko": r"야코비 행렬을 $J$라 하면, 어떤 방향 $u$에 대해서도 $u^\top Ju$는 가중치를 확률로 본 $u$의 분산입니다. "
        r"따라서 야코비 행렬은 양의 준정부호이며, 가중치가 있는 곳에서 $u$가 상수인 방향으로만 "
        r"평평합니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            nonnegative,
            proof_nonnegative,
            name="nonnegative",
            title={"en": "Positive semidefinite", "ko": "양의 준정부호"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "It is the second moment of $u$, without the mean",
                "ko": "평균을 빼지 않은 $u$의 이차 적률이라는 주장",
            },
            statement=second_moment,
            attempt=attempt,
            because="the two sides are not equal by ring, sum_add, sum_scale",
        ),
    ),
    numbers={
        "en": r"$p=(\frac12,\frac12)$, $u=(1,-1)$: $u^\top Ju=1$, the variance of a fair sign.",
        "ko": r"$p=(\frac12,\frac12)$, $u=(1,-1)$이면 $u^\top Ju=1$로, 확률이 같은 부호 "
        r"$\pm1$의 분산입니다.",
    },
    references=("boyd2004",),
)


if __name__ == "__main__":
    THEOREM.main()
