"""Two hard masks together keep what both keep."""

from typing import Any

from attnproofs.calculus import (
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
    ind,
    le,
    lemma,
    order,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    first, second = s.predicate("a", n), s.predicate("b", n)
    chosen = s.function("κ", into=n)
    s.assume("kept", first(chosen()) & second(chosen()))
    return n, first, second, s.tensor("s", n), s.index("j", n)


def statement(s: Scope) -> Claim:
    n, first, second, x, j = declare(s)
    both = array(n, lambda l: ind(first(l)) * ind(second(l)))
    return eq(weights(both, x)[j], weights(array(n, lambda l: ind(first(l) & second(l))), x)[j])


def proof(p: Proof) -> None:
    n, first, second, x, j = p["n a b s j"]

    def bit(l: Ix) -> Expr:
        return ind(first(l) & second(l))

    p.line(
        ind(first(j))
        * ind(second(j))
        * exp(x[j])
        / Sum(n, lambda l: ind(first(l)) * ind(second(l)) * exp(x[l])),
        "unfold",
    )
    p.line(bit(j) * exp(x[j]) / Sum(n, lambda l: bit(l) * exp(x[l])), "ind_bool")
    p.line(weights(array(n, bit), x)[j], "unfold")


def finite(s: Scope) -> Claim:
    n, first, second, x, j = declare(s)
    c = s.scalar("c")
    k = s["κ"]()
    s.assume("large", le(0, c))
    added = array(n, lambda l: x[l] - ind(~first(l)) * c - ind(~second(l)) * c)
    out = ind(~(first(j) & second(j)))
    return le(softmax(added)[j], exp(x[j] - x[k]) * exp(-(out * c)))


def proof_finite(p: Proof) -> None:
    n, first, second, x, j, c = p["n a b s j c"]
    k = p["κ"]()
    added = array(n, lambda l: x[l] - ind(~first(l)) * c - ind(~second(l)) * c)
    out = ind(~(first(j) & second(j)))
    p.line(exp(added[j]) / Sum(n, lambda l: exp(added[l])), "unfold")
    p.le(
        exp(added[j]) / exp(added[k]),
        lemma(term_le_sum, n=n, k=k, f=array(n, lambda l: exp(added[l]))),
    )
    p.line(exp(added[j]) / exp(x[k]), "ind_val")
    p.le(
        exp(x[j] - out * c) / exp(x[k]),
        order(ind(~first(j)) * ind(~second(j)) * c, "ind_bool"),
    )
    p.line(exp(x[j] - x[k]) * exp(-(out * c)), "expring")


def either(s: Scope) -> Claim:
    n, first, second, x, j = declare(s)
    both = array(n, lambda l: ind(first(l)) * ind(second(l)))
    return eq(weights(both, x)[j], weights(array(n, lambda l: ind(first(l) | second(l))), x)[j])


THEOREM = Theorem(
    id="mask_and",
    chapter="masking",
    title={"en": "Masks combine by AND", "ko": "마스크는 논리곱으로 결합한다"},
    prose={
        "en": "Adding two masks of 0 and minus infinity multiplies their 0/1 factors: a key "
        "survives only if both masks keep it. A causal mask and a padding mask are combined "
        "this way. The second part is the same with finite masks: a key that one of them drops "
        "is damped by $e^{-c}$ at least.",
        "ko": "0과 음의 무한대로 된 두 마스크를 더하면 0과 1의 인수가 곱해집니다. 키는 두 "
        "마스크가 모두 남길 때만 남습니다. 인과 마스크와 패딩 마스크를 함께 쓰는 방식이 바로 "
        "이것입니다. 둘째 명제는 유한한 마스크에서의 같은 사실로, 두 마스크 가운데 하나라도 버린 키의 가중치는 "
        "$e^{-c}$배 이하로 줄어듭니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            finite,
            proof_finite,
            name="finite",
            title={"en": "With finite masks", "ko": "유한한 마스크일 때"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "Masks combine by OR", "ko": "마스크는 논리합으로 결합한다는 주장"},
            statement=either,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"Row 3 of a causal mask, $(1,1,1,0)$, and a padding mask $(0,1,1,1)$ keep "
        r"$(0,1,1,0)$.",
        "ko": r"인과 마스크의 3행 $(1,1,1,0)$과 패딩 마스크 $(0,1,1,1)$을 함께 쓰면 "
        r"$(0,1,1,0)$이 남습니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
