"""The ratio of two softmax weights depends on the difference of their scores only."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    exp,
    lt,
    softmax,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i, j = s.index("i", n), s.index("j", n)
    return eq(softmax(x)[i] / softmax(x)[j], exp(x[i] - x[j]))


def proof(p: Proof) -> None:
    n, x, i, j = p["n s i j"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(exp(x[i]) / Z / (exp(x[j]) / Z), "unfold")
    p.line(exp(x[i]) / exp(x[j]), "ring")
    p.line(exp(x[i] - x[j]), "expring")


def ratio_of_scores(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i, j = s.index("i", n), s.index("j", n)
    s.assume("positive", lt(0, x[j]))
    return eq(softmax(x)[i] / softmax(x)[j], x[i] / x[j])


def attempt(p: Proof) -> None:
    n, x, i, j = p["n s i j"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(exp(x[i]) / Z / (exp(x[j]) / Z), "unfold")
    p.line(x[i] / x[j], "expring")


THEOREM = Theorem(
    id="softmax_ratio",
    chapter="softmax",
    title={"en": "Ratio of weights", "ko": "가중치의 비"},
    prose={
        "en": r"How strongly one key is preferred to another is the exponential of the "
        r"difference of their scores; no other key has a say. A score that is higher by $\ln 2$ "
        r"doubles the weight.",
        "ko": r"한 키가 다른 키보다 얼마나 더 주목받는지는 두 점수의 차이의 지수로 정해지며, "
        r"나머지 키는 영향을 주지 않습니다. 점수가 $\ln 2$만큼 크면 가중치가 두 배입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Weights are in the ratio of the scores (the denominator positive)",
                "ko": "(분모가 양수일 때) 가중치의 비가 점수의 비와 같다는 주장",
            },
            statement=ratio_of_scores,
            attempt=attempt,
            because="the two sides are not equal by ring, expring",
        ),
    ),
    numbers={
        "en": r"$\mathrm{softmax}(2,1,0)$: $0.6652/0.2447\approx2.718\approx e^{2-1}$, while "
        r"$2/1=2$.",
        "ko": r"$\mathrm{softmax}(2,1,0)$: $0.6652/0.2447\approx2.718\approx e^{2-1}$이며, "
        r"점수의 비는 $2/1=2$입니다.",
    },
    references=("bridle1990",),
)


if __name__ == "__main__":
    THEOREM.main()
