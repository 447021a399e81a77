"""Adding the same number to every score of a row leaves masked weights unchanged."""

from attnproofs.calculus import (
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    ind,
    weights,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    s.kept(keep)
    x, c = s.tensor("s", n), s.scalar("c")
    j = s.index("j", n)
    mask = array(n, lambda l: ind(keep(l)))
    return eq(weights(mask, array(n, lambda l: x[l] + c))[j], weights(mask, x)[j])


def proof(p: Proof) -> None:
    n, keep, x, c, j = p["n keep s c j"]
    bit = ind(keep(j))
    p.line(bit * exp(x[j] + c) / Sum(n, lambda l: ind(keep(l)) * exp(x[l] + c)), "unfold")
    p.line(
        bit * (exp(x[j]) * exp(c)) / (Sum(n, lambda l: ind(keep(l)) * exp(x[l])) * exp(c)),
        "expring",
        "sum_scale",
    )
    p.line(weights(array(n, lambda l: ind(keep(l))), x)[j], "unfold")


THEOREM = Theorem(
    id="weights_shift",
    chapter="masking",
    title={"en": "Shift invariance of masked weights", "ko": "마스크된 가중치의 이동 불변성"},
    prose={
        "en": "A constant added to all scores of a row cancels in masked weights as it does in "
        "softmax.",
        "ko": "한 행의 모든 점수에 더한 상수는 마스크된 가중치에서도 소프트맥스에서와 같이 "
        "약분됩니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
