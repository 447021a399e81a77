"""With one group, grouped-query attention is multi-query attention."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    flattened,
    lemma,
    pair,
    scores,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.heads.gqa_tied import THEOREM as gqa_tied


def declare(s: Scope) -> None:
    T, H, d, d_v = s.dimensions("T H d_k d_v")
    heads = flattened(1, H)
    s.tensor("Q", heads, T, d)
    K, V = s.tensor("K", T, d), s.tensor("V", T, d_v)
    each_K, each_V = s.tensor("K_rep", heads, T, d), s.tensor("V_rep", heads, T, d_v)
    over: dict[str, Any] = {"g'": 1, "r'": H, "l'": T}
    s.assume(
        "keys", lambda g, r, l, a: eq(each_K[pair(g, r), l, a], K[l, a]), over={**over, "a'": d}
    )
    s.assume(
        "values", lambda g, r, l, e: eq(each_V[pair(g, r), l, e], V[l, e]), over={**over, "e'": d_v}
    )
    s.index("g", 1)
    s.index("r", H)
    s.index("i", T)
    s.index("c", d_v)
    s.uses("dot")


def head(s: Scope | Proof, K: Array, V: Array) -> Expr:
    """Return an output of head r with the given keys and values."""
    T, Q, g, r, i, c = s["T Q g r i c"]
    row = softmax(scores(Q[pair(g, r)], K)[i])
    return Sum(T, lambda j: row[j] * V[j, c])


def statement(s: Scope) -> Claim:
    declare(s)
    K, V, each_K, each_V, g, r = s["K V K_rep V_rep g r"]
    here = pair(g, r)
    return eq(head(s, each_K[here], each_V[here]), head(s, K, V))


def proof(p: Proof) -> None:
    T, H, d, d_v, Q, K, V, g, r, i, c = p["T H d_k d_v Q K V g r i c"]
    each_K, each_V = p["K_rep V_rep"]
    p.line(
        head(p, K, V),
        lemma(
            gqa_tied,
            T=T,
            G=1,
            R=H,
            d_k=d,
            d_v=d_v,
            Q=Q,
            K=array(1, T, d, lambda h, l, a: K[l, a]),
            V=array(1, T, d_v, lambda h, l, e: V[l, e]),
            K_rep=each_K,
            V_rep=each_V,
            g=g,
            r=r,
            i=i,
            c=c,
        ),
    )


def one_output(s: Scope) -> Claim:
    declare(s)
    T, Q, K, V, g, i, c = s["T Q K V g i c"]
    other = s.index("q", s["H"])
    row = softmax(scores(Q[pair(g, other)], K)[i])
    return eq(head(s, K, V), Sum(T, lambda j: row[j] * V[j, c]))


def attempt(p: Proof) -> None:
    T, Q, K, V, g, i, c, other = p["T Q K V g i c q"]
    row = softmax(scores(Q[pair(g, other)], K)[i])
    p.line(Sum(T, lambda j: row[j] * V[j, c]), "unfold")


def shared(rng: Random) -> dict[str, Any]:
    H, T = 2, 2
    K = [[Fraction(rng.randint(-3, 3))] for _ in range(T)]
    V = [[Fraction(rng.randint(-3, 3))] for _ in range(T)]

    def each(rows: list[list[Fraction]]) -> dict[Any, Fraction]:
        return {((1, r), l, 1): rows[l - 1][0] for r in range(1, H + 1) for l in range(1, T + 1)}

    return {"H": H, "T": T, "d_k": 1, "d_v": 1, "K": K, "V": V, "K_rep": each(K), "V_rep": each(V)}


THEOREM = Theorem(
    id="mqa_case",
    chapter="heads",
    title={"en": "Multi-query attention", "ko": "멀티쿼리 어텐션"},
    prose={
        "en": "With a single group every head shares the same keys and values: grouped-query "
        "attention becomes multi-query attention. The heads still differ, because their "
        "queries do.",
        "ko": "그룹이 하나이면 모든 헤드가 같은 키와 밸류를 씁니다. 그룹 쿼리 어텐션이 멀티쿼리 "
        "어텐션이 되는 것입니다. 그래도 쿼리가 다르므로 헤드들의 출력은 서로 다릅니다.",
    },
    parts=(Part(statement, proof, instance=shared),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "All heads then give the same output",
                "ko": "그러면 모든 헤드의 출력이 같다는 주장",
            },
            statement=one_output,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=shared,
        ),
    ),
    numbers={
        "en": r"32 heads, $d_k=d_v=128$: $2\cdot128=256$ cached numbers per token instead of "
        r"$32\cdot256=8192$.",
        "ko": r"헤드가 32개이고 $d_k=d_v=128$이면 토큰마다 캐시하는 수가 $32\cdot256=8192$개에서 "
        r"$2\cdot128=256$개로 줄어듭니다.",
    },
    references=("shazeer2019", "ainslie2023"),
)


if __name__ == "__main__":
    THEOREM.main()
