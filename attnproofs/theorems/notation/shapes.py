"""The shape of every stage of attention."""

from collections.abc import Callable
from typing import Any

from attnproofs.calculus import (
    Array,
    Axis,
    FalseNeighbour,
    Ix,
    Part,
    Scope,
    Theorem,
    array,
    flattened,
    has_shape,
    scores,
    softmax,
)
from attnproofs.kernel.statement import Claim


def part(
    name: str, title: dict[str, str], build: Callable[[Scope], tuple[Array, tuple[Ix | Axis, ...]]]
) -> Part:
    """Return the part that claims one row of the shape table."""

    def statement(s: Scope) -> Claim:
        value, axes = build(s)
        return has_shape(value, *axes)

    return Part(statement, name=name, title=title)


def self_attention(s: Scope) -> tuple[Array, Array, Array]:
    """Declare tokens and projections; return queries, keys and values."""
    T, d_model, d_k, d_v = s.dimensions("T d_model d_k d_v")
    X = s.tensor("X", T, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    W_V = s.tensor("W_V", d_model, d_v)
    return X @ W_Q, X @ W_K, X @ W_V


def row_weights(s: Any, Q: Array, K: Array) -> Array:
    """Return the weights without a mask."""
    Z = scores(Q, K)
    return array(Q.size(0), K.size(0), lambda i, j: softmax(Z[i])[j])


def queries(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    Q, _, _ = self_attention(s)
    return Q, (s["T"], s["d_k"])


def keys(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    _, K, _ = self_attention(s)
    return K, (s["T"], s["d_k"])


def values(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    _, _, V = self_attention(s)
    return V, (s["T"], s["d_v"])


def score_matrix(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    Q, K, _ = self_attention(s)
    return Q @ K.T, (s["T"], s["T"])


def weight_matrix(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    Q, K, _ = self_attention(s)
    return row_weights(s, Q, K), (s["T"], s["T"])


def outputs(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    Q, K, V = self_attention(s)
    return row_weights(s, Q, K) @ V, (s["T"], s["d_v"])


def concatenation(s: Scope) -> tuple[Array, tuple[Ix | Axis, ...]]:
    T, H, d_v, _d_model = s.dimensions("T H d_v d_model")
    block = flattened(H, d_v)
    return s.tensor("C", T, block), (T, block)


def projection(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    Q, K, V = self_attention(s)
    W_O = s.tensor("W_O", s["d_v"], s["d_model"])
    return (row_weights(s, Q, K) @ V) @ W_O, (s["T"], s["d_model"])


def residual(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    Q, K, V = self_attention(s)
    W_O = s.tensor("W_O", s["d_v"], s["d_model"])
    update = (row_weights(s, Q, K) @ V) @ W_O
    return s["X"] + update, (s["T"], s["d_model"])


def cross_scores(s: Scope) -> tuple[Array, tuple[Ix, ...]]:
    T_t, T_s, d_model, d_k = s.dimensions("T_t T_s d_model d_k")
    X, Y = s.tensor("X", T_t, d_model), s.tensor("Y", T_s, d_model)
    W_Q, W_K = s.tensor("W_Q", d_model, d_k), s.tensor("W_K", d_model, d_k)
    return (X @ W_Q) @ (Y @ W_K).T, (T_t, T_s)


def main_statement(s: Scope) -> Claim:
    value, axes = residual(s)
    return has_shape(value, *axes)


def untransposed_keys(s: Scope) -> Claim:
    Q, K, _ = self_attention(s)
    return has_shape(Q @ K, s["T"], s["T"])


def narrow_projection(s: Scope) -> Claim:
    Q, K, V = self_attention(s)
    W_O = s.tensor("W_O", s["d_k"], s["d_model"])
    return has_shape((row_weights(s, Q, K) @ V) @ W_O, s["T"], s["d_model"])


THEOREM = Theorem(
    id="shapes",
    chapter="notation",
    title={"en": "The shape table", "ko": "모양 표"},
    prose={
        "en": "Every stage of attention is well formed with the shapes of the table: queries and "
        "keys $T\\times d_k$, values and outputs $T\\times d_v$, scores and weights $T\\times T$ "
        "(cross-attention: $T_t\\times T_s$), the concatenation $T\\times(H\\,d_v)$, projection and "
        "residual stream $T\\times d_{\\mathrm{model}}$. There is nothing to calculate: the kernel "
        "builds each term and shows that every index stays in its range.",
        "ko": "어텐션의 모든 단계는 표의 모양대로 잘 정의됩니다. 쿼리와 키는 $T\\times d_k$, 밸류와 "
        "출력은 $T\\times d_v$, 점수와 가중치는 $T\\times T$(교차 어텐션은 $T_t\\times T_s$), 이어 붙인 "
        "행렬은 $T\\times(H\\,d_v)$, 사영과 잔차 연결은 $T\\times d_{\\mathrm{model}}$입니다. 계산할 "
        "것은 없습니다. 커널이 각 항을 만들고 모든 첨자가 범위 안에 있음을 보입니다.",
    },
    parts=(
        Part(main_statement, title={"en": "Residual stream", "ko": "잔차 연결"}),
        part("queries", {"en": "Queries", "ko": "쿼리"}, queries),
        part("keys", {"en": "Keys", "ko": "키"}, keys),
        part("values", {"en": "Values", "ko": "밸류"}, values),
        part("scores", {"en": "Scores", "ko": "점수"}, score_matrix),
        part("weights", {"en": "Weights", "ko": "가중치"}, weight_matrix),
        part("outputs", {"en": "Outputs", "ko": "출력"}, outputs),
        part("concatenation", {"en": "Concatenated heads", "ko": "이어 붙인 헤드"}, concatenation),
        part("projection", {"en": "Projection", "ko": "사영"}, projection),
        part(
            "cross_scores",
            {"en": "Cross-attention scores", "ko": "교차 어텐션의 점수"},
            cross_scores,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {"en": "Keys are not transposed", "ko": "키를 전치하지 않는다는 주장"},
            untransposed_keys,
            because="out of range",
        ),
        FalseNeighbour(
            {
                "en": "The output projection has $d_k$ rows",
                "ko": "출력 사영의 행이 $d_k$개라는 주장",
            },
            narrow_projection,
            because="out of range",
        ),
    ),
    numbers={
        "en": r"$T=5$, $d_{\mathrm{model}}=8$, $d_k=3$, $d_v=2$: $Q,K$ are $5\times3$, scores "
        r"$5\times5$, $V$ and $O$ $5\times2$, $OW_O$ and the residual stream $5\times8$.",
        "ko": r"$T=5$, $d_{\mathrm{model}}=8$, $d_k=3$, $d_v=2$이면 $Q,K$는 $5\times3$, 점수는 "
        r"$5\times5$, $V$와 $O$는 $5\times2$, $OW_O$와 잔차 연결은 $5\times8$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
