"""Grouped-query attention is multi-head attention with keys and values repeated in each group."""

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
    hyp,
    pair,
    scores,
    softmax,
    sqrt,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, G, R, d, d_v = s.dimensions("T G R d_k d_v")
    heads = flattened(G, R)
    s.tensor("Q", heads, T, d)
    K, V = s.tensor("K", G, T, d), s.tensor("V", G, T, d_v)
    each_K, each_V = s.tensor("K_rep", heads, T, d), s.tensor("V_rep", heads, T, d_v)
    over = {"g'": G, "r'": R, "l'": T}
    s.assume(
        "keys", lambda g, r, l, a: eq(each_K[pair(g, r), l, a], K[g, l, a]), over={**over, "a'": d}
    )
    s.assume(
        "values",
        lambda g, r, l, e: eq(each_V[pair(g, r), l, e], V[g, l, e]),
        over={**over, "e'": d_v},
    )
    s.index("g", G)
    s.index("r", R)
    s.index("i", T)
    s.index("c", d_v)


def head(s: Scope | Proof, K: Array, V: Array) -> Expr:
    """Return an output of head (g, r) with the given keys and values."""
    T, Q, g, r, i, c = s["T Q g r i c"]
    row = softmax(scores(Q[pair(g, r)], K)[i])
    return Sum(T, lambda j: row[j] * V[j, c])


def statement(s: Scope) -> Claim:
    declare(s)
    K, V, each_K, each_V, g, r = s["K V K_rep V_rep g r"]
    here = pair(g, r)
    return eq(head(s, each_K[here], each_V[here]), head(s, K[g], V[g]))


def proof(p: Proof) -> None:
    T, d, Q, K, V, each_V, g, r, i, c = p["T d_k Q K V V_rep g r i c"]
    each_K = p["K_rep"]
    here = pair(g, r)

    def written(K: Array, V: Array) -> Expr:
        row = softmax(array(T, lambda l: Sum(d, lambda a: Q[here, i, a] * K[l, a]) / sqrt(d)))
        return Sum(T, lambda j: row[j] * V[j, c])

    p.line(written(each_K[here], each_V[here]), "unfold:scores", "unfold:dot")
    p.line(written(K[g], V[g]), hyp("keys"), hyp("values"))
    p.line(head(p, K[g], V[g]), "unfold:scores", "unfold:dot")


def tiled(s: Scope) -> Claim:
    T, G, d, d_v = s.dimensions("T G d_k d_v")
    heads = flattened(G, G)
    s.tensor("Q", heads, T, d)
    K, V = s.tensor("K", G, T, d), s.tensor("V", G, T, d_v)
    each_K, each_V = s.tensor("K_rep", heads, T, d), s.tensor("V_rep", heads, T, d_v)
    over = {"g'": G, "r'": G, "l'": T}
    s.assume(
        "keys", lambda g, r, l, a: eq(each_K[pair(g, r), l, a], K[g, l, a]), over={**over, "a'": d}
    )
    s.assume(
        "values",
        lambda g, r, l, e: eq(each_V[pair(g, r), l, e], V[g, l, e]),
        over={**over, "e'": d_v},
    )
    g, r = s.index("g", G), s.index("r", G)
    s.index("i", T)
    s.index("c", d_v)
    here = pair(g, r)
    return eq(head(s, each_K[here], each_V[here]), head(s, K[r], V[r]))


def attempt(p: Proof) -> None:
    K, V, r = p["K V r"]
    p.line(head(p, K[r], V[r]), hyp("values"), "unfold")


def repeated(G: int, R: int, T: int, width: int, rng: Random) -> tuple[Any, Any]:
    """Return values for each group, and the same repeated for the heads of the group."""
    single = {
        (g, l, a): Fraction(rng.randint(-3, 3))
        for g in range(1, G + 1)
        for l in range(1, T + 1)
        for a in range(1, width + 1)
    }
    each = {((g, r), l, a): x for (g, l, a), x in single.items() for r in range(1, R + 1)}
    return single, each


def grouped(rng: Random, T: int = 2) -> dict[str, Any]:
    G, R, d, d_v = 2, 2, 1, 1
    K, each_K = repeated(G, R, T, d, rng)
    V, each_V = repeated(G, R, T, d_v, rng)
    return {"G": G, "R": R, "T": T, "d_k": d, "d_v": d_v, "K": K, "V": V, "K_rep": each_K,
            "V_rep": each_V}  # fmt: skip


def one_token(rng: Random) -> dict[str, Any]:
    return grouped(rng, T=1)


THEOREM = Theorem(
    id="gqa_tied",
    chapter="heads",
    title={"en": "Grouped queries", "ko": "그룹 쿼리"},
    prose={
        "en": "Grouped-query attention keeps one set of keys and values for each group of $R$ "
        "consecutive heads. It is multi-head attention in which the keys and values of a group "
        "are repeated for each of its heads: head $(g,r)$ uses those of group $g$, not of "
        "group $r$. Repeating in blocks and tiling are different layouts, and mixing them up "
        "pairs queries with the keys of another group.",
        "ko": "그룹 쿼리 어텐션은 연속한 헤드 $R$개의 그룹마다 키와 밸류를 하나씩만 둡니다. "
        "이는 그룹의 키와 밸류를 그 그룹의 헤드마다 되풀이한 멀티헤드 어텐션과 같습니다. 헤드 "
        "$(g,r)$은 그룹 $r$이 아니라 그룹 $g$의 것을 씁니다. 블록 단위로 되풀이하는 것과 "
        "통째로 이어 붙이는 것은 다른 배치이며, 둘을 혼동하면 쿼리가 다른 그룹의 키와 "
        "짝지어집니다.",
    },
    parts=(Part(statement, proof, instance=grouped),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Head $(g,r)$ uses the keys and values of group $r$ (tiled)",
                "ko": "통째로 이어 붙일 때처럼 헤드 $(g,r)$이 그룹 $r$의 키와 밸류를 쓴다는 주장",
            },
            statement=tiled,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=one_token,
        ),
    ),
    numbers={
        "en": r"8 heads in 2 groups: heads 1 to 4 use group 1, heads 5 to 8 group 2; tiled it "
        r"would be $1,2,1,2,\dots$",
        "ko": r"헤드 8개를 두 그룹으로 나누면 헤드 1–4는 그룹 1, 헤드 5–8은 그룹 2를 씁니다. "
        r"이어 붙이면 $1,2,1,2,\dots$가 됩니다.",
    },
    references=("ainslie2023",),
)


if __name__ == "__main__":
    THEOREM.main()
