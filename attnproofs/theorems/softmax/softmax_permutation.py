"""Permuting scores permutes the softmax weights."""

from random import Random
from typing import Any

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
    ixeq,
    lemma,
    reindex,
    softmax,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    order, back = s.function("π", n, into=n), s.function("ρ", n, into=n)
    s.assume("left_inverse", lambda l: back(order(l)).is_(l), over={"l": n})
    s.assume("right_inverse", lambda l: order(back(l)).is_(l), over={"l": n})
    return n, order, s.tensor("s", n), s.index("i", n)


def statement(s: Scope) -> Claim:
    n, order, x, i = declare(s)
    return eq(softmax(array(n, lambda l: x[order(l)]))[i], softmax(x)[order(i)])


def proof(p: Proof) -> None:
    n, order, back, x, i = p["n π ρ s i"]
    p.line(exp(x[order(i)]) / Sum(n, lambda l: exp(x[order(l)])), "unfold")
    p.line(exp(x[order(i)]) / Sum(n, lambda l: exp(x[l])), reindex(order, back))
    p.line(softmax(x)[order(i)], "unfold")


def unmoved(s: Scope) -> Claim:
    n, order, x, i = declare(s)
    return eq(softmax(array(n, lambda l: x[order(l)]))[i], softmax(x)[i])


def attempt(p: Proof) -> None:
    order, x, i = p["π s i"]
    p.line(softmax(x)[order(i)], lemma(THEOREM))
    p.line(softmax(x)[i], ixeq)


def permutation(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 4)
    values = rng.sample(range(1, n + 1), n)
    return {"n": n, "π": values, "ρ": [values.index(l) + 1 for l in range(1, n + 1)]}


THEOREM = Theorem(
    id="softmax_permutation",
    chapter="softmax",
    title={"en": "Permutation of scores", "ko": "점수의 순열"},
    prose={
        "en": "Softmax treats all keys alike: if the scores are listed in another order, the "
        "weights are the same numbers in that order. Nothing in it knows where a key stands in "
        "the sequence.",
        "ko": "소프트맥스는 모든 키를 똑같이 다룹니다. 점수의 순서를 바꾸면 가중치는 같은 "
        "값들이 그 순서로 바뀔 뿐입니다. 키가 수열의 어디에 있는지는 전혀 반영되지 않습니다.",
    },
    parts=(Part(statement, proof, instance=permutation),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The weights stay where they are",
                "ko": "가중치가 제자리에 그대로 있다는 주장",
            },
            statement=unmoved,
            attempt=attempt,
            because="ixeq: cannot show",
            instance=permutation,
        ),
    ),
    numbers={
        "en": r"$(2,1,0)\mapsto(0.665,0.245,0.090)$ and $(0,2,1)\mapsto(0.090,0.665,0.245)$.",
        "ko": r"$(2,1,0)\mapsto(0.665,0.245,0.090)$이고 $(0,2,1)\mapsto(0.090,0.665,0.245)$입니다.",
    },
    references=("bridle1990",),
)


if __name__ == "__main__":
    THEOREM.main()
