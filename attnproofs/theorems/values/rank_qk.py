"""The query-key form and the score matrix have rank at most d_k."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, factors, span
from attnproofs.kernel.statement import Claim


def form(s: Scope) -> Claim:
    d_model, d_k = s.dimensions("d_model d_k")
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    i, j = s.index("i", d_model), s.index("j", d_model)
    return factors((W_Q @ W_K.T)[i, j], i, j, through=d_k)


def form_proof(p: Proof) -> None:
    d_k, W_Q, W_K, i, j = p["d_k W_Q W_K i j"]
    p.line(Sum(d_k, lambda a: W_Q[i, a] * W_K[j, a]), "unfold")


def score_matrix(s: Scope) -> Claim:
    T, S, d_k = s.dimensions("T S d_k")
    Q, K = s.tensor("Q", T, d_k), s.tensor("K", S, d_k)
    i, j = s.index("i", T), s.index("j", S)
    return factors((Q @ K.T)[i, j], i, j, through=d_k)


def score_proof(p: Proof) -> None:
    d_k, Q, K, i, j = p["d_k Q K i j"]
    p.line(Sum(d_k, lambda a: Q[i, a] * K[j, a]), "unfold")


def one_less(s: Scope) -> Claim:
    T, S, d_k = s.dimensions("T S d_k")
    Q, K = s.tensor("Q", T, d_k), s.tensor("K", S, d_k)
    i, j = s.index("i", T), s.index("j", S)
    return factors((Q @ K.T)[i, j], i, j, through=span(1, d_k - 1))


THEOREM = Theorem(
    id="rank_qk",
    chapter="values",
    title={"en": "Rank of the scores", "ko": "점수 행렬의 계수"},
    prose={
        "en": "The bilinear form $W_QW_K^\\top$ and every score matrix $QK^\\top$ have rank at most "
        "$d_k$, however long the sequence is. Before softmax, a head with small $d_k$ cannot express "
        "an arbitrary pattern of scores.",
        "ko": r"쌍선형 형식 $W_QW_K^\top$와 점수 행렬 $QK^\top$의 계수(rank)는 수열의 길이와 "
        r"관계없이 $d_k$ 이하입니다. 소프트맥스를 적용하기 전의 점수로는, $d_k$가 작은 헤드가 "
        r"임의의 점수 패턴을 나타낼 수 없습니다.",
    },
    parts=(
        Part(form, form_proof),
        Part(
            score_matrix,
            score_proof,
            name="scores",
            title={"en": "Score matrix", "ko": "점수 행렬"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The rank is at most $d_k-1$", "ko": "계수가 $d_k-1$ 이하라는 주장"},
            one_less,
            score_proof,
            because="the inner size is not the one that is claimed",
        ),
    ),
    numbers={
        "en": r"$d_k=1$, $q=(1,2,3)^\top$, $k=(1,1,2)^\top$: the rows $(1,1,2)$, $(2,2,4)$, $(3,3,6)$ of "
        r"$QK^\top$ are multiples of one another; rank $1$.",
        "ko": r"$d_k=1$, $q=(1,2,3)^\top$, $k=(1,1,2)^\top$이면 $QK^\top$의 행 $(1,1,2)$, $(2,2,4)$, "
        r"$(3,3,6)$은 서로 배수이므로 계수는 $1$입니다.",
    },
    references=("elhage2021",),
)


if __name__ == "__main__":
    THEOREM.main()
