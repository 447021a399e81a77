"""A sum over an indicator of one index is that one term."""

from attnproofs.calculus import (
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    ind,
    reindex,
    span,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n", least=0)
    e = s.index("e", n)
    f = s.tensor("f", n)
    return eq(Sum(n, lambda j: ind(j.is_(e)) * f[j]), f[e])


def proof(p: Proof) -> None:
    e, f = p["e f"]
    p.line(
        Sum(span(e, e), lambda k: f[k]),
        reindex(lambda k: k, lambda j: j, where=lambda j: j.is_(e)),
    )
    p.line(f[e], "sum_single")


THEOREM = Theorem(
    id="one_point",
    chapter="sums",
    title={"en": "One-point sum", "ko": "한 점에서의 합"},
    prose={
        "en": "A sum in which an indicator leaves one index only is the term at that index.",
        "ko": "지시함수가 한 첨자만 남기는 합은 그 첨자에서의 항과 같습니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
