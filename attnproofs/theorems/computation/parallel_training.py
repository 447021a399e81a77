"""Row i of the causal pass on T tokens is the last row of the pass on the first i tokens."""

from attnproofs.calculus import (
    Array,
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
    lemma,
    scores,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.masking.causal_row import THEOREM as causal_row


def declare(s: Scope) -> None:
    """Declare queries, keys and values, a row i and a feature c."""
    T, d_k, d_v = s.dimensions("T d_k d_v")
    s.tensor("Q", T, d_k)
    s.tensor("K", T, d_k)
    s.tensor("V", T, d_v)
    s.index("i", T)
    s.index("c", d_v)
    s.uses("softmax")


def first(i: Ix, A: Array) -> Array:
    """Return the first i rows of a matrix."""
    return array(i, A.size(1), lambda j, a: A[j, a])


def statement(s: Scope) -> Claim:
    declare(s)
    Q, K, V, i, c = s["Q K V i c"]
    return eq(
        causal_attention(Q, K, V)[i, c],
        causal_attention(first(i, Q), first(i, K), first(i, V))[i, c],
    )


def proof(p: Proof) -> None:
    Q, K, V, i, c = p["Q K V i c"]
    row = softmax(array(i, lambda l: scores(Q, K)[i, l]))
    p.line(Sum(i, lambda j: row[j] * V[j, c]), lemma(causal_row))
    p.line(
        causal_attention(first(i, Q), first(i, K), first(i, V))[i, c],
        lemma(causal_row, back=True),
        "unfold:scores",
    )


def unmasked(s: Scope) -> Claim:
    declare(s)
    T, Q, K, V, i, c = s["T Q K V i c"]
    whole = softmax(array(T, lambda l: scores(Q, K)[i, l]))
    short = softmax(array(i, lambda l: scores(Q, K)[i, l]))
    return eq(Sum(T, lambda j: whole[j] * V[j, c]), Sum(i, lambda j: short[j] * V[j, c]))


THEOREM = Theorem(
    id="parallel_training",
    chapter="computation",
    title={"en": "All prefixes are trained at once", "ko": "모든 접두열을 한꺼번에 학습"},
    prose={
        "en": "Because nothing flows back from later tokens, one causal pass over $T$ tokens computes "
        "what $T$ separate passes over the prefixes would: row $i$ is the last row of the pass on the "
        "first $i$ tokens. This is why every position of a training sequence gives a prediction.",
        "ko": "뒤의 토큰에서 앞으로 흐르는 것이 없으므로, 토큰 $T$개에 대한 한 번의 인과 순전파는 접두열 "
        "$T$개를 따로 순전파한 것과 같습니다. 곧 $i$행은 앞의 $i$개 토큰에 대한 순전파의 마지막 행입니다. "
        "학습할 때 모든 위치에서 한꺼번에 예측을 얻을 수 있는 까닭입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The same without a mask", "ko": "마스크가 없어도 같다는 주장"},
            unmasked,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$V=(2,4,9)$, zero scores: the causal rows are $2,3,5$; the pass on the first two "
        r"tokens gives $2,3$.",
        "ko": r"$V=(2,4,9)$이고 점수가 모두 $0$이면 인과 순전파의 행은 $2,3,5$이고, 앞의 두 토큰만 "
        r"순전파하면 $2,3$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
