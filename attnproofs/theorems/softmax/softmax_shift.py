"""Adding the same number to every score leaves the softmax weights unchanged."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    softmax,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    c = s.scalar("c")
    i = s.index("i", n)
    return eq(softmax(array(n, lambda l: x[l] + c))[i], softmax(x)[i])


def proof(p: Proof) -> None:
    n, x, c, i = p["n s c i"]
    p.line(exp(x[i] + c) / Sum(n, lambda l: exp(x[l] + c)), "unfold")
    p.line(exp(x[i]) * exp(c) / Sum(n, lambda l: exp(x[l]) * exp(c)), "expring")
    p.line(exp(x[i]) * exp(c) / (Sum(n, lambda l: exp(x[l])) * exp(c)), "sum_scale")
    p.line(exp(x[i]) / Sum(n, lambda l: exp(x[l])), "ring")
    p.line(softmax(x)[i], "unfold")


def scaled(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    c = s.scalar("c")
    i = s.index("i", n)
    return eq(softmax(array(n, lambda l: c * x[l]))[i], softmax(x)[i])


def attempt(p: Proof) -> None:
    n, x, c, i = p["n s c i"]
    p.line(exp(c * x[i]) / Sum(n, lambda l: exp(c * x[l])), "unfold")
    p.line(exp(x[i]) / Sum(n, lambda l: exp(x[l])), "expring", "sum_scale")


THEOREM = Theorem(
    id="softmax_shift",
    chapter="softmax",
    title={"en": "Shift invariance", "ko": "이동 불변성"},
    prose={
        "en": "Only differences of scores matter: a constant added to a whole row cancels in the "
        "quotient. This is why an implementation may subtract the largest score before it "
        "exponentiates, and why a bias that is the same for all keys of a query is invisible.",
        "ko": "중요한 것은 점수의 차이뿐입니다. 한 행 전체에 더한 상수는 나눗셈에서 "
        "약분됩니다. 구현에서 지수를 취하기 전에 최댓값을 빼도 되는 이유이며, 한 쿼리의 모든 "
        "키에 똑같이 더해지는 편향이 결과에 드러나지 않는 이유이기도 합니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Multiplying every score by the same number changes nothing",
                "ko": "모든 점수에 같은 수를 곱해도 변하지 않는다는 주장",
            },
            statement=scaled,
            attempt=attempt,
            because="the two sides are not equal by ring, expring, sum_scale",
        ),
    ),
    numbers={
        "en": r"$\mathrm{softmax}(1002,1001,1000)=\mathrm{softmax}(2,1,0)\approx(0.665,0.245,0.090)$, "
        r"although $e^{1002}$ overflows in float64.",
        "ko": r"$\mathrm{softmax}(1002,1001,1000)=\mathrm{softmax}(2,1,0)\approx(0.665,0.245,0.090)$이지만, "
        r"$e^{1002}$은 float64에서 넘칩니다.",
    },
    references=("blanchard2021", "milakov2018"),
)


if __name__ == "__main__":
    THEOREM.main()
