"""Setting masked scores to 0 before softmax leaves positive weight on masked keys."""

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
    exp,
    ind,
    lemma,
    lt,
    sign,
    softmax,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    x = s.tensor("s", n)
    j = s.index("j", n)
    s.assume("masked", ~keep(j))
    return n, keep, x, j


def zeroed(s: Scope | Proof) -> Array:
    n, keep, x = s["n keep s"]
    return softmax(array(n, lambda l: ind(keep(l)) * x[l]))


def statement(s: Scope) -> Claim:
    n, keep, x, j = declare(s)
    kept = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    return eq(zeroed(s)[j], 1 / (kept + Sum(n, lambda l: ind(~keep(l)))))


def proof(p: Proof) -> None:
    n, keep, x, j = p["n keep s j"]
    Z = Sum(n, lambda l: exp(ind(keep(l)) * x[l]))
    p.line(exp(ind(keep(j)) * x[j]) / Z, "unfold")
    p.line(1 / Z, "ind_val", "expring")
    p.line(
        1
        / Sum(
            n,
            lambda l: (
                ind(keep(l)) * exp(ind(keep(l)) * x[l]) + ind(~keep(l)) * exp(ind(keep(l)) * x[l])
            ),
        ),
        "ind_bool",
    )
    p.line(
        1 / Sum(n, lambda l: ind(keep(l)) * exp(1 * x[l]) + ind(~keep(l)) * exp(0 * x[l])),
        "ind_val",
    )
    p.line(
        1 / (Sum(n, lambda l: ind(keep(l)) * exp(x[l])) + Sum(n, lambda l: ind(~keep(l)))),
        "expring",
        "sum_add",
    )


def positive(s: Scope) -> Claim:
    _, _, _, j = declare(s)
    return lt(0, zeroed(s)[j])


def proof_positive(p: Proof) -> None:
    p.lt(zeroed(p)[p["j"]], sign())


def vanishes(s: Scope) -> Claim:
    _, _, _, j = declare(s)
    return eq(zeroed(s)[j], 0)


def attempt(p: Proof) -> None:
    n, keep, x = p["n keep s"]
    kept = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(1 / (kept + Sum(n, lambda l: ind(~keep(l)))), lemma(THEOREM))
    p.line(0, "ring")


THEOREM = Theorem(
    id="zero_mask_leaks",
    chapter="masking",
    title={"en": "A zero score is not a mask", "ko": "점수 0은 마스크가 아니다"},
    prose={
        "en": r"Multiplying scores by a 0/1 mask sets masked scores to 0, and $e^0=1$: each of "
        r"$m$ masked keys then keeps the weight "
        r"$1/(\sum_l[\mathrm{keep}(l)]e^{s_l}+m)$. It is positive, and it grows "
        r"when the kept scores are small or negative.",
        "ko": r"점수에 0과 1의 마스크를 곱하면 마스크된 점수가 0이 되고 $e^0=1$입니다. "
        r"그러면 마스크된 키가 $m$개일 때 그 키마다 "
        r"$1/(\sum_l[\mathrm{keep}(l)]e^{s_l}+m)$의 가중치가 남습니다. 이 값은 양수이며, 남은 점수가 작거나 음수이면 더 커집니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            positive,
            proof_positive,
            name="positive",
            title={"en": "It is positive", "ko": "이 값은 양수이다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "The weight vanishes", "ko": "가중치가 0이 된다는 주장"},
            statement=vanishes,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"Kept scores $(-3,-2)$, the score of one masked key set to 0: its weight is "
        r"${1/(e^{-3}+e^{-2}+1)}\approx0.844$.",
        "ko": r"남은 점수가 $(-3,-2)$이고 마스크된 키 하나의 점수를 0으로 두면, 그 가중치는 "
        r"${1/(e^{-3}+e^{-2}+1)}\approx0.844$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
