"""With two keys the softmax weight is the logistic function of the difference of scores."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    eq,
    exp,
    logistic,
    softmax,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    x = s.tensor("s", 2)
    return eq(softmax(x)[1], logistic(x[1] - x[2]))


def proof(p: Proof) -> None:
    x = p["s"]
    p.line(exp(x[1]) / (exp(x[1]) + exp(x[2])), "unfold:softmax", "sum_literal")
    p.line(1 / (1 + exp(-(x[1] - x[2]))), "expring")
    p.line(logistic(x[1] - x[2]), "unfold")


def turned(s: Scope) -> Claim:
    x = s.tensor("s", 2)
    return eq(softmax(x)[1], logistic(x[2] - x[1]))


def attempt(p: Proof) -> None:
    x = p["s"]
    p.line(exp(x[1]) / (exp(x[1]) + exp(x[2])), "unfold:softmax", "sum_literal")
    p.line(1 / (1 + exp(-(x[2] - x[1]))), "expring")


THEOREM = Theorem(
    id="softmax_two_keys",
    chapter="softmax",
    title={"en": "Two keys: the logistic function", "ko": "키가 둘일 때: 로지스틱 함수"},
    prose={
        "en": "Between two keys, softmax is the logistic function of the difference of the "
        "scores: equal scores give one half each, a lead of 4 gives 98%.",
        "ko": "키가 둘이면 소프트맥스는 점수 차이의 로지스틱 함수입니다. 점수가 같으면 "
        "절반씩이고, 4만큼 앞서면 98%입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The logistic function of the difference the other way round",
                "ko": "차이를 거꾸로 뺀 값의 로지스틱 함수라는 주장",
            },
            statement=turned,
            attempt=attempt,
            because="the two sides are not equal by ring, expring",
        ),
    ),
    numbers={
        "en": r"$\mathrm{softmax}(4,0)_1=1/(1+e^{-4})\approx0.982$.",
        "ko": r"$\mathrm{softmax}(4,0)_1=1/(1+e^{-4})\approx0.982$입니다.",
    },
    references=("bridle1990",),
)


if __name__ == "__main__":
    THEOREM.main()
