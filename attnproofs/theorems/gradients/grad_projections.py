"""Gradients of the projections: dW_Q = Xᵀ dQ, and dX sums three paths and the residual."""

from collections.abc import Callable

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    derivative,
    differentiate,
    eq,
    ind,
    lemma,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.gradients.grad_values import THEOREM as grad_values
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> None:
    T, D, d, d_v = s.dimensions("T d_model d_k d_v")
    s.tensor("X", T, D)
    for name, width in (("Q", d), ("K", d), ("V", d_v)):
        s.tensor(f"W_{name}", D, width)
        s.tensor(f"d{name}", T, width)
    s.tensor("dY", T, D)
    s.index("i", T)
    s.index("m", D)


def loss(s: Scope | Proof) -> Expr:
    """Return the loss to first order in queries, keys, values and the residual stream."""
    T, D, d, d_v, X, dY = s["T d_model d_k d_v X dY"]

    def path(name: str, width: Ix) -> Expr:
        W, grad = s[f"W_{name} d{name}"]
        return Sum(T, lambda t: Sum(width, lambda e: grad[t, e] * (X @ W)[t, e]))

    straight = Sum(T, lambda t: Sum(D, lambda e: dY[t, e] * X[t, e]))
    return path("Q", d) + path("K", d) + path("V", d_v) + straight


def statement(s: Scope) -> Claim:
    declare(s)
    X, W_Q, W_K, W_V, dQ, dK, dV, dY, i, m = s["X W_Q W_K W_V dQ dK dV dY i m"]
    paths = (dQ @ W_Q.T)[i, m] + (dK @ W_K.T)[i, m] + (dV @ W_V.T)[i, m]
    return eq(derivative(X[i, m], loss(s)), paths + dY[i, m])


def proof(p: Proof) -> None:
    T, D, d, d_v, X, dY, i, m = p["T d_model d_k d_v X dY i m"]
    paths = (("Q", d), ("K", d), ("V", d_v))

    def line(path: Callable[[Array, Array, Ix], Expr], straight: Expr) -> Expr:
        first, second, third = (path(p[f"W_{n}"], p[f"d{n}"], width) for n, width in paths)
        return first + second + third + straight

    p.line(
        line(
            lambda W, g, width: Sum(
                T, lambda t: Sum(width, lambda e: g[t, e] * derivative(X[i, m], (X @ W)[t, e]))
            ),
            Sum(T, lambda t: ind(t.is_(i)) * Sum(D, lambda e: ind(e.is_(m)) * dY[t, e])),
        ),
        differentiate("sum_scale"),
    )
    p.line(
        line(
            lambda W, g, width: Sum(
                T, lambda t: ind(t.is_(i)) * Sum(width, lambda e: g[t, e] * W[m, e])
            ),
            Sum(T, lambda t: ind(t.is_(i)) * Sum(D, lambda e: ind(e.is_(m)) * dY[t, e])),
        ),
        lemma((THEOREM, "step")),
        "sum_scale",
    )
    p.line(
        line(lambda W, g, width: Sum(width, lambda e: g[i, e] * W[m, e]), dY[i, m]),
        lemma(one_point),
        lemma(one_point),
    )
    p.line(line(lambda W, g, _: (g @ W.T)[i, m], dY[i, m]), "unfold")


def single(s: Scope) -> None:
    T, D, d = s.dimensions("T d_model d")
    s.tensor("X", T, D)
    s.tensor("W", D, d)


def step(s: Scope) -> Claim:
    single(s)
    T, D, d, X, W = s["T d_model d X W"]
    i, m = s.index("i", T), s.index("m", D)
    t, e = s.index("t", T), s.index("e", d)
    return eq(derivative(X[i, m], (X @ W)[t, e]), ind(t.is_(i)) * W[m, e])


def proof_step(p: Proof) -> None:
    D, X, W, i, m, t, e = p["d_model X W i m t e"]
    p.line(derivative(X[i, m], Sum(D, lambda l: X[t, l] * W[l, e])), "unfold")
    p.line(Sum(D, lambda l: ind(l.is_(m)) * (ind(t.is_(i)) * W[l, e])), differentiate())
    p.line(ind(t.is_(i)) * W[m, e], lemma(one_point))


def projection(s: Scope) -> Claim:
    single(s)
    T, D, d, X, W = s["T d_model d X W"]
    grad = s.tensor("dP", T, d)
    m, a = s.index("m", D), s.index("a", d)
    loss = Sum(T, lambda t: Sum(d, lambda e: grad[t, e] * (X @ W)[t, e]))
    return eq(derivative(W[m, a], loss), (X.T @ grad)[m, a])


def proof_projection(p: Proof) -> None:
    D, d, X, W, grad, m, a = p["d_model d X W dP m a"]
    p.line(
        (X.T @ grad)[m, a],
        lemma(grad_values, T_s=D, d_v=d, A=X, V=W, dO=grad, j=m, c=a),
    )


def without_residual(s: Scope) -> Claim:
    declare(s)
    X, W_Q, W_K, W_V, dQ, dK, dV, i, m = s["X W_Q W_K W_V dQ dK dV i m"]
    paths = (dQ @ W_Q.T)[i, m] + (dK @ W_K.T)[i, m] + (dV @ W_V.T)[i, m]
    return eq(derivative(X[i, m], loss(s)), paths)


def attempt(p: Proof) -> None:
    W_Q, W_K, W_V, dQ, dK, dV, dY, i, m = p["W_Q W_K W_V dQ dK dV dY i m"]
    paths = (dQ @ W_Q.T)[i, m] + (dK @ W_K.T)[i, m] + (dV @ W_V.T)[i, m]
    p.line(paths + dY[i, m], lemma(THEOREM))
    p.line(paths, "ring")


THEOREM = Theorem(
    id="grad_projections",
    chapter="gradients",
    title={"en": "Gradients of the projections", "ko": "사영의 기울기"},
    prose={
        "en": r"Each projection matrix collects $X^\top$ times the gradient of what it "
        r"produces. The input collects four contributions: through the queries, the keys and "
        r"the values, each sent back by the transposed projection, and through the residual "
        r"connection, unchanged.",
        "ko": r"각 사영 행렬의 기울기는 $X^\top$에 그 출력의 기울기를 곱한 것입니다. 입력은 네 "
        r"갈래의 기울기를 더해 받습니다. 쿼리, 키, 밸류를 지나 전치된 사영으로 되돌아오는 "
        r"셋과, 잔차 연결을 그대로 지나오는 하나입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            projection,
            proof_projection,
            name="projection",
            title={
                "en": r"A projection matrix: $X^\top \mathrm{dQ}$",
                "ko": r"사영 행렬: $X^\top \mathrm{dQ}$",
            },
        ),
        Part(
            step,
            proof_step,
            name="step",
            title={"en": "One entry of a projection", "ko": "사영의 성분 하나"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The three projections alone, without the residual",
                "ko": "잔차 없이 세 사영만 더한다는 주장",
            },
            statement=without_residual,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$d_{\mathrm{model}}=1$, $W_Q=2$, $W_K=3$, $W_V=5$, "
        r"$\mathrm{dQ}=\mathrm{dK}=\mathrm{dV}=\mathrm{dY}=1$: $\mathrm{dX}=2+3+5+1=11$.",
        "ko": r"$d_{\mathrm{model}}=1$, $W_Q=2$, $W_K=3$, $W_V=5$, "
        r"$\mathrm{dQ}=\mathrm{dK}=\mathrm{dV}=\mathrm{dY}=1$이면 "
        r"$\mathrm{dX}=2+3+5+1=11$입니다.",
    },
    references=("vaswani2017", "dao2022"),
)


if __name__ == "__main__":
    THEOREM.main()
