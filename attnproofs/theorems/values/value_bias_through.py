"""A bias on the values passes through to the output unchanged."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    hyp,
    lemma,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, n, d_v = s.dimensions("T T_s d_v")
    A = s.tensor("A", T, n)
    s.tensor("V", n, d_v)
    s.tensor("b", d_v)
    s.assume("rows", lambda k: eq(Sum(n, lambda l: A[k, l]), 1), over={"k": T})
    s.index("i", T)
    s.index("c", d_v)


def biased(s: Scope | Proof) -> Array:
    n, d_v, V, b = s["T_s d_v V b"]
    return array(n, d_v, lambda l, e: V[l, e] + b[e])


def statement(s: Scope) -> Claim:
    declare(s)
    A, V, b, i, c = s["A V b i c"]
    return eq((A @ biased(s))[i, c], (A @ V)[i, c] + b[c])


def proof(p: Proof) -> None:
    n, A, V, b, i, c = p["T_s A V b i c"]
    p.line(Sum(n, lambda l: A[i, l] * (V[l, c] + b[c])), "unfold")
    p.line(
        Sum(n, lambda l: A[i, l] * V[l, c]) + b[c] * Sum(n, lambda l: A[i, l]),
        "sum_add",
        "sum_scale",
    )
    p.line(Sum(n, lambda l: A[i, l] * V[l, c]) + b[c] * 1, hyp("rows"))
    p.line((A @ V)[i, c] + b[c], "unfold")


def cancels(s: Scope) -> Claim:
    declare(s)
    A, V, i, c = s["A V i c"]
    return eq((A @ biased(s))[i, c], (A @ V)[i, c])


def attempt(p: Proof) -> None:
    A, V, b, i, c = p["A V b i c"]
    p.line((A @ V)[i, c] + b[c], lemma(THEOREM))
    p.line((A @ V)[i, c], "ring")


def stochastic(rng: Random) -> dict[str, Any]:
    T, n = rng.randint(1, 2), rng.randint(1, 3)
    rows = []
    for _ in range(T):
        counts = [rng.randint(1, 4) for _ in range(n)]
        rows.append([Fraction(x, sum(counts)) for x in counts])
    return {"T": T, "T_s": n, "A": rows}


THEOREM = Theorem(
    id="value_bias_through",
    chapter="values",
    title={"en": "A value bias passes through", "ko": "밸류 편향은 그대로 통과한다"},
    prose={
        "en": "Since each row of weights sums to one, a vector added to every value is added "
        "to every output. A bias in the value projection can therefore be moved behind the "
        "attention, into the output bias.",
        "ko": "가중치의 각 행은 합이 1이므로, 모든 밸류에 더한 벡터는 모든 출력에 그대로 "
        "더해집니다. 따라서 밸류 사영의 편향은 어텐션 뒤로 옮겨 출력의 편향에 합칠 수 있습니다.",
    },
    parts=(Part(statement, proof, instance=stochastic),),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "It cancels like a key bias", "ko": "키 편향처럼 사라진다는 주장"},
            statement=cancels,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=stochastic,
        ),
    ),
    numbers={
        "en": r"Weights $(\frac14,\frac34)$, values $(4,8)$, bias $10$: $7$ becomes $17$.",
        "ko": r"가중치가 $(\frac14,\frac34)$, 밸류가 $(4,8)$, 편향이 $10$이면 $7$이 $17$이 됩니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
