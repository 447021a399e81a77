"""A row of causal attention is plain attention on the tokens up to that row."""

from attnproofs.calculus import (
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    causal_attention,
    eq,
    exp,
    ind,
    lemma,
    scores,
    softmax,
    unfold,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.cut import THEOREM as cut


def statement(s: Scope) -> Claim:
    T, d, d_v = s.dimensions("T d d_v")
    Q, K, V = s.tensor("Q", T, d), s.tensor("K", T, d), s.tensor("V", T, d_v)
    i, c = s.index("i", T), s.index("c", d_v)
    w = softmax(array(i, lambda l: scores(Q, K)[i, l]))
    return eq(causal_attention(Q, K, V)[i, c], Sum(i, lambda j: w[j] * V[j, c]))


def proof(p: Proof) -> None:
    T, Q, K, V, i, c = p["T Q K V i c"]
    S = scores(Q, K)
    Z = Sum(T, lambda l: ind(l <= i) * exp(S[i, l]))
    short = Sum(i, lambda l: exp(S[i, l]))
    p.line(
        Sum(T, lambda j: ind(j <= i) * (exp(S[i, j]) / Z * V[j, c])),
        unfold("causal_attention", "weights"),
    )
    p.line(
        Sum(T, lambda j: ind(j <= i) * (exp(S[i, j]) / short * V[j, c])),
        lemma(cut, i=i, T=T, f=array(T, lambda l: exp(S[i, l]))),
    )
    p.line(
        Sum(i, lambda j: exp(S[i, j]) / short * V[j, c]),
        lemma(cut, i=i, T=T, f=array(T, lambda j: exp(S[i, j]) / short * V[j, c])),
    )
    p.line(
        Sum(i, lambda j: softmax(array(i, lambda l: S[i, l]))[j] * V[j, c]),
        "unfold:softmax",
    )


THEOREM = Theorem(
    id="causal_row",
    chapter="masking",
    title={"en": "A row of causal attention", "ko": "인과 어텐션의 한 행"},
    prose={
        "en": "Row $i$ of causal attention on $T$ tokens is the last row of unmasked attention "
        "on the first $i$ tokens: $T$ does not occur in it.",
        "ko": "토큰 $T$개에 대한 인과 어텐션의 $i$행은 앞의 $i$개 토큰에 대한 마스크 없는 "
        "어텐션의 마지막 행과 같으며, $T$는 나타나지 않습니다.",
    },
    parts=(Part(statement, proof),),
    references=("vaswani2017",),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
