"""Sharpening scores by β lowers the entropy at the rate β times the variance of the scores."""

from typing import Any

from attnproofs.calculus import (
    Array,
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
    entropy,
    eq,
    exp,
    lemma,
    log,
    logsumexp,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.entropy_identity import THEOREM as entropy_identity


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    x = s.tensor("s", n)
    beta = s.scalar("β")
    s.uses("logsumexp")
    return n, x, beta, softmax(array(n, lambda l: beta * x[l]))


def spread(n: Ix, x: Array, p: Array) -> Expr:
    return Sum(n, lambda i: p[i] * x[i] ** 2) - Sum(n, lambda i: p[i] * x[i]) ** 2


def statement(s: Scope) -> Claim:
    n, x, beta, p = declare(s)
    return eq(derivative(beta, entropy(p)), -beta * spread(n, x, p))


def proof(p: Proof) -> None:
    n, x, beta = p["n s β"]
    y = array(n, lambda l: beta * x[l])
    w = softmax(y)
    Z = Sum(n, lambda l: exp(beta * x[l]))
    first = Sum(n, lambda l: x[l] * exp(beta * x[l]))
    second = Sum(n, lambda l: x[l] ** 2 * exp(beta * x[l]))
    p.line(
        derivative(beta, logsumexp(y) - Sum(n, lambda i: w[i] * (beta * x[i]))),
        lemma(entropy_identity),
    )
    p.line(derivative(beta, log(Z) - beta * first / Z), "unfold", "sum_scale")
    p.line(
        first / Z - (first / Z + beta * (second / Z - first * first / Z**2)),
        differentiate("sum_scale"),
    )
    p.line(-beta * (second / Z - (first / Z) ** 2), "ring")
    p.line(-beta * spread(n, x, w), "unfold:softmax", "sum_scale")


def without_factor(s: Scope) -> Claim:
    n, x, beta, p = declare(s)
    return eq(derivative(beta, entropy(p)), -spread(n, x, p))


def attempt(p: Proof) -> None:
    n, x, beta = p["n s β"]
    w = softmax(array(n, lambda l: beta * x[l]))
    p.line(-beta * spread(n, x, w), lemma(THEOREM))
    p.line(-spread(n, x, w), "ring")


THEOREM = Theorem(
    id="entropy_temperature",
    chapter="softmax",
    title={"en": "Entropy falls as scores are scaled up", "ko": "점수를 키우면 엔트로피가 준다"},
    prose={
        "en": r"Multiplying all scores by $\beta$ (the inverse temperature) changes the "
        r"entropy of the weights at the rate $-\beta$ times the variance of the scores under "
        r"them. For $\beta>0$ sharpening never spreads attention; the rate dies out both at "
        r"$\beta=0$ and at saturation, where the variance vanishes.",
        "ko": r"모든 점수에 $\beta$(온도의 역수)를 곱하면, 가중치의 엔트로피는 그 가중치로 "
        r"본 점수의 분산에 $-\beta$를 곱한 비율로 변합니다. $\beta>0$에서 점수를 키우면 "
        r"주목이 넓어지는 일은 없습니다. 이 변화율은 $\beta=0$에서도, 분산이 사라지는 포화 "
        r"상태에서도 0입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"The rate is minus the variance, whatever $\beta$",
                "ko": r"변화율은 $\beta$와 관계없이 분산에 음의 부호를 붙인 값이라는 주장",
            },
            statement=without_factor,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$s=(2,1,0)$, $\beta=1$: variance $0.424$ under $p\approx(0.665,0.245,0.090)$, "
        r"so $dH/d\beta\approx-0.424$.",
        "ko": r"$s=(2,1,0)$, $\beta=1$이면 $p\approx(0.665,0.245,0.090)$에서 분산이 "
        r"$0.424$이므로 엔트로피의 변화율은 약 $-0.424$입니다.",
    },
    references=("guo2017", "cover2006"),
)


if __name__ == "__main__":
    THEOREM.main()
