"""The dot product of a centred random query with an independent key has mean zero."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    dot,
    eq,
    expect,
    hyp,
    independent,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    d_k = s.dimension("d_k")
    q, k = s.family("q", d_k, order=1), s.family("k", d_k, order=1)
    s.independent("q", "k")
    s.assume("q_centred", lambda a: eq(expect(q[a]), 0), over={"a": d_k})
    return eq(expect(dot(q, k)), 0)


def proof(p: Proof) -> None:
    d_k, q, k = p["d_k q k"]
    p.line(Sum(d_k, lambda a: expect(q[a] * k[a])), "unfold", "E_lin")
    p.line(Sum(d_k, lambda a: expect(q[a]) * expect(k[a])), independent)
    p.line(Sum(d_k, lambda a: 0 * expect(k[a])), hyp("q_centred"))
    p.line(0, "sum_scale")


def with_itself(s: Scope) -> Claim:
    d_k = s.dimension("d_k")
    q = s.family("q", d_k, order=2, independent=True)
    s.assume("q_centred", lambda a: eq(expect(q[a]), 0), over={"a": d_k})
    return eq(expect(dot(q, q)), 0)


def with_itself_attempt(p: Proof) -> None:
    d_k, q = p["d_k q"]
    p.line(Sum(d_k, lambda a: expect(q[a] * q[a])), "unfold", "E_lin")
    p.line(Sum(d_k, lambda a: expect(q[a]) * expect(q[a])), independent)


THEOREM = Theorem(
    id="qk_mean",
    chapter="scaling",
    title={"en": "Mean of a score", "ko": "점수의 평균"},
    prose={
        "en": "If query and key are independent and the query has mean zero, so has their dot "
        "product. Nothing is assumed about the key's mean, or about how the components of one "
        "vector depend on each other.",
        "ko": "쿼리와 키가 독립이고 쿼리의 평균이 0이면 내적의 평균도 0입니다. 키의 평균이나 한 벡터의 "
        "성분들 사이의 관계에 대해서는 아무것도 가정하지 않습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "It holds for a query with itself",
                "ko": "쿼리 자신과의 내적에도 성립한다는 주장",
            },
            with_itself,
            with_itself_attempt,
            because="may be the same one",
        ),
    ),
    numbers={
        "en": r"Fair signs and $d_k=2$: $q\cdot k$ is $2,0,0,-2$ with equal chances; mean $0$.",
        "ko": r"성분이 $\pm1$이고 $d_k=2$이면 $q\cdot k$는 같은 확률로 $2,0,0,-2$이고, 평균은 $0$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
