"""Cross-attention: queries from the target, keys and values from the source."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    ind,
    lemma,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.notation.score_bilinear import THEOREM as score_bilinear
from attnproofs.theorems.values.ov_circuit import THEOREM as ov_circuit


def sums(s: Scope) -> Claim:
    T_t, T_s = s.dimensions("T_t T_s")
    S = s.tensor("S", T_t, T_s)
    keep = s.predicate("keep", T_t, T_s)
    s.kept(keep)
    i = s.index("i", T_t)
    row = weights(array(T_s, lambda l: ind(keep(i, l))), S[i])
    return eq(Sum(T_s, lambda j: row[j]), 1)


def sums_proof(p: Proof) -> None:
    T_s, S, keep, i = p["T_s S keep i"]
    Z = Sum(T_s, lambda l: ind(keep(i, l)) * exp(S[i, l]))
    p.line(Sum(T_s, lambda j: ind(keep(i, j)) * exp(S[i, j]) / Z), "unfold")
    p.line(Z / Z, "sum_scale")
    p.line(1, "ring")


def scores(s: Scope) -> Claim:
    T_t, T_s, d_model, d_k = s.dimensions("T_t T_s d_model d_k")
    X, Y = s.tensor("X_t", T_t, d_model), s.tensor("X_s", T_s, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    i, j = s.index("i", T_t), s.index("j", T_s)
    return eq(((X @ W_Q) @ (Y @ W_K).T)[i, j], ((X @ (W_Q @ W_K.T)) @ Y.T)[i, j])


def scores_proof(p: Proof) -> None:
    X, Y, W_Q, W_K, i, j = p["X_t X_s W_Q W_K i j"]
    p.line(((X @ (W_Q @ W_K.T)) @ Y.T)[i, j], lemma(score_bilinear))


def output(s: Scope) -> Claim:
    T_t, T_s, d_model, d_v = s.dimensions("T_t T_s d_model d_v")
    A, Y = s.tensor("A", T_t, T_s), s.tensor("X_s", T_s, d_model)
    W_V, W_O = s.tensor("W_V", d_model, d_v), s.tensor("W_O", d_v, d_model)
    i, m = s.index("i", T_t), s.index("m", d_model)
    return eq(((A @ (Y @ W_V)) @ W_O)[i, m], ((A @ Y) @ (W_V @ W_O))[i, m])


def output_proof(p: Proof) -> None:
    A, Y, W_V, W_O, i, m = p["A X_s W_V W_O i m"]
    p.line(((A @ Y) @ (W_V @ W_O))[i, m], lemma(ov_circuit))


def values_from_target(s: Scope) -> Claim:
    T_t, T_s, d_model, d_v = s.dimensions("T_t T_s d_model d_v")
    A, X = s.tensor("A", T_t, T_s), s.tensor("X_t", T_t, d_model)
    Y = s.tensor("X_s", T_s, d_model)
    W_V = s.tensor("W_V", d_model, d_v)
    i, c = s.index("i", T_t), s.index("c", d_v)
    return eq((A @ (X @ W_V))[i, c], (A @ (Y @ W_V))[i, c])


THEOREM = Theorem(
    id="cross_attention",
    chapter="values",
    title={"en": "Cross-attention", "ko": "교차 어텐션"},
    prose={
        "en": "Queries come from a target sequence of length $T_t$, keys and values from a source of "
        "length $T_s$. Rows of weights still sum to one, scores are the same bilinear form, and the "
        "output-value circuit is unchanged; self-attention is the case $X_t=X_s$. Weights are "
        "$T_t\\times T_s$, so values taken from the target do not even fit.",
        "ko": r"쿼리는 길이 $T_t$인 타깃 수열에서, 키와 밸류는 길이 $T_s$인 소스 수열에서 "
        r"옵니다. 이때에도 가중치의 각 행은 합이 1이고, 점수는 같은 쌍선형 형식이며, 출력-밸류 "
        r"회로도 그대로입니다. $X_t=X_s$이면 셀프 어텐션입니다. 가중치의 모양이 $T_t\times "
        r"T_s$이므로 밸류를 타깃 수열에서 가져오면 모양부터 맞지 않습니다.",
    },
    parts=(
        Part(sums, sums_proof),
        Part(scores, scores_proof, name="scores", title={"en": "Scores", "ko": "점수"}),
        Part(output, output_proof, name="output", title={"en": "Outputs", "ko": "출력"}),
    ),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The values may come from the target",
                "ko": "밸류를 타깃 수열에서 가져와도 된다는 주장",
            },
            values_from_target,
            because="out of range",
        ),
    ),
    numbers={
        "en": r"$T_t=1$, $T_s=2$, scores $(0,\ln3)$: weights $\tfrac14,\tfrac34$, which sum to $1$.",
        "ko": r"$T_t=1$, $T_s=2$이고 점수가 $(0,\ln3)$이면 가중치는 $\tfrac14,\tfrac34$이고 합은 "
        r"$1$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
