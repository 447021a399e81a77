"""Cutting a fused projection into column blocks gives the projections of the heads."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    flattened,
    pair,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T, d_model, H, d_k = s.dimensions("T d_model H d_k")
    X, W_Q = s.tensor("X", T, d_model), s.tensor("W_Q", d_model, flattened(H, d_k))
    i, h, r = s.index("i", T), s.index("h", H), s.index("r", d_k)
    block = array(d_model, d_k, lambda m, a: W_Q[m, pair(h, a)])
    return eq(Sum(d_model, lambda m: X[i, m] * W_Q[m, pair(h, r)]), (X @ block)[i, r])


def proof(p: Proof) -> None:
    d_model, d_k, X, W_Q, i, h, r = p["d_model d_k X W_Q i h r"]
    block = array(d_model, d_k, lambda m, a: W_Q[m, pair(h, a)])
    p.line((X @ block)[i, r], "unfold")


def flat(s: Scope) -> Claim:
    T, d_model, H, d_k = s.dimensions("T d_model H d_k")
    X, W_Q = s.tensor("X", T, d_model), s.tensor("W_Q", d_model, H * d_k)
    i, h, r = s.index("i", T), s.index("h", H), s.index("r", d_k)
    block = array(d_model, d_k, lambda m, a: W_Q[m, (h - 1) * d_k + a])
    return eq((X @ W_Q)[i, (h - 1) * d_k + r], (X @ block)[i, r])


def flat_proof(p: Proof) -> None:
    d_model, d_k, X, W_Q, i, h, r = p["d_model d_k X W_Q i h r"]
    column = (h - 1) * d_k + r
    block = array(d_model, d_k, lambda m, a: W_Q[m, (h - 1) * d_k + a])
    p.line(Sum(d_model, lambda m: X[i, m] * W_Q[m, column]), "unfold")
    p.line((X @ block)[i, r], "unfold")


def interleaved(s: Scope) -> Claim:
    T, d_model, H, d_k = s.dimensions("T d_model H d_k")
    X, W_Q = s.tensor("X", T, d_model), s.tensor("W_Q", d_model, H * d_k)
    i, h, r = s.index("i", T), s.index("h", H), s.index("r", d_k)
    block = array(d_model, d_k, lambda m, a: W_Q[m, (h - 1) * d_k + a])
    return eq((X @ W_Q)[i, (r - 1) * H + h], (X @ block)[i, r])


THEOREM = Theorem(
    id="head_blocks",
    chapter="heads",
    title={"en": "Heads are column blocks", "ko": "헤드는 열 블록"},
    prose={
        "en": "Implementations compute all heads' queries in one product $XW_Q$ and split the "
        "columns. Columns $(h-1)d_k+1,\\dots,h\\,d_k$ are exactly $XW_Q^{(h)}$. Splitting them in an "
        "interleaved order gives other heads: this is the difference between reshaping to "
        "$(T,H,d_k)$ and to $(T,d_k,H)$.",
        "ko": "구현에서는 모든 헤드의 쿼리를 $XW_Q$로 한꺼번에 구한 뒤 열을 나눕니다. "
        "${(h-1)d_k}+1,\\dots,h\\,d_k$열이 바로 $XW_Q^{(h)}$입니다. 열을 번갈아 나누면 다른 헤드가 됩니다. "
        "모양을 $(T,H,d_k)$로 바꾸는 것과 $(T,d_k,H)$로 바꾸는 것의 차이입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(flat, flat_proof, name="flat", title={"en": "On a plain axis", "ko": "펼친 축에서"}),
    ),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The columns of the heads are interleaved",
                "ko": "헤드의 열이 번갈아 놓인다는 주장",
            },
            interleaved,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$H=2$, $d_k=2$, $xW_Q=(1,2,3,4)$: the heads' queries are $(1,2)$ and $(3,4)$; "
        r"interleaved they would be $(1,3)$ and $(2,4)$.",
        "ko": r"$H=2$, $d_k=2$이고 $xW_Q=(1,2,3,4)$이면 두 헤드의 쿼리는 $(1,2)$, $(3,4)$입니다. 번갈아 "
        r"나누면 $(1,3)$, $(2,4)$가 됩니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
