"""The staged computation of a head is the one-line formula."""

from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    dot,
    eq,
    exp,
    ind,
    scores,
    sqrt,
    weights,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    """Declare a layer: tokens, projections, a mask, and its stages."""
    T, d_model, d_k, d_v = s.dimensions("T d_model d_k d_v")
    s.tensor("X", T, d_model)
    s.tensor("W_Q", d_model, d_k)
    s.tensor("W_K", d_model, d_k)
    s.tensor("W_V", d_model, d_v)
    s.tensor("W_O", d_v, d_model)
    keep = s.predicate("keep", T, T)
    s.kept(keep)
    s.index("i", T)
    s.index("m", d_model)


def staged(s: Any, Q: Array) -> Expr:
    """Return an entry of the layer's result, computed stage by stage from the queries."""
    T, X, W_K, W_V, W_O, i, m = s["T X W_K W_V W_O i m"]
    K, V = X @ W_K, X @ W_V
    A = array(T, T, lambda k, j: weights(kept(s, k), scores(Q, K)[k])[j])
    O = A @ V
    result: Expr = X[i, m] + (O @ W_O)[i, m]
    return result


def kept(s: Any, i: Any) -> Array:
    """Return the row of 0/1 that says which keys query i keeps."""
    return array(s["T"], lambda l: ind(s["keep"](i, l)))


def formula(s: Any) -> Expr:
    """Return the one-line formula, written out in sums."""
    T, d_model, d_k, d_v, X, W_Q, W_K, W_V, W_O, i, m = s["T d_model d_k d_v X W_Q W_K W_V W_O i m"]
    keep = s["keep"]

    def score(j: Any) -> Expr:
        return dot((X @ W_Q)[i], (X @ W_K)[j]) / sqrt(d_k)

    def weight(j: Any) -> Expr:
        return ind(keep(i, j)) * exp(score(j)) / Sum(T, lambda l: ind(keep(i, l)) * exp(score(l)))

    result: Expr = X[i, m] + Sum(
        d_v,
        lambda c: (
            Sum(T, lambda j: weight(j) * Sum(d_model, lambda a: X[j, a] * W_V[a, c])) * W_O[c, m]
        ),
    )
    return result


def statement(s: Scope) -> Claim:
    declare(s)
    return eq(staged(s, s["X"] @ s["W_Q"]), formula(s))


def proof(p: Proof) -> None:
    T, d_v, X, W_Q, W_K, W_V, W_O, i, m = p["T d_v X W_Q W_K W_V W_O i m"]
    S = scores(X @ W_Q, X @ W_K)
    row = weights(kept(p, i), S[i])
    p.line(
        X[i, m] + Sum(d_v, lambda c: Sum(T, lambda j: row[j] * (X @ W_V)[j, c]) * W_O[c, m]),
        "unfold:matmul",
    )
    p.line(formula(p), "unfold:weights", "unfold:scores", "unfold:dot", "unfold:matmul")


def scaled_twice(s: Scope) -> Claim:
    declare(s)
    d_k = s["d_k"]
    return eq(staged(s, (s["X"] @ s["W_Q"]) * (1 / sqrt(d_k))), formula(s))


THEOREM = Theorem(
    id="single_head_formula",
    chapter="values",
    title={"en": "One head in one line", "ko": "한 줄로 쓴 헤드"},
    prose={
        "en": "Projecting, scoring, masking, normalising, averaging and projecting back, stage by "
        "stage, gives the formula $X+\\mathrm{softmax}(QK^\\top/\\sqrt{d_k}+M)\\,VW_O$ with every sum "
        "written out. There is no calculation in it; what it guards against is a stage done twice, "
        "such as scaling inside a projection and again in the scores.",
        "ko": r"사영, 점수, 마스크, 정규화, 가중합, 다시 사영을 차례로 하면 모든 합까지 풀어 쓴 식 "
        r"$X+\mathrm{softmax}(QK^\top/\sqrt{d_k}+M)\,VW_O$를 얻습니다. "
        r"따로 할 계산은 없습니다. 다만 사영에서 이미 스케일한 것을 점수에서 또 스케일하는 "
        r"것처럼 같은 단계를 두 번 하는 잘못을 막아 줍니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "Scaling also inside the query projection changes nothing",
                "ko": "쿼리 사영에서 한 번 더 스케일해도 같다는 주장",
            },
            scaled_twice,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$T=1$: the only weight is $1$, so the result is $x+x\,W_VW_O$ whatever $W_Q$ and $W_K$ "
        r"are.",
        "ko": r"$T=1$이면 가중치는 $1$ 하나뿐이므로 $W_Q$, $W_K$에 관계없이 결과는 $x+x\,W_VW_O$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
