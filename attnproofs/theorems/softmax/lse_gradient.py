"""The gradient of log-sum-exp is softmax."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    derivative,
    differentiate,
    eq,
    exp,
    ind,
    lemma,
    log,
    logsumexp,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    return eq(derivative(x[i], logsumexp(x)), softmax(x)[i])


def proof(p: Proof) -> None:
    n, x, i = p["n s i"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(derivative(x[i], log(Z)), "unfold:logsumexp")
    p.line(Sum(n, lambda l: ind(l.is_(i)) * exp(x[l])) / Z, differentiate())
    p.line(exp(x[i]) / Z, lemma(one_point))
    p.line(softmax(x)[i], "unfold")


def unnormalised(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    s.uses("softmax")
    return eq(derivative(x[i], logsumexp(x)), exp(x[i]))


def attempt(p: Proof) -> None:
    x, i = p["s i"]
    p.line(softmax(x)[i], lemma(THEOREM))
    p.line(exp(x[i]), "unfold")


THEOREM = Theorem(
    id="lse_gradient",
    chapter="softmax",
    title={
        "en": "Softmax is the gradient of log-sum-exp",
        "ko": "소프트맥스는 로그합지수의 기울기",
    },
    prose={
        "en": r"$\mathrm{LSE}(s)=\ln\sum_j e^{s_j}$ is a smooth maximum, and its gradient is "
        r"the softmax. Implementations keep the LSE of each row for the backward pass: the "
        r"weights are $e^{s-\mathrm{LSE}}$.",
        "ko": r"$\mathrm{LSE}(s)=\ln\sum_j e^{s_j}$는 매끄러운 최댓값이며, 그 기울기가 "
        r"소프트맥스입니다. 구현에서는 역전파를 위해 행마다 LSE를 남겨 두는데, 가중치가 "
        r"$e^{s-\mathrm{LSE}}$이기 때문입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The gradient is $e^s$, without the denominator",
                "ko": "기울기가 분모 없이 $e^s$이라는 주장",
            },
            statement=unnormalised,
            attempt=attempt,
            because="the two sides are not equal by ring, unfold",
        ),
    ),
    numbers={
        "en": r"$\mathrm{LSE}(2,1,0)\approx2.407606$ and "
        r"$\mathrm{LSE}(2.001,1,0)\approx2.408271$: slope $0.665\approx p_1$.",
        "ko": r"$\mathrm{LSE}(2,1,0)\approx2.407606$, "
        r"$\mathrm{LSE}(2.001,1,0)\approx2.408271$이므로 기울기는 $0.665\approx p_1$입니다.",
    },
    references=("boyd2004", "dao2022"),
)


if __name__ == "__main__":
    THEOREM.main()
