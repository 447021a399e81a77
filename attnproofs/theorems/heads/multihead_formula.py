"""The multi-head layer in one line: each head contributes through its own circuits."""

from typing import Any

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
    array,
    eq,
    flattened,
    lemma,
    pair,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.heads.concat_sum import THEOREM as concat_sum
from attnproofs.theorems.values.ov_circuit import THEOREM as ov_circuit


def declare(s: Scope) -> None:
    """Declare a multi-head layer; C is the concatenation of its heads."""
    T, d_model, H, d_v = s.dimensions("T d_model H d_v")
    X, A = s.tensor("X", T, d_model), s.tensor("A", H, T, T)
    W_V = s.tensor("W_V", H, d_model, d_v)
    s.tensor("W_O", flattened(H, d_v), d_model)
    C = s.tensor("C", T, flattened(H, d_v))
    s.index("i", T)
    s.index("m", d_model)
    s.assume(
        "concat",
        lambda h, t, r: eq(C[t, pair(h, r)], (A[h] @ (X @ W_V[h]))[t, r]),
        over={"h'": H, "t'": T, "r'": d_v},
    )


def block(s: Any, h: Ix) -> Array:
    """Return the rows of W_O that belong to head h."""
    return array(s["d_v"], s["d_model"], lambda r, m: s["W_O"][pair(h, r), m])


def layer(s: Any) -> Expr:
    """Return an entry of the layer's result."""
    H, d_v, X, C, W_O, i, m = s["H d_v X C W_O i m"]
    result: Expr = X[i, m] + Sum(flattened(H, d_v), lambda c: C[i, c] * W_O[c, m])
    return result


def statement(s: Scope) -> Claim:
    declare(s)
    H, X, A, W_V, i, m = s["H X A W_V i m"]
    return eq(layer(s), X[i, m] + Sum(H, lambda h: ((A[h] @ X) @ (W_V[h] @ block(s, h)))[i, m]))


def proof(p: Proof) -> None:
    T, H, d_v, X, A, W_V, i, m = p["T H d_v X A W_V i m"]
    heads = array(H, T, d_v, lambda h, t, r: (A[h] @ (X @ W_V[h]))[t, r])
    p.line(
        X[i, m] + Sum(H, lambda h: ((A[h] @ (X @ W_V[h])) @ block(p, h))[i, m]),
        lemma(concat_sum, head=heads),
    )
    p.line(
        X[i, m] + Sum(H, lambda h: ((A[h] @ X) @ (W_V[h] @ block(p, h)))[i, m]), lemma(ov_circuit)
    )


def one_softmax(s: Scope) -> Claim:
    declare(s)
    H, X, A, W_V, i, m = s["H X A W_V i m"]
    return eq(layer(s), X[i, m] + Sum(H, lambda h: ((A[1] @ X) @ (W_V[h] @ block(s, h)))[i, m]))


THEOREM = Theorem(
    id="multihead_formula",
    chapter="heads",
    title={"en": "Multi-head attention in one line", "ko": "한 줄로 쓴 멀티헤드 어텐션"},
    prose={
        "en": "The layer returns $X+\\sum_h A_h\\,X\\,W_V^{(h)}W_O^{(h)}$: heads act independently and "
        "add up, each with its own weights $A_h$ and its own output-value circuit.",
        "ko": r"멀티헤드 층의 결과는 $X+\sum_h A_h\,X\,W_V^{(h)}W_O^{(h)}$입니다. 헤드는 서로 "
        r"독립적으로 작용하고 그 결과가 더해지며, 각 헤드는 자기 가중치 $A_h$와 자기 출력-밸류 "
        r"회로를 갖습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "All heads share one softmax",
                "ko": "모든 헤드가 하나의 소프트맥스를 쓴다는 주장",
            },
            one_softmax,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$H=2$, $d_{\mathrm{model}}=d_v=1$, $W_V^{(1)}W_O^{(1)}=2$, "
        r"$W_V^{(2)}W_O^{(2)}=-1$: if both heads of token $x$ attend only to $y$, $x$ becomes "
        r"$x+2y-y=x+y$.",
        "ko": r"$H=2$, $d_{\mathrm{model}}=d_v=1$, $W_V^{(1)}W_O^{(1)}=2$, "
        r"$W_V^{(2)}W_O^{(2)}=-1$이고 토큰 $x$의 두 헤드가 모두 $y$에만 주목하면 $x$는 "
        r"$x+2y-y=x+y$가 됩니다.",
    },
    references=("vaswani2017", "elhage2021"),
)


if __name__ == "__main__":
    THEOREM.main()
