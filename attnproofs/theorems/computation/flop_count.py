"""Operations of scores and values: quadratic in the length, linear in the width."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    le,
    lemma,
    order,
    span,
)
from attnproofs.calculus.symbols import Expr, Ix, as_expr
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def dot_cost(n: Ix) -> Expr:
    """Return the operations of a dot product of length n: n multiplications, n - 1 additions."""
    return Sum(n, lambda a: 1) + Sum(span(2, n), lambda a: 1)


def scores(s: Scope) -> Claim:
    T, d_k = s.dimensions("T d_k")
    return eq(Sum(T, lambda i: Sum(T, lambda j: dot_cost(d_k))), as_expr(T) ** 2 * (2 * d_k - 1))


def scores_proof(p: Proof) -> None:
    T, d_k = p["T d_k"]
    one = 2 * d_k - 1
    p.line(
        Sum(T, lambda i: Sum(T, lambda j: as_expr(d_k) * 1 + as_expr(d_k - 1) * 1)),
        lemma((sum_const, "range"), only=2),
        lemma((sum_const, "range"), only=2),
    )
    p.line(Sum(T, lambda i: as_expr(T) * one), lemma(sum_const, only=1))
    p.line(as_expr(T) * (as_expr(T) * one), lemma(sum_const))
    p.line(as_expr(T) ** 2 * one, "ring")


def values(s: Scope) -> Claim:
    T, d_v = s.dimensions("T d_v")
    return eq(
        Sum(T, lambda i: Sum(d_v, lambda c: dot_cost(T))), as_expr(T) * (as_expr(d_v) * (2 * T - 1))
    )


def values_proof(p: Proof) -> None:
    T, d_v = p["T d_v"]
    p.line(
        Sum(T, lambda i: Sum(d_v, lambda c: as_expr(T) * 1 + as_expr(T - 1) * 1)),
        lemma((sum_const, "range"), only=2),
        lemma((sum_const, "range"), only=2),
    )
    p.line(Sum(T, lambda i: as_expr(d_v) * (2 * T - 1)), lemma(sum_const, only=1))
    p.line(as_expr(T) * (as_expr(d_v) * (2 * T - 1)), lemma(sum_const))


def growth(s: Scope) -> Claim:
    T, d_k, d_v = s.dimensions("T d_k d_v")
    total = as_expr(T) ** 2 * (2 * d_k - 1) + as_expr(T) * (as_expr(d_v) * (2 * T - 1))
    return le(total, 2 * as_expr(T) ** 2 * (d_k + d_v))


def growth_proof(p: Proof) -> None:
    T, d_k, d_v = p["T d_k d_v"]
    p.le(2 * as_expr(T) ** 2 * (d_k + d_v), order(as_expr(T) ** 2 + as_expr(T) * d_v))


def without_additions(s: Scope) -> Claim:
    T, d_k = s.dimensions("T d_k")
    return eq(Sum(T, lambda i: Sum(T, lambda j: dot_cost(d_k))), 2 * as_expr(T) ** 2 * d_k)


def without_attempt(p: Proof) -> None:
    T, d_k = p["T d_k"]
    scores_proof(p)
    p.line(2 * as_expr(T) ** 2 * d_k, "ring")


THEOREM = Theorem(
    id="flop_count",
    chapter="computation",
    title={"en": "Number of operations", "ko": "연산의 횟수"},
    prose={
        "en": "A dot product of length $n$ takes $n$ multiplications and $n-1$ additions. Scores then "
        "cost $T^2(2d_k-1)$ and the weighted sums $T\\,d_v(2T-1)$ operations, together at most "
        "$2T^2(d_k+d_v)$: quadratic in the length and linear in the width. This is what $O(T^2d)$ "
        "abbreviates, with its constant.",
        "ko": "길이가 $n$인 내적에는 곱셈 $n$번과 덧셈 $n-1$번이 듭니다. 따라서 점수에는 "
        "$T^2(2d_k-1)$번, 가중합에는 $T\\,d_v(2T-1)$번의 연산이 들고, 모두 합해 $2T^2(d_k+d_v)$번 "
        "이하입니다. 길이에 대해서는 제곱으로, 폭에 대해서는 일차로 늘어납니다. $O(T^2d)$라는 말을 "
        "상수까지 밝혀 쓴 것입니다.",
    },
    parts=(
        Part(scores, scores_proof),
        Part(values, values_proof, name="values", title={"en": "Values", "ko": "밸류"}),
        Part(growth, growth_proof, name="growth", title={"en": "Growth", "ko": "증가"}),
    ),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "Scores cost exactly $2T^2d_k$",
                "ko": "점수에 연산이 정확히 $2T^2d_k$번 든다는 주장",
            },
            without_additions,
            without_attempt,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$d_k=d_v=64$: $T=512$: $33\,292\,288+33\,521\,664$ operations; $T=1024$: "
        r"$133\,169\,152+134\,152\,192$, about four times as many.",
        "ko": r"$d_k=d_v=64$이면 $T=512$일 때 $33\,292\,288+33\,521\,664$번, $T=1024$일 때 "
        r"$133\,169\,152+134\,152\,192$번으로 약 네 배입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
