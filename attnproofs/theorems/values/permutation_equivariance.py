"""Without a mask, permuting the tokens permutes the outputs."""

from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    causal_attention,
    eq,
    ind,
    lemma,
    reindex,
    scores,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_permutation import THEOREM as softmax_permutation


def declare(s: Scope) -> None:
    T, d, d_v = s.dimensions("T d_k d_v")
    order, back = s.function("π", T, into=T), s.function("ρ", T, into=T)
    s.assume("left_inverse", lambda l: back(order(l)).is_(l), over={"l": T})
    s.assume("right_inverse", lambda l: order(back(l)).is_(l), over={"l": T})
    s.tensor("Q", T, d)
    s.tensor("K", T, d)
    s.tensor("V", T, d_v)
    s.index("i", T)
    s.index("c", d_v)


def permuted(s: Scope | Proof, name: str) -> Array:
    T, order, X = s[f"T π {name}"]
    width = s["d_v"] if name == "V" else s["d_k"]
    return array(T, width, lambda l, a: X[order(l), a])


def attention(Q: Array, K: Array, V: Array, i: Ix, c: Ix) -> Expr:
    """Return entry c of the output of token i, without a mask."""
    return Sum(K.size(0), lambda j: softmax(scores(Q, K)[i])[j] * V[j, c])


def statement(s: Scope) -> Claim:
    declare(s)
    Q, K, V, order, i, c = s["Q K V π i c"]
    s.uses("dot")
    moved = attention(permuted(s, "Q"), permuted(s, "K"), permuted(s, "V"), i, c)
    return eq(moved, attention(Q, K, V, order(i), c))


def proof(p: Proof) -> None:
    T, Q, K, V, order, back, i, c = p["T Q K V π ρ i c"]
    S = scores(Q, K)[order(i)]
    p.line(
        Sum(T, lambda j: softmax(array(T, lambda l: S[order(l)]))[j] * V[order(j), c]),
        "unfold:scores",
    )
    p.line(
        Sum(T, lambda j: softmax(S)[order(j)] * V[order(j), c]),
        lemma(softmax_permutation, n=T, s=S, within=lambda j: {"i": j}),
    )
    p.line(Sum(T, lambda j: softmax(S)[j] * V[j, c]), reindex(order, back))


def keys(s: Scope) -> Claim:
    declare(s)
    Q, K, V, i, c = s["Q K V i c"]
    s.uses("dot")
    moved = attention(Q, permuted(s, "K"), permuted(s, "V"), i, c)
    return eq(moved, attention(Q, K, V, i, c))


def proof_keys(p: Proof) -> None:
    T, Q, K, V, order, back, i, c = p["T Q K V π ρ i c"]
    S = scores(Q, K)[i]
    p.line(
        Sum(T, lambda j: softmax(array(T, lambda l: S[order(l)]))[j] * V[order(j), c]),
        "unfold:scores",
    )
    p.line(
        Sum(T, lambda j: softmax(S)[order(j)] * V[order(j), c]),
        lemma(softmax_permutation, n=T, s=S, within=lambda j: {"i": j}),
    )
    p.line(Sum(T, lambda j: softmax(S)[j] * V[j, c]), reindex(order, back))


def causal(s: Scope) -> Claim:
    declare(s)
    Q, K, V, order, i, c = s["Q K V π i c"]
    moved = causal_attention(permuted(s, "Q"), permuted(s, "K"), permuted(s, "V"))
    return eq(moved[i, c], causal_attention(Q, K, V)[order(i), c])


def attempt(p: Proof) -> None:
    T, Q, K, V, order, _back, i, c = p["T Q K V π ρ i c"]
    S = scores(Q, K)[order(i)]
    kept = array(T, lambda l: ind(l <= i))
    p.line(
        Sum(
            T,
            lambda j: weights(kept, array(T, lambda l: S[order(l)]))[j] * V[order(j), c],
        ),
        "unfold:causal_attention",
        "unfold:scores",
    )
    p.line(causal_attention(Q, K, V)[order(i), c], "unfold")


def permutation(rng: Random) -> dict[str, Any]:
    T = rng.randint(2, 3)
    values = rng.sample(range(1, T + 1), T)
    return {"T": T, "π": values, "ρ": [values.index(l) + 1 for l in range(1, T + 1)]}


THEOREM = Theorem(
    id="permutation_equivariance",
    chapter="values",
    title={"en": "Attention does not see order", "ko": "어텐션은 순서를 보지 못한다"},
    prose={
        "en": "Without a mask and without positions, listing the tokens in another order gives "
        "the same outputs in that order; and permuting keys together with their values changes "
        "nothing at all. Attention treats its input as a multiset, which is why positions have "
        "to be added. A causal mask breaks this symmetry.",
        "ko": "마스크와 위치 정보가 없으면 토큰을 다른 순서로 늘어놓아도 출력이 그 순서로 나올 "
        "뿐이며, 키와 밸류를 함께 섞어도 아무것도 변하지 않습니다. 어텐션은 입력을 다중집합으로 "
        "다루므로 위치 정보를 따로 더해야 합니다. 인과 마스크는 이 대칭을 깹니다.",
    },
    parts=(
        Part(statement, proof, instance=permutation),
        Part(
            keys,
            proof_keys,
            name="keys",
            title={
                "en": "Permuting keys together with values changes nothing",
                "ko": "키와 밸류를 함께 섞어도 아무것도 변하지 않는다",
            },
            instance=permutation,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "The same with a causal mask", "ko": "인과 마스크가 있어도 같다는 주장"},
            statement=causal,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=permutation,
        ),
    ),
    numbers={
        "en": r"Zero scores, $V=(1,2,3)$ or $V=(3,1,2)$: every output is $2$. With a causal "
        r"mask $(1,1.5,2)$ and $(3,2,2)$.",
        "ko": r"점수가 모두 0이면 $V=(1,2,3)$이든 $V=(3,1,2)$이든 출력은 모두 $2$입니다. "
        r"인과 마스크가 있으면 $(1,1.5,2)$와 $(3,2,2)$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
