"""The factor 1/sqrt(d_k) can be absorbed into a projection."""

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    array,
    eq,
    rational_expr,
    sqrt,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, D, d = s.dimensions("T d_model d_k")
    s.tensor("X", T, D)
    s.tensor("W_Q", D, d)
    s.tensor("W_K", D, d)
    s.index("i", T)
    s.index("j", T)


def product(s: Scope | Proof, left: Expr, right: Expr) -> Expr:
    """Return a score with the projections multiplied by the given factors."""
    D, d, X, W_Q, W_K, i, j = s["d_model d_k X W_Q W_K i j"]
    Q = X @ array(D, d, lambda m, a: W_Q[m, a] * left)
    K = X @ array(D, d, lambda m, a: W_K[m, a] * right)
    found: Expr = (Q @ K.T)[i, j]
    return found


def scaled(s: Scope | Proof) -> Expr:
    X, W_Q, W_K, d, i, j = s["X W_Q W_K d_k i j"]
    found: Expr = ((X @ W_Q) @ (X @ W_K).T)[i, j] / sqrt(d)
    return found


def statement(s: Scope) -> Claim:
    declare(s)
    return eq(scaled(s), product(s, 1 / sqrt(s["d_k"]), rational_expr(1)))


def proof(p: Proof) -> None:
    p.line(product(p, 1 / sqrt(p["d_k"]), rational_expr(1)), "unfold", "sum_scale")


def shared(s: Scope) -> Claim:
    declare(s)
    root = 1 / sqrt(sqrt(s["d_k"]))
    return eq(scaled(s), product(s, root, root))


def proof_shared(p: Proof) -> None:
    root = 1 / sqrt(sqrt(p["d_k"]))
    p.line(product(p, root, root), "unfold", "sum_scale", "sqrt_sq")


def twice(s: Scope) -> Claim:
    declare(s)
    root = 1 / sqrt(s["d_k"])
    return eq(scaled(s), product(s, root, root))


def attempt(p: Proof) -> None:
    root = 1 / sqrt(p["d_k"])
    p.line(product(p, root, root), "unfold", "sum_scale", "sqrt_sq")


THEOREM = Theorem(
    id="scale_absorbed",
    chapter="scaling",
    title={"en": "The scale is absorbed by a projection", "ko": "스케일은 사영에 흡수된다"},
    prose={
        "en": "Dividing scores by $\\sqrt{d_k}$ is the same as dividing $W_Q$ by it, or both "
        "projections by $d_k^{1/4}$. As a function class nothing changes; the explicit factor "
        "fixes the size of the scores at initialisation. Implementations that scale queries "
        "beforehand are exact in real arithmetic and differ in rounding only.",
        "ko": "점수를 $\\sqrt{d_k}$로 나누는 것은 $W_Q$를 그 값으로 나누거나 두 사영을 "
        "$d_k^{1/4}$으로 나누는 것과 같습니다. 표현할 수 있는 함수는 달라지지 않으며, 이 인수는 "
        "초기화 때 점수의 크기를 맞추는 역할을 합니다. 쿼리를 미리 나누는 구현도 실수 "
        "계산으로는 정확히 같고 반올림만 다릅니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            shared,
            proof_shared,
            name="shared",
            title={"en": "$d_k^{1/4}$ on both sides", "ko": "양쪽에 $d_k^{1/4}$씩"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Both projections are divided by $\\sqrt{d_k}$",
                "ko": r"두 사영을 모두 $\sqrt{d_k}$로 나눈다는 주장",
            },
            statement=twice,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$d_k=16$: dividing by $4$ once, or by $2$ on both sides; $q\cdot k=32$ becomes "
        r"$8$.",
        "ko": r"$d_k=16$이면 한 번 $4$로 나누거나 양쪽을 $2$로 나눕니다. $q\cdot k=32$는 $8$이 "
        r"됩니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
