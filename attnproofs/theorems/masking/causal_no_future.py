"""Causal attention at token i does not depend on later tokens."""

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
    dot,
    eq,
    exp,
    ind,
    lemma,
    scores,
    softmax,
    sqrt,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.masking.causal_row import THEOREM as causal_row
from attnproofs.theorems.masking.projection_agrees import THEOREM as projection_agrees


def declare(s: Scope) -> None:
    T, D, d, d_v = s.dimensions("T d_model d d_v")
    s.tensor("X", T, D)
    s.tensor("Y", T, D)
    s.tensor("W_Q", D, d)
    s.tensor("W_K", D, d)
    s.tensor("W_V", D, d_v)
    s.index("i", T)
    s.index("c", d_v)
    s.uses("softmax")


def agree_until(s: Scope, last: Ix) -> None:
    X, Y, D = s["X Y d_model"]
    s.assume("agree", lambda j, m: eq(X[j, m], Y[j, m]), over={"j'": last, "m'": D})


def output(s: Scope | Proof, X: Array) -> Expr:
    W_Q, W_K, W_V, i, c = s["W_Q W_K W_V i c"]
    result: Expr = causal_attention(X @ W_Q, X @ W_K, X @ W_V)[i, c]
    return result


def statement(s: Scope) -> Claim:
    declare(s)
    agree_until(s, s["i"])
    return eq(output(s, s["X"]), output(s, s["Y"]))


def proof(p: Proof) -> None:
    X, Y, W_Q, W_K, W_V, d, i, c = p["X Y W_Q W_K W_V d i c"]

    def line(Q: Array, K: Array, V: Array) -> Expr:
        row = softmax(array(i, lambda l: dot(Q[i], K[l]) / sqrt(d)))
        return Sum(i, lambda j: row[j] * V[j, c])

    p.line(line(X @ W_Q, X @ W_K, X @ W_V), lemma(causal_row), "unfold:scores")
    p.line(line(X @ W_Q, X @ W_K, Y @ W_V), lemma(projection_agrees, i=i, X=X, Y=Y, W=W_V))
    p.line(line(X @ W_Q, Y @ W_K, Y @ W_V), lemma(projection_agrees, i=i, X=X, Y=Y, W=W_K))
    p.line(line(Y @ W_Q, Y @ W_K, Y @ W_V), lemma(projection_agrees, i=i, X=X, Y=Y, W=W_Q))
    p.line(output(p, Y), lemma(causal_row, back=True), "unfold:scores")


def present(s: Scope) -> Claim:
    declare(s)
    agree_until(s, s["i"] - 1)
    return eq(output(s, s["X"]), output(s, s["Y"]))


def attempt_present(p: Proof) -> None:
    X, Y, W_V, i, c = p["X Y W_V i c"]
    W_Q, W_K = p["W_Q W_K"]
    row = softmax(array(i, lambda l: scores(X @ W_Q, X @ W_K)[i, l]))
    p.line(Sum(i, lambda j: row[j] * (X @ W_V)[j, c]), lemma(causal_row))
    p.line(
        Sum(i, lambda j: row[j] * (Y @ W_V)[j, c]),
        lemma(projection_agrees, i=i, X=X, Y=Y, W=W_V),
    )


def unmasked(s: Scope) -> Claim:
    declare(s)
    agree_until(s, s["i"])
    T, X, Y, W_Q, W_K, W_V, i, c = s["T X Y W_Q W_K W_V i c"]

    def plain(Z: Array) -> Expr:
        row = softmax(array(T, lambda l: scores(Z @ W_Q, Z @ W_K)[i, l]))
        return Sum(T, lambda j: row[j] * (Z @ W_V)[j, c])

    return eq(plain(X), plain(Y))


def attempt_unmasked(p: Proof) -> None:
    T, X, Y, W_Q, W_K, W_V, i, c = p["T X Y W_Q W_K W_V i c"]
    row = softmax(array(T, lambda l: scores(X @ W_Q, X @ W_K)[i, l]))
    p.line(
        Sum(T, lambda j: row[j] * (Y @ W_V)[j, c]),
        lemma(projection_agrees, i=i, X=X, Y=Y, W=W_V),
    )


def strict(s: Scope) -> Claim:
    T = s.dimension("T")
    S = s.tensor("S", T, T)
    i = s.index("i", T)
    row = weights(array(T, lambda l: ind(l < i)), S[i])
    return eq(Sum(T, lambda j: row[j]), 1)


def attempt_strict(p: Proof) -> None:
    T, S, i = p["T S i"]
    Z = Sum(T, lambda l: ind(l < i) * exp(S[i, l]))
    p.line(Z / Z, "unfold", "sum_scale")
    p.line(1, "ring")


THEOREM = Theorem(
    id="causal_no_future",
    chapter="masking",
    title={"en": "Causality", "ko": "인과성"},
    prose={
        "en": r"If two inputs agree on tokens $1,\dots,i$, their causal outputs agree at token "
        r"$i$: what comes later reaches it neither through the scores nor through the values. "
        r"This is what allows all positions to be trained at once, and keys and values to be "
        r"cached when decoding.",
        "ko": "두 입력이 1번부터 $i$번 토큰까지 같으면 $i$번 토큰의 인과 어텐션 출력도 "
        "같습니다. 뒤에 오는 것은 점수로도 밸류로도 영향을 주지 못합니다. 모든 위치를 "
        "한꺼번에 학습할 수 있고, 디코딩할 때 키와 밸류를 캐시에 남겨 둘 수 있는 것은 이 성질 "
        "덕분입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "It does not depend on the token itself either: agreement before $i$ is "
                "enough",
                "ko": "자기 토큰에도 의존하지 않으므로 $i$ 앞까지만 같으면 충분하다는 주장",
            },
            statement=present,
            attempt=attempt_present,
            because="lemma projection_agrees needs its hypothesis agree",
        ),
        FalseNeighbour(
            title={"en": "The same without a mask", "ko": "마스크가 없어도 같다는 주장"},
            statement=unmasked,
            attempt=attempt_unmasked,
            because="out of range",
        ),
        FalseNeighbour(
            title={
                "en": "A strict mask ($j<i$) does as well: its weights sum to one in every row",
                "ko": "엄격한 마스크($j<i$)를 써도 모든 행에서 가중치의 합이 1이라는 주장",
            },
            statement=strict,
            attempt=attempt_strict,
            because="a divisor may be zero",
        ),
    ),
    numbers={
        "en": r"$T=3$, $V=(1,2,3)$, zero scores: $O=(1,\ 1.5,\ 2)$; with $V=(1,2,300)$: "
        r"$O=(1,\ 1.5,\ 101)$.",
        "ko": r"$T=3$, $V=(1,2,3)$이고 점수가 0이면 $O=(1,\ 1.5,\ 2)$이고, $V=(1,2,300)$이면 "
        r"$O=(1,\ 1.5,\ 101)$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
