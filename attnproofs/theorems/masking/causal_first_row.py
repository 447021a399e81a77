"""Under a causal mask the first token attends to itself only."""

from attnproofs.calculus import (
    FalseNeighbour,
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
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.masking.causal_row import THEOREM as causal_row
from attnproofs.theorems.sums.cut import THEOREM as cut


def statement(s: Scope) -> Claim:
    T = s.dimension("T")
    S = s.tensor("S", T, T)
    return eq(weights(array(T, lambda l: ind(l <= 1)), S[1])[1], 1)


def proof(p: Proof) -> None:
    T, S = p["T S"]
    p.line(exp(S[1, 1]) / Sum(T, lambda l: ind(l <= 1) * exp(S[1, l])), "unfold", "ind_val")
    p.line(exp(S[1, 1]) / Sum(1, lambda l: exp(S[1, l])), lemma(cut, i=1))
    p.line(exp(S[1, 1]) / exp(S[1, 1]), "sum_single")
    p.line(1, "ring")


def output(s: Scope) -> Claim:
    s.uses("softmax")
    T, d, d_v = s.dimensions("T d d_v")
    Q, K, V = s.tensor("Q", T, d), s.tensor("K", T, d), s.tensor("V", T, d_v)
    c = s.index("c", d_v)
    return eq(causal_attention(Q, K, V)[1, c], V[1, c])


def proof_output(p: Proof) -> None:
    Q, K, V, c = p["Q K V c"]
    first = array(1, lambda l: scores(Q, K)[1, l])
    p.line(Sum(1, lambda j: softmax(first)[j] * V[j, c]), lemma(causal_row, i=1))
    p.line(exp(first[1]) / exp(first[1]) * V[1, c], "sum_single", "unfold:softmax")
    p.line(V[1, c], "ring")


def strict(s: Scope) -> Claim:
    T = s.dimension("T")
    S = s.tensor("S", T, T)
    return eq(weights(array(T, lambda l: ind(l < 1)), S[1])[1], 1)


def attempt(p: Proof) -> None:
    p.line(0, "unfold", "ind_val")
    p.line(1, "ring")


THEOREM = Theorem(
    id="causal_first_row",
    chapter="masking",
    title={"en": "The first row of causal attention", "ko": "인과 어텐션의 첫 행"},
    prose={
        "en": "The first token has nothing before it, so all of its weight is on itself and "
        "its output is its own value, whatever the scores are. The row of weights starts with "
        "1 and continues with zeros.",
        "ko": "첫 토큰 앞에는 아무것도 없으므로 가중치는 모두 자기 자신에게 가고, 점수와 "
        "관계없이 출력은 자기 밸류와 같습니다. 가중치의 첫 행은 1로 시작하고 나머지는 0입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            output,
            proof_output,
            name="output",
            title={"en": "Its output is its own value", "ko": "출력은 자기 밸류이다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The same with a strict mask, which removes the diagonal",
                "ko": "대각까지 지우는 엄격한 마스크에서도 같다는 주장",
            },
            statement=strict,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$T=3$, all scores 0: rows $(1,0,0)$, $(\frac12,\frac12,0)$, "
        r"$(\frac13,\frac13,\frac13)$.",
        "ko": r"$T=3$이고 점수가 모두 0이면 각 행은 $(1,0,0)$, $(\frac12,\frac12,0)$, "
        r"$(\frac13,\frac13,\frac13)$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
