"""Tokens as columns give the transposed score matrix."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, eq, lemma
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.notation.transpose_product import THEOREM as transpose_product


def statement(s: Scope) -> Claim:
    T, d_model, d_k = s.dimensions("T d_model d_k")
    X = s.tensor("X", T, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    i, j = s.index("i", T), s.index("j", T)
    Q_c, K_c = W_Q.T @ X.T, W_K.T @ X.T
    return eq((K_c.T @ Q_c)[j, i], ((X @ W_Q) @ (X @ W_K).T)[i, j])


def proof(p: Proof) -> None:
    d_k, X, W_Q, W_K, i, j = p["d_k X W_Q W_K i j"]
    Q, K = X @ W_Q, X @ W_K
    p.line((K.T.T @ Q.T)[j, i], lemma(transpose_product, back=True))
    p.line(Sum(d_k, lambda a: K[j, a] * Q[i, a]), "unfold:matmul", "unfold:transpose")
    p.line(Sum(d_k, lambda a: Q[i, a] * K[j, a]), "ring")
    p.line((Q @ K.T)[i, j], "unfold:matmul", "unfold:transpose")


def untransposed(s: Scope) -> Claim:
    T, d_model, d_k = s.dimensions("T d_model d_k")
    X = s.tensor("X", T, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    i, j = s.index("i", T), s.index("j", T)
    return eq(((W_K.T @ X.T).T @ (W_Q.T @ X.T))[i, j], ((X @ W_Q) @ (X @ W_K).T)[i, j])


THEOREM = Theorem(
    id="orientation_scores",
    chapter="notation",
    title={"en": "Rows or columns: scores", "ko": "행 표기와 열 표기: 점수"},
    prose={
        "en": "With tokens as columns, $X_c=X^\\top$, $Q_c=W_Q^\\top X_c$ and $K_c=W_K^\\top X_c$, "
        "the score matrix is $K_c^\\top Q_c$. It is the transpose of $QK^\\top$: the same numbers, "
        "with keys along the rows and queries along the columns.",
        "ko": "토큰을 열로 두면, 곧 $X_c=X^\\top$, $Q_c=W_Q^\\top X_c$, $K_c=W_K^\\top X_c$로 두면, "
        "점수 행렬은 $K_c^\\top Q_c$입니다. 이것은 $QK^\\top$의 전치입니다. 같은 수들이 놓이되, 키가 "
        "행 번호가 되고 쿼리가 열 번호가 됩니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "Both score matrices are equal without transposing",
                "ko": "전치하지 않아도 두 점수 행렬이 같다는 주장",
            },
            untransposed,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$q_1=1$, $q_2=2$, $k_1=3$, $k_2=5$ ($d_k=1$): "
        r"$QK^\top=\begin{pmatrix}3&5\\6&10\end{pmatrix}$ and "
        r"$K_c^\top Q_c=\begin{pmatrix}3&6\\5&10\end{pmatrix}$.",
        "ko": r"$q_1=1$, $q_2=2$, $k_1=3$, $k_2=5$($d_k=1$)이면 "
        r"$QK^\top=\begin{pmatrix}3&5\\6&10\end{pmatrix}$, "
        r"$K_c^\top Q_c=\begin{pmatrix}3&6\\5&10\end{pmatrix}$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
