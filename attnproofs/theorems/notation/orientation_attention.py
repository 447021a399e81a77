"""Both orientations give transposed results at every stage of attention."""

from typing import Any

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
    column_softmax,
    eq,
    ind,
    lemma,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.notation.orientation_scores import THEOREM as orientation_scores
from attnproofs.theorems.notation.orientation_softmax import THEOREM as orientation_softmax
from attnproofs.theorems.notation.transpose_product import THEOREM as transpose_product


def declare(s: Scope) -> None:
    """Declare tokens, projections, the scale and an additive mask."""
    T, d_model, d_k = s.dimensions("T d_model d_k")
    s.tensor("X", T, d_model)
    s.tensor("W_Q", d_model, d_k)
    s.tensor("W_K", d_model, d_k)
    s.tensor("M", T, T)
    s.scalar("τ")


def row_scores(s: Any) -> Array:
    """Return ``τ Q K^T + M`` with tokens as rows."""
    T, X, W_Q, W_K, M, τ = s["T X W_Q W_K M τ"]
    return array(T, T, lambda i, j: τ * ((X @ W_Q) @ (X @ W_K).T)[i, j] + M[i, j])


def column_scores(s: Any) -> Array:
    """Return ``τ K_c^T Q_c + M^T`` with tokens as columns."""
    T, X, W_Q, W_K, M, τ = s["T X W_Q W_K M τ"]
    Q_c, K_c = W_Q.T @ X.T, W_K.T @ X.T
    return array(T, T, lambda j, i: τ * (K_c.T @ Q_c)[j, i] + M.T[j, i])


def statement(s: Scope) -> Claim:
    declare(s)
    i, j = s.index("i", s["T"]), s.index("j", s["T"])
    return eq(column_softmax(column_scores(s))[j, i], softmax(row_scores(s)[i])[j])


def proof(p: Proof) -> None:
    i, j = p["i j"]
    Z = row_scores(p)
    p.line(column_softmax(Z.T)[j, i], lemma(orientation_scores), "unfold:transpose")
    p.line(softmax(Z[i])[j], lemma(orientation_softmax))


def row_weights(s: Any) -> Array:
    """Return the weights with tokens as rows."""
    return array(s["T"], s["T"], lambda i, j: softmax(row_scores(s)[i])[j])


def output(s: Scope) -> Claim:
    declare(s)
    d_v = s.dimension("d_v")
    W_V, X = s.tensor("W_V", s["d_model"], d_v), s["X"]
    i, c = s.index("i", s["T"]), s.index("c", d_v)
    V_c = W_V.T @ X.T
    return eq((V_c @ column_softmax(column_scores(s)))[c, i], (row_weights(s) @ (X @ W_V))[i, c])


def output_proof(p: Proof) -> None:
    T, X, W_V, i, c = p["T X W_V i c"]
    V, A = X @ W_V, row_weights(p)
    column = column_softmax(column_scores(p))
    p.line((V.T @ column)[c, i], lemma(transpose_product, back=True, only=0))
    p.line(Sum(T, lambda j: V[j, c] * column[j, i]), "unfold:matmul", "unfold:transpose")
    p.line(Sum(T, lambda j: V[j, c] * A[i, j]), lemma(THEOREM))
    p.line((A @ V)[i, c], "unfold:matmul")


def residual(s: Scope) -> Claim:
    T, d_model, d_v = s.dimensions("T d_model d_v")
    X, O = s.tensor("X", T, d_model), s.tensor("O", T, d_v)
    W_O = s.tensor("W_O", d_v, d_model)
    i, m = s.index("i", T), s.index("m", d_model)
    return eq(X.T[m, i] + (W_O.T @ O.T)[m, i], X[i, m] + (O @ W_O)[i, m])


def residual_proof(p: Proof) -> None:
    X, O, W_O, i, m = p["X O W_O i m"]
    p.line(X.T[m, i] + (O @ W_O).T[m, i], lemma(transpose_product, back=True))
    p.line(X[i, m] + (O @ W_O)[i, m], "unfold:transpose")


def masked(s: Scope) -> Claim:
    T, d_model, d_k = s.dimensions("T d_model d_k")
    X = s.tensor("X", T, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    τ = s.scalar("τ")
    keep = s.predicate("keep", T, T)
    s.kept(keep)
    i, j = s.index("i", T), s.index("j", T)
    Q_c, K_c = W_Q.T @ X.T, W_K.T @ X.T
    column = array(T, lambda l: τ * (K_c.T @ Q_c)[l, i])
    return eq(weights(kept(s, i), column)[j], weights(kept(s, i), masked_row(s, i))[j])


def kept(s: Any, i: Ix) -> Array:
    """Return the row of 0/1 that says which keys query i keeps."""
    return array(s["T"], lambda l: ind(s["keep"](i, l)))


def masked_row(s: Any, i: Ix) -> Array:
    """Return the scores of query i with tokens as rows."""
    T, X, W_Q, W_K, τ = s["T X W_Q W_K τ"]
    return array(T, lambda l: τ * ((X @ W_Q) @ (X @ W_K).T)[i, l])


def masked_proof(p: Proof) -> None:
    i, j = p["i j"]
    p.line(weights(kept(p, i), masked_row(p, i))[j], lemma(orientation_scores))


def mask_untransposed(s: Scope) -> Claim:
    declare(s)
    T, X, W_Q, W_K, M, τ = s["T X W_Q W_K M τ"]
    i, j = s.index("i", T), s.index("j", T)
    Q_c, K_c = W_Q.T @ X.T, W_K.T @ X.T
    wrong = array(T, T, lambda k, l: τ * (K_c.T @ Q_c)[k, l] + M[k, l])
    return eq(column_softmax(wrong)[j, i], softmax(row_scores(s)[i])[j])


THEOREM = Theorem(
    id="orientation_attention",
    chapter="notation",
    title={"en": "Rows or columns: attention", "ko": "행 표기와 열 표기: 어텐션"},
    prose={
        "en": "With tokens as columns attention reads $V_c\\,\\mathrm{softmax}_{\\mathrm{col}}"
        "(\\tau K_c^\\top Q_c+M^\\top)$. Weights, outputs, the projection $W_O^\\top$ and the "
        "residual stream are all transposes of the row convention's. Translating code from one "
        "convention to the other is safe exactly when everything is transposed, the mask included.",
        "ko": "토큰을 열로 두면 어텐션은 $V_c\\,\\mathrm{softmax}_{\\mathrm{col}}"
        "(\\tau K_c^\\top Q_c+M^\\top)$입니다. 가중치, 출력, 사영 $W_O^\\top$, 잔차 연결은 모두 행 "
        "표기의 전치입니다. 한 표기의 코드를 다른 표기로 옮길 때에는 마스크까지 빠짐없이 전치해야 "
        "합니다.",
    },
    parts=(
        Part(statement, proof),
        Part(output, output_proof, name="output", title={"en": "Outputs", "ko": "출력"}),
        Part(
            residual,
            residual_proof,
            name="residual",
            title={"en": "Projection and residual", "ko": "사영과 잔차 연결"},
        ),
        Part(
            masked,
            masked_proof,
            name="masked",
            title={"en": "With a hard mask", "ko": "불리언 마스크를 쓸 때"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The mask need not be transposed", "ko": "마스크는 전치하지 않아도 된다는 주장"},
            mask_untransposed,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$QK^\top=0$, $M=\begin{pmatrix}0&\ln3\\0&0\end{pmatrix}$: the weights of query 1 are "
        r"$\tfrac14,\tfrac34$ in both conventions; with $M$ instead of $M^\top$ in the column "
        r"convention they would be $\tfrac12,\tfrac12$.",
        "ko": r"$QK^\top=0$, $M=\begin{pmatrix}0&\ln3\\0&0\end{pmatrix}$이면 쿼리 1의 가중치는 두 "
        r"표기에서 모두 $\tfrac14,\tfrac34$입니다. 열 표기에서 $M^\top$ 대신 $M$을 쓰면 "
        r"$\tfrac12,\tfrac12$이 됩니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
