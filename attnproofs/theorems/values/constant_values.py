"""If all values are the same vector, so is every output."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    hyp,
    ind,
    lemma,
    weights,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    n, d_v = s.dimensions("n d_v")
    keep = s.predicate("keep", n)
    s.kept(keep)
    s.tensor("s", n)
    V, v = s.tensor("V", n, d_v), s.tensor("v", d_v)
    s.assume("constant", lambda l, e: eq(V[l, e], v[e]), over={"l": n, "e": d_v})
    s.index("c", d_v)


def output(s: Scope | Proof) -> Expr:
    n, keep, x, V, c = s["n keep s V c"]
    w = weights(array(n, lambda l: ind(keep(l))), x)
    return Sum(n, lambda j: w[j] * V[j, c])


def statement(s: Scope) -> Claim:
    declare(s)
    return eq(output(s), s["v"][s["c"]])


def proof(p: Proof) -> None:
    n, keep, x, V, v, c = p["n keep s V v c"]
    Z = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(Sum(n, lambda j: ind(keep(j)) * exp(x[j]) / Z * V[j, c]), "unfold")
    p.line(Sum(n, lambda j: ind(keep(j)) * exp(x[j]) / Z * v[c]), hyp("constant"))
    p.line(v[c] * Z / Z, "sum_scale")
    p.line(v[c], "ring")


def summed(s: Scope) -> Claim:
    declare(s)
    n, v, c = s["n v c"]
    return eq(output(s), n * v[c])


def attempt(p: Proof) -> None:
    n, v, c = p["n v c"]
    p.line(v[c], lemma(THEOREM))
    p.line(n * v[c], "ring")


def equal_values(rng: Random) -> dict[str, Any]:
    n, d_v = rng.randint(2, 3), rng.randint(1, 2)
    v = [Fraction(rng.randint(1, 8), 2) for _ in range(d_v)]
    return {"n": n, "d_v": d_v, "v": v, "V": [v] * n}


THEOREM = Theorem(
    id="constant_values",
    chapter="values",
    title={"en": "Constant values pass through", "ko": "상수 밸류는 그대로 나온다"},
    prose={
        "en": "If every value is the same vector $v$, the output is $v$, whatever the scores "
        "and the mask: weights only distribute, they do not scale. With values of all ones an "
        "implementation must return ones; it is the simplest test of the normalisation.",
        "ko": "모든 밸류가 같은 벡터 $v$이면 점수와 마스크가 무엇이든 출력은 $v$입니다. "
        "가중치는 나눌 뿐 크기를 바꾸지 않습니다. 밸류가 모두 1이면 구현은 1을 돌려주어야 "
        "하며, 이는 정규화를 확인하는 가장 간단한 시험입니다.",
    },
    parts=(Part(statement, proof, instance=equal_values),),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "The output is $n$ times $v$", "ko": "출력이 $v$의 $n$배라는 주장"},
            statement=summed,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=equal_values,
        ),
    ),
    numbers={
        "en": r"Weights $(0.665,0.245,0.090)$, all values $(2,-1)$: the output is $(2,-1)$.",
        "ko": r"가중치가 $(0.665,0.245,0.090)$이고 밸류가 모두 $(2,-1)$이면 출력은 $(2,-1)$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
