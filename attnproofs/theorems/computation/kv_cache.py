"""Decoding step by step with a cache gives the rows of the full causal forward pass."""

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
    cache,
    causal_attention,
    dot,
    eq,
    lemma,
    scores,
    softmax,
    sqrt,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.computation.cached_projection import THEOREM as cached_projection
from attnproofs.theorems.masking.causal_row import THEOREM as causal_row


def declare(s: Scope) -> None:
    """Declare tokens, projections, a decoding step t and a feature c."""
    T, d_model, d_k, d_v = s.dimensions("T d_model d_k d_v")
    s.tensor("X", T, d_model)
    s.tensor("W_Q", d_model, d_k)
    s.tensor("W_K", d_model, d_k)
    s.tensor("W_V", d_model, d_v)
    s.index("t", T)
    s.index("c", d_v)


def step(s: Any, K: Array, V: Array) -> Expr:
    """Return the output of decoding step t from what is cached as keys and values."""
    X, W_Q, d_k, t, c = s["X W_Q d_k t c"]
    q = (X @ W_Q)[t]
    row = softmax(array(t, lambda l: dot(q, K[l]) / sqrt(d_k)))
    return Sum(t, lambda j: row[j] * V[j, c])


def full(s: Any) -> Expr:
    """Return the same entry of the full causal forward pass."""
    X, W_Q, W_K, W_V, t, c = s["X W_Q W_K W_V t c"]
    result: Expr = causal_attention(X @ W_Q, X @ W_K, X @ W_V)[t, c]
    return result


def statement(s: Scope) -> Claim:
    declare(s)
    t, X, W_K, W_V = s["t X W_K W_V"]
    return eq(step(s, cache(t, X, W_K), cache(t, X, W_V)), full(s))


def proof(p: Proof) -> None:
    T, t, c, X, W_Q, W_K, W_V = p["T t c X W_Q W_K W_V"]
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    p.line(step(p, K, V), lemma(cached_projection, t=t, T=T))
    row = softmax(array(t, lambda l: scores(Q, K)[t, l]))
    p.line(Sum(t, lambda j: row[j] * V[j, c]), "unfold:scores")
    p.line(full(p), lemma(causal_row, back=True))


def unmasked(s: Scope) -> Claim:
    declare(s)
    T, t, c, X, W_Q, W_K, W_V = s["T t c X W_Q W_K W_V"]
    row = softmax(array(T, lambda l: scores(X @ W_Q, X @ W_K)[t, l]))
    return eq(
        step(s, cache(t, X, W_K), cache(t, X, W_V)), Sum(T, lambda j: row[j] * (X @ W_V)[j, c])
    )


def unmasked_attempt(p: Proof) -> None:
    T, t, c, X, W_Q, W_K, W_V = p["T t c X W_Q W_K W_V"]
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    p.line(step(p, K, V), lemma(cached_projection, t=t, T=T))
    row = softmax(array(T, lambda l: scores(Q, K)[t, l]))
    p.line(Sum(T, lambda j: row[j] * V[j, c]), "unfold:scores")


THEOREM = Theorem(
    id="kv_cache",
    chapter="computation",
    title={"en": "Decoding with a cache", "ko": "캐시를 쓴 디코딩"},
    prose={
        "en": "At step $t$ decoding computes one query, appends one key and one value to the cache, "
        "and attends over what is cached. The output is row $t$ of the full causal pass. Causality "
        "is what makes it work: with no mask, earlier rows would change with every new token.",
        "ko": "디코딩의 $t$단계에서는 쿼리 하나를 구하고, 키와 밸류를 하나씩 캐시에 덧붙인 뒤, 캐시에 담긴 "
        "것에 주목합니다. 그 출력은 전체 인과 순전파의 $t$행과 같습니다. 이것이 가능한 까닭은 인과성에 "
        "있습니다. 마스크가 없으면 새 토큰이 올 때마다 앞의 행이 모두 바뀝니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "It also gives the rows of the pass without a mask",
                "ko": "마스크가 없는 순전파의 행과도 같다는 주장",
            },
            unmasked,
            unmasked_attempt,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$T=2$, zero scores, values $1$ and $5$: step 1 gives $1$, step 2 gives "
        r"$\tfrac12(1+5)=3$, the rows of the causal pass; without a mask both rows are $3$.",
        "ko": r"$T=2$이고 점수가 모두 $0$, 밸류가 $1$, $5$이면 1단계의 출력은 $1$이고 2단계의 출력은 "
        r"$\tfrac12(1+5)=3$이므로 인과 순전파의 행과 같습니다. 마스크가 없으면 두 행이 모두 $3$입니다.",
    },
    references=("pope2022",),
)


if __name__ == "__main__":
    THEOREM.main()
