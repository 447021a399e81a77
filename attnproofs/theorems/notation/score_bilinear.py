"""Scores are a bilinear form in the tokens: the query-key circuit."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Theorem, eq, lemma
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.notation.transpose_product import THEOREM as transpose_product
from attnproofs.theorems.sums.mm_assoc import THEOREM as mm_assoc


def statement(s: Scope) -> Claim:
    T, S, d_model, d_k = s.dimensions("T S d_model d_k")
    X, Y = s.tensor("X", T, d_model), s.tensor("Y", S, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    i, j = s.index("i", T), s.index("j", S)
    return eq(((X @ W_Q) @ (Y @ W_K).T)[i, j], ((X @ (W_Q @ W_K.T)) @ Y.T)[i, j])


def proof(p: Proof) -> None:
    X, Y, W_Q, W_K, i, j = p["X Y W_Q W_K i j"]
    p.line(((X @ W_Q) @ (W_K.T @ Y.T))[i, j], lemma(transpose_product))
    p.line((((X @ W_Q) @ W_K.T) @ Y.T)[i, j], lemma(mm_assoc, back=True))
    p.line(((X @ (W_Q @ W_K.T)) @ Y.T)[i, j], lemma(mm_assoc, only=1))


def swapped(s: Scope) -> Claim:
    T, S, d_model, d_k = s.dimensions("T S d_model d_k")
    X, Y = s.tensor("X", T, d_model), s.tensor("Y", S, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    i, j = s.index("i", T), s.index("j", S)
    return eq(((X @ W_Q) @ (Y @ W_K).T)[i, j], ((X @ (W_K @ W_Q.T)) @ Y.T)[i, j])


THEOREM = Theorem(
    id="score_bilinear",
    chapter="notation",
    title={"en": "The query-key circuit", "ko": "쿼리-키 회로"},
    prose={
        "en": "Queries and keys enter the scores only through the one matrix $W_QW_K^\\top$: a "
        "bilinear form on pairs of tokens. It is stated for two sequences $X$ and $Y$, so that "
        "cross-attention is the same theorem; self-attention is $Y=X$.",
        "ko": "쿼리와 키는 하나의 행렬 $W_QW_K^\\top$를 통해서만 점수에 들어갑니다. 이 행렬은 토큰 쌍 "
        "위의 쌍선형 형식입니다. 두 수열 $X$, $Y$에 대하여 서술하였으므로 교차 어텐션도 같은 정리이고, "
        "$Y=X$이면 셀프 어텐션입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The order of the projections does not matter",
                "ko": "두 사영의 순서는 상관없다는 주장",
            },
            swapped,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"With $d_k=1$, $W_Q=(1,0)^\top$, $W_K=(0,1)^\top$: the score of $x$ with $y$ is "
        r"$x_1y_2$, and $W_QW_K^\top=\begin{pmatrix}0&1\\0&0\end{pmatrix}$.",
        "ko": r"$d_k=1$, $W_Q=(1,0)^\top$, $W_K=(0,1)^\top$이면 $x$와 $y$의 점수는 $x_1y_2$이고 "
        r"$W_QW_K^\top=\begin{pmatrix}0&1\\0&0\end{pmatrix}$입니다.",
    },
    references=("elhage2021",),
)


if __name__ == "__main__":
    THEOREM.main()
