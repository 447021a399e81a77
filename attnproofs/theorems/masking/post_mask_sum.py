"""Masking after softmax loses the masked mass; renormalised, it is masking before softmax."""

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
    ind,
    lemma,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    p = softmax(s.tensor("s", n))
    return eq(Sum(n, lambda j: ind(keep(j)) * p[j]), 1 - Sum(n, lambda j: ind(~keep(j)) * p[j]))


def proof(p: Proof) -> None:
    n, keep, x = p["n keep s"]
    w = softmax(x)
    lost = Sum(n, lambda j: ind(~keep(j)) * w[j])
    p.line(Sum(n, lambda j: w[j]) - lost, "ind_bool", "sum_add", "sum_scale")
    p.line(1 - lost, lemma(softmax_sum))


def renormalised(s: Scope) -> Claim:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    s.kept(keep)
    x = s.tensor("s", n)
    j = s.index("j", n)
    p = softmax(x)
    return eq(
        ind(keep(j)) * p[j] / Sum(n, lambda l: ind(keep(l)) * p[l]),
        weights(array(n, lambda l: ind(keep(l))), x)[j],
    )


def proof_renormalised(p: Proof) -> None:
    n, keep, x, j = p["n keep s j"]
    Z = Sum(n, lambda l: exp(x[l]))
    kept = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(
        ind(keep(j)) * (exp(x[j]) / Z) / Sum(n, lambda l: ind(keep(l)) * (exp(x[l]) / Z)),
        "unfold",
    )
    p.line(ind(keep(j)) * (exp(x[j]) / Z) / (kept / Z), "sum_scale")
    p.line(ind(keep(j)) * exp(x[j]) / kept, "ring")
    p.line(weights(array(n, lambda l: ind(keep(l))), x)[j], "unfold")


def not_renormalised(s: Scope) -> Claim:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    s.kept(keep)
    x = s.tensor("s", n)
    j = s.index("j", n)
    return eq(ind(keep(j)) * softmax(x)[j], weights(array(n, lambda l: ind(keep(l))), x)[j])


def attempt(p: Proof) -> None:
    n, keep, x, j = p["n keep s j"]
    p.line(ind(keep(j)) * (exp(x[j]) / Sum(n, lambda l: exp(x[l]))), "unfold")
    p.line(weights(array(n, lambda l: ind(keep(l))), x)[j], "unfold")


THEOREM = Theorem(
    id="post_mask_sum",
    chapter="masking",
    title={"en": "Masking after softmax", "ko": "소프트맥스 뒤의 마스킹"},
    prose={
        "en": "If masked weights are set to 0 after softmax, the rest sums to one less the "
        "masked mass. Dividing by that sum gives the weights that masking before softmax "
        "gives; without the division they are too small.",
        "ko": "소프트맥스 뒤에 마스크된 가중치를 0으로 바꾸면 나머지의 합은 1에서 마스크된 "
        "몫을 뺀 값이 됩니다. 그 합으로 나누면 소프트맥스 앞에서 마스크한 것과 같아지고, "
        "나누지 않으면 가중치가 너무 작습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            renormalised,
            proof_renormalised,
            name="renormalised",
            title={
                "en": "Renormalised, it equals masking before softmax",
                "ko": "다시 정규화하면 소프트맥스 앞의 마스킹과 같다",
            },
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Masking after softmax equals masking before it, without renormalising",
                "ko": "다시 정규화하지 않아도 소프트맥스 앞의 마스킹과 같다는 주장",
            },
            statement=not_renormalised,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"With the third of $(0.665,0.245,0.090)$ masked, the rest sums to $0.910$, and "
        r"$(0.665,0.245)/0.910\approx(0.731,0.269)$.",
        "ko": r"$(0.665,0.245,0.090)$에서 셋째를 마스크하면 남은 $0.665$와 $0.245$의 합은 "
        r"$0.910$이고, 각각을 이 합으로 나누면 $0.731$과 $0.269$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
