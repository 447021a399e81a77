"""Every softmax weight is positive."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    exp,
    le,
    lt,
    order,
    sign,
    softmax,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    return lt(0, softmax(x)[i])


def proof(p: Proof) -> None:
    n, x, i = p["n s i"]
    p.lt(exp(x[i]) / Sum(n, lambda l: exp(x[l])), sign())
    p.line(softmax(x)[i], "unfold")


def at_least_uniform(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    return le(1 / n, softmax(x)[i])


def attempt(p: Proof) -> None:
    p.le(softmax(p["s"])[p["i"]], order())


THEOREM = Theorem(
    id="softmax_positive",
    chapter="softmax",
    title={"en": "Weights are positive", "ko": "가중치는 양수"},
    prose={
        "en": "Softmax never gives a weight of exactly 0, whatever the scores are: every key "
        "that is not masked is attended to a little. A hard zero needs a mask.",
        "ko": "소프트맥스는 점수가 무엇이든 가중치를 정확히 0으로 만들지 않습니다. 마스크되지 "
        "않은 키는 모두 조금씩이라도 주목을 받습니다. 가중치를 정확히 0으로 만들려면 마스크가 "
        "필요합니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Every weight is at least $1/n$",
                "ko": "모든 가중치가 $1/n$ 이상이라는 주장",
            },
            statement=at_least_uniform,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
        ),
    ),
    numbers={
        "en": r"$\mathrm{softmax}(0,-20)\approx(0.99999999794,\ 2.06\cdot10^{-9})$: small, and "
        r"not 0.",
        "ko": r"$\mathrm{softmax}(0,-20)\approx(0.99999999794,\ 2.06\cdot10^{-9})$: 작지만 0은 "
        r"아닙니다.",
    },
    references=("bridle1990", "vaswani2017"),
)


if __name__ == "__main__":
    THEOREM.main()
