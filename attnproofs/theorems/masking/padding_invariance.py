"""Appending masked keys changes nothing."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Predicate,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    ind,
    lemma,
    softmax,
    span,
    split,
    unfold,
    weights,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    m = s.dimension("m", least=0)
    return n, m


def padded(s: Scope) -> tuple[Any, ...]:
    n, m = declare(s)
    keep = s.predicate("keep", n + m)
    s.assume("padding", lambda l: ~keep(l), over={"l": span(n + 1, n + m)})
    return n, m, keep, s.tensor("s", n + m)


def long(n: Ix, m: Ix, keep: Predicate, x: Array) -> Array:
    return weights(array(n + m, lambda l: ind(keep(l))), x)


def short(n: Ix, keep: Predicate, x: Array) -> Array:
    return weights(array(n, lambda l: ind(keep(l))), array(n, lambda l: x[l]))


def statement(s: Scope) -> Claim:
    n, m, keep, x = padded(s)
    j = s.index("j", n)
    return eq(long(n, m, keep, x)[j], short(n, keep, x)[j])


def proof(p: Proof) -> None:
    n, m, keep, x, j = p["n m keep s j"]
    e = ind(keep(j)) * exp(x[j])

    def Z(axis: Any) -> Expr:
        return Sum(axis, lambda l: ind(keep(l)) * exp(x[l]))

    p.line(e / Z(n + m), "unfold")
    p.line(e / (Z(n) + Z(span(n + 1, n + m))), split(n))
    p.line(e / Z(n), "ind_val")
    p.line(short(n, keep, x)[j], "unfold")


def output(s: Scope) -> Claim:
    n, m, keep, x = padded(s)
    v = s.tensor("v", n + m)
    w, u = long(n, m, keep, x), short(n, keep, x)
    return eq(Sum(n + m, lambda j: w[j] * v[j]), Sum(n, lambda j: u[j] * v[j]))


def proof_output(p: Proof) -> None:
    n, m, keep, x, v = p["n m keep s v"]
    w = long(n, m, keep, x)
    p.line(Sum(n, lambda j: w[j] * v[j]) + Sum(span(n + 1, n + m), lambda j: w[j] * v[j]), split(n))
    p.line(Sum(n, lambda j: w[j] * v[j]), "unfold", "ind_val")
    p.line(
        Sum(n, lambda j: short(n, keep, x)[j] * v[j]),
        lemma(THEOREM, within=lambda j: {"j": j}),
    )


def unmasked(s: Scope) -> Claim:
    n, m = declare(s)
    x = s.tensor("s", n + m)
    s.assume("zero", lambda l: eq(x[l], 0), over={"l": span(n + 1, n + m)})
    j = s.index("j", n)
    return eq(softmax(x)[j], softmax(array(n, lambda l: x[l]))[j])


def attempt(p: Proof) -> None:
    n, m, x, j = p["n m s j"]

    def Z(axis: Any) -> Expr:
        return Sum(axis, lambda l: exp(x[l]))

    p.line(exp(x[j]) / (Z(n) + Z(span(n + 1, n + m))), unfold(), split(n))
    p.line(exp(x[j]) / Z(n), "ring")


def with_padding(rng: Random) -> dict[str, Any]:
    n, m = rng.randint(1, 3), rng.randint(1, 2)
    return {"n": n, "m": m, "keep": [rng.random() < 0.7 for _ in range(n)] + [False] * m}


def zero_padding(rng: Random) -> dict[str, Any]:
    n, m = rng.randint(1, 3), rng.randint(1, 2)
    return {"n": n, "m": m, "s": [Fraction(rng.randint(-8, 8), 4) for _ in range(n)] + [0] * m}


THEOREM = Theorem(
    id="padding_invariance",
    chapter="masking",
    title={"en": "Padding changes nothing", "ko": "패딩은 아무것도 바꾸지 않는다"},
    prose={
        "en": "Appending any number of masked keys leaves the weights of the others and the "
        "output as they were, whatever scores and values the padding holds. Sequences of "
        "different lengths can therefore share a batch.",
        "ko": "마스크된 키를 몇 개 덧붙여도 나머지 키의 가중치와 출력은 그대로이며, 패딩 자리의 "
        "점수와 밸류가 무엇이든 상관없습니다. 그래서 길이가 다른 수열들을 한 배치에 담을 수 "
        "있습니다.",
    },
    parts=(
        Part(statement, proof, instance=with_padding),
        Part(
            output,
            proof_output,
            name="output",
            title={"en": "The output", "ko": "출력"},
            instance=with_padding,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Padding with zero scores needs no mask",
                "ko": "점수가 0인 패딩에는 마스크가 필요 없다는 주장",
            },
            statement=unmasked,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=zero_padding,
        ),
    ),
    numbers={
        "en": r"Scores $(2,1)$: $(0.731,0.269)$. Padded with one masked key: the same and $0$; "
        r"with one unmasked zero score: $(0.665,0.245,0.090)$.",
        "ko": r"점수 $(2,1)$이면 $(0.731,0.269)$입니다. 마스크된 키를 하나 덧붙이면 같은 "
        r"값과 $0$이고, 마스크 없이 점수 0을 덧붙이면 $(0.665,0.245,0.090)$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
