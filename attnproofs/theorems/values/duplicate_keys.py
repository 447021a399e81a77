"""Repeating the whole list of keys and values changes nothing."""

from fractions import Fraction
from random import Random
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
    eq,
    exp,
    hyp,
    reindex,
    softmax,
    span,
    split,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    n = s.dimension("n")
    x, v = s.tensor("s", 2 * n), s.tensor("v", 2 * n)
    s.assume("scores", lambda l: eq(x[n + l], x[l]), over={"l": n})
    s.assume("values", lambda l: eq(v[n + l], v[l]), over={"l": n})


def output(n: Ix, x: Array, v: Array) -> Expr:
    row = softmax(array(n, lambda l: x[l]))
    return Sum(n, lambda j: row[j] * v[j])


def statement(s: Scope) -> Claim:
    declare(s)
    n, x, v = s["n s v"]
    return eq(output(2 * n, x, v), output(n, x, v))


def proof(p: Proof) -> None:
    n, x, v = p["n s v"]
    second = span(n + 1, 2 * n)

    def weighted(axis: Any) -> Expr:
        return Sum(axis, lambda j: exp(x[j]) * v[j])

    def total(axis: Any) -> Expr:
        return Sum(axis, lambda j: exp(x[j]))

    p.line(weighted(2 * n) / total(2 * n), "unfold", "sum_scale")
    p.line((weighted(n) + weighted(second)) / (total(n) + total(second)), split(n))
    p.line(
        (weighted(n) + Sum(n, lambda k: exp(x[n + k]) * v[n + k]))
        / (total(n) + Sum(n, lambda k: exp(x[n + k]))),
        reindex(lambda k: k + n, lambda j: j - n),
    )
    p.line((weighted(n) + weighted(n)) / (total(n) + total(n)), hyp("scores"), hyp("values"))
    p.line(weighted(n) / total(n), "ring")
    p.line(output(n, x, v), "unfold", "sum_scale")


def one_repeated(s: Scope) -> Claim:
    n = s.dimension("n")
    x, v = s.tensor("s", n + 1), s.tensor("v", n + 1)
    s.assume("score", eq(x[n + 1], x[1]))
    s.assume("value", eq(v[n + 1], v[1]))
    return eq(output(n + 1, x, v), output(n, x, v))


def attempt(p: Proof) -> None:
    n, x, v = p["n s v"]
    top, bottom = Sum(n, lambda j: exp(x[j]) * v[j]), Sum(n, lambda j: exp(x[j]))
    p.line(
        Sum(n + 1, lambda j: exp(x[j]) * v[j]) / Sum(n + 1, lambda j: exp(x[j])),
        "unfold",
        "sum_scale",
    )
    p.line((top + exp(x[n + 1]) * v[n + 1]) / (bottom + exp(x[n + 1])), split(n), "sum_single")
    p.line((top + exp(x[1]) * v[1]) / (bottom + exp(x[1])), hyp("score"), hyp("value"))
    p.line(top / bottom, "ring")


def doubled(rng: Random) -> dict[str, Any]:
    n = rng.randint(1, 3)
    x = [Fraction(rng.randint(-4, 4), 2) for _ in range(n)]
    v = [Fraction(rng.randint(-4, 4), 2) for _ in range(n)]
    return {"n": n, "s": x * 2, "v": v * 2}


def first_again(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 3)
    x = [Fraction(rng.randint(-4, 4), 2) for _ in range(n)]
    v = [Fraction(k) for k in range(n)]
    return {"n": n, "s": [*x, x[0]], "v": [*v, v[0]]}


THEOREM = Theorem(
    id="duplicate_keys",
    chapter="values",
    title={"en": "Repeating the whole list", "ko": "목록 전체의 반복"},
    prose={
        "en": "If every key and value occurs twice, each weight is halved and each value "
        "counts twice: the output stays. Repeating only some of the keys shifts weight towards "
        "them.",
        "ko": "모든 키와 밸류가 두 번씩 나오면 가중치는 각각 절반이 되고 밸류는 두 번씩 "
        "더해지므로 출력은 그대로입니다. 일부 키만 반복하면 가중치가 그쪽으로 쏠립니다.",
    },
    parts=(Part(statement, proof, instance=doubled),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Repeating one key changes nothing",
                "ko": "키 하나를 반복해도 아무것도 변하지 않는다는 주장",
            },
            statement=one_repeated,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=first_again,
        ),
    ),
    numbers={
        "en": r"Equal scores, $v=(0,3)$: $1.5$; the list twice: $1.5$; the first key once "
        r"more: $1$.",
        "ko": r"점수가 같고 $v=(0,3)$이면 출력은 $1.5$이며, 목록을 두 번 반복해도 $1.5$이지만 "
        r"첫 키만 한 번 더 넣으면 $1$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
