"""Inverted dropout on the weights leaves the expected output as it is."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    expect,
    hyp,
    lt,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, n, d_v = s.dimensions("T T_s d_v")
    s.tensor("A", T, n)
    s.tensor("V", n, d_v)
    kept = s.family("B", T, n, order=1)
    p = s.scalar("p")
    s.assume("some_kept", lt(p, 1))
    s.assume("rate", lambda k, l: eq(expect(kept[k, l]), 1 - p), over={"k": T, "l": n})
    s.index("i", T)
    s.index("c", d_v)


def statement(s: Scope) -> Claim:
    declare(s)
    n, A, V, B, p, i, c = s["T_s A V B p i c"]
    dropped = Sum(n, lambda j: A[i, j] * B[i, j] / (1 - p) * V[j, c])
    return eq(expect(dropped), (A @ V)[i, c])


def proof(p: Proof) -> None:
    n, A, V, B, rate, i, c = p["T_s A V B p i c"]
    p.line(Sum(n, lambda j: A[i, j] * expect(B[i, j]) / (1 - rate) * V[j, c]), "E_lin", "sum_scale")
    p.line(Sum(n, lambda j: A[i, j] * (1 - rate) / (1 - rate) * V[j, c]), hyp("rate"))
    p.line(Sum(n, lambda j: A[i, j] * V[j, c]), "ring")
    p.line((A @ V)[i, c], "unfold")


def unscaled(s: Scope) -> Claim:
    declare(s)
    n, A, V, B, i, c = s["T_s A V B i c"]
    return eq(expect(Sum(n, lambda j: A[i, j] * B[i, j] * V[j, c])), (A @ V)[i, c])


def attempt(p: Proof) -> None:
    n, A, V, B, rate, i, c = p["T_s A V B p i c"]
    p.line(Sum(n, lambda j: A[i, j] * expect(B[i, j]) * V[j, c]), "E_lin", "sum_scale")
    p.line(Sum(n, lambda j: A[i, j] * (1 - rate) * V[j, c]), hyp("rate"))
    p.line((A @ V)[i, c], "unfold")


def coin(rng: Random) -> dict[str, Any]:
    """Return a law in which all weights of a pass are kept or dropped together: still unbiased."""
    from attnproofs.calculus.evaluate import Law

    T, n = rng.randint(1, 2), rng.randint(1, 3)
    places = [(k, l) for k in range(1, T + 1) for l in range(1, n + 1)]
    rate = Fraction(rng.randint(1, 3), 4)
    kept = {place: Fraction(1) for place in places}
    dropped = {place: Fraction(0) for place in places}
    return {"T": T, "T_s": n, "p": rate, "B": Law(((1 - rate, kept), (rate, dropped)))}


THEOREM = Theorem(
    id="dropout_unbiased",
    chapter="computation",
    title={"en": "Dropout on weights is unbiased", "ko": "가중치 드롭아웃은 비편향이다"},
    prose={
        "en": "Each weight is kept with probability $1-p$ and then divided by $1-p$. In "
        "expectation the output is $AV$, whatever the dependence between the drops. A single "
        "row of dropped weights need not sum to one; without the division even the mean is too "
        "small.",
        "ko": "가중치마다 확률 $1-p$로 남기고 $1-p$로 나눕니다. 어느 가중치를 남기는지가 서로 "
        "어떻게 얽혀 있든 출력의 기댓값은 $AV$입니다. 한 번 뽑은 가중치의 합은 1이 아닐 수 "
        "있고, 나누지 않으면 평균조차 작아집니다.",
    },
    parts=(Part(statement, proof, instance=coin),),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "Without dividing by $1-p$", "ko": "$1-p$로 나누지 않아도 된다는 주장"},
            statement=unscaled,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=coin,
        ),
    ),
    numbers={
        "en": r"$p=\frac1{10}$, weight $0.9$: kept as $1$ with probability $0.9$, so $0.9$ on "
        r"average.",
        "ko": r"$p=\frac1{10}$이고 가중치가 $0.9$이면 확률 $0.9$로 $1$이 되므로 평균은 "
        r"$0.9$입니다.",
    },
    references=("srivastava2014",),
)


if __name__ == "__main__":
    THEOREM.main()
