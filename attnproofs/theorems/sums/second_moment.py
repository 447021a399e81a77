"""Independent centred components of unit second moment: E q_i q_j is 1 if i = j, else 0."""

from attnproofs.calculus import (
    Part,
    Proof,
    Scope,
    Theorem,
    eq,
    expect,
    hyp,
    ind,
    independent,
    ixeq,
    via,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    d = s.dimension("d")
    q = s.family("q", d, order=2, independent=True)
    s.assume("centred", lambda a: eq(expect(q[a]), 0), over={"a": d})
    s.assume("unit", lambda a: eq(expect(q[a] * q[a]), 1), over={"a": d})
    i, j = s.index("i", d), s.index("j", d)
    return eq(expect(q[i] * q[j]), ind(j.is_(i)))


def proof(p: Proof) -> None:
    q, i, j = p["q i j"]
    one, other = ind(j.is_(i)), ind(~j.is_(i))
    p.line(one * expect(q[i] * q[j]) + other * expect(q[i] * q[j]), "ind_bool")
    p.line(
        one * expect(q[i] * q[i]) + other * (expect(q[i]) * expect(q[j])),
        via(one * expect(q[i] * q[i]) + other * expect(q[i] * q[j]), ixeq),
        independent,
    )
    p.line(one * 1 + other * (0 * 0), hyp("centred"), hyp("unit"))
    p.line(one, "ring")


THEOREM = Theorem(
    id="second_moment",
    chapter="sums",
    title={"en": "Second moments of independent components", "ko": "독립인 성분의 이차 적률"},
    prose={
        "en": "For independent components with mean 0 and second moment 1, the mean of a product "
        "of two components is 1 if they are the same one and 0 otherwise.",
        "ko": "성분이 서로 독립이고 평균이 0, 이차 적률이 1이면, 두 성분의 곱의 기댓값은 "
        "같은 성분일 때 1, 다른 성분일 때 0입니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
