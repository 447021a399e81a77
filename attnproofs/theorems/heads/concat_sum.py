"""Concatenating heads and projecting is the sum of the heads' own projections."""

from random import Random
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
    hyp,
    lemma,
    pair,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_flat import THEOREM as sum_flat


def declare(s: Scope) -> None:
    """Declare heads, their concatenation on the flattened axis, and the output projection."""
    T, H, d_v, d_model = s.dimensions("T H d_v d_model")
    head = s.tensor("head", H, T, d_v)
    C = s.tensor("C", T, flattened(H, d_v))
    s.tensor("W_O", flattened(H, d_v), d_model)
    s.index("i", T)
    s.index("m", d_model)
    s.assume(
        "concat",
        lambda h, t, r: eq(C[t, pair(h, r)], head[h, t, r]),
        over={"h'": H, "t'": T, "r'": d_v},
    )


def block(s: Any, h: Ix) -> Array:
    """Return the rows of W_O that belong to head h."""
    return array(s["d_v"], s["d_model"], lambda r, m: s["W_O"][pair(h, r), m])


def projected(s: Any) -> Expr:
    """Return an entry of the concatenation times W_O."""
    H, d_v, C, W_O, i, m = s["H d_v C W_O i m"]
    return Sum(flattened(H, d_v), lambda c: C[i, c] * W_O[c, m])


def statement(s: Scope) -> Claim:
    declare(s)
    H, head, i, m = s["H head i m"]
    return eq(projected(s), Sum(H, lambda h: (head[h] @ block(s, h))[i, m]))


def proof(p: Proof) -> None:
    H, d_v, head, C, W_O, i, m = p["H d_v head C W_O i m"]

    def double(body: Any) -> Expr:
        return Sum(H, lambda h: Sum(d_v, lambda r: body(h, r) * W_O[pair(h, r), m]))

    p.line(double(lambda h, r: C[i, pair(h, r)]), "sum_pair")
    p.line(double(lambda h, r: head[h, i, r]), hyp("concat"))
    p.line(Sum(H, lambda h: (head[h] @ block(p, h))[i, m]), "unfold")


def declare_flat(s: Scope) -> None:
    """Declare the same with the concatenation on a plain axis of length H d_v."""
    T, H, d_v, d_model = s.dimensions("T H d_v d_model")
    head = s.tensor("head", H, T, d_v)
    C = s.tensor("C", T, H * d_v)
    s.tensor("W_O", H * d_v, d_model)
    s.index("i", T)
    s.index("m", d_model)
    s.assume(
        "contiguous",
        lambda h, t, r: eq(C[t, (h - 1) * d_v + r], head[h, t, r]),
        over={"h'": H, "t'": T, "r'": d_v},
    )


def flat(s: Scope) -> Claim:
    declare_flat(s)
    H, d_v, head, C, W_O, i, m = s["H d_v head C W_O i m"]
    return eq(
        Sum(H * d_v, lambda c: C[i, c] * W_O[c, m]),
        Sum(H, lambda h: Sum(d_v, lambda r: head[h, i, r] * W_O[(h - 1) * d_v + r, m])),
    )


def flat_proof(p: Proof) -> None:
    H, d_v, head, C, W_O, i, m = p["H d_v head C W_O i m"]

    def double(body: Any) -> Expr:
        return Sum(H, lambda h: Sum(d_v, lambda r: body(h, r) * W_O[(h - 1) * d_v + r, m]))

    p.line(
        double(lambda h, r: C[i, (h - 1) * d_v + r]),
        lemma(sum_flat, H=H, d=d_v, N=H * d_v, f=array(H * d_v, lambda c: C[i, c] * W_O[c, m])),
    )
    p.line(double(lambda h, r: head[h, i, r]), hyp("contiguous"))


def permuted(s: Scope) -> Claim:
    declare(s)
    H, d_v, head, W_O, i, m = s["H d_v head W_O i m"]
    π, back = s.function("π", H, into=H), s.function("ρ", H, into=H)
    s.assume("left_inverse", lambda h: back(π(h)).is_(h), over={"h'": H})
    s.assume("right_inverse", lambda h: π(back(h)).is_(h), over={"h'": H})
    return eq(
        projected(s),
        Sum(H, lambda h: Sum(d_v, lambda r: head[h, i, r] * W_O[pair(π(h), r), m])),
    )


def column_blocks(s: Scope) -> Claim:
    """Claim it for a square W_O, which alone has columns enough."""
    T, H, d_v = s.dimensions("T H d_v")
    head = s.tensor("head", H, T, d_v)
    C, W_O = s.tensor("C", T, H * d_v), s.tensor("W_O", H * d_v, H * d_v)
    i, m = s.index("i", T), s.index("m", H * d_v)
    s.assume(
        "contiguous",
        lambda h, t, r: eq(C[t, (h - 1) * d_v + r], head[h, t, r]),
        over={"h'": H, "t'": T, "r'": d_v},
    )
    return eq(
        Sum(H * d_v, lambda c: C[i, c] * W_O[c, m]),
        Sum(H, lambda h: Sum(d_v, lambda r: head[h, i, r] * W_O[m, (h - 1) * d_v + r])),
    )


def swapped(rng: Random) -> dict[str, Any]:
    return {"H": 2, "π": [2, 1], "ρ": [2, 1]}


def two_heads(rng: Random) -> dict[str, Any]:
    return {"H": 2}


THEOREM = Theorem(
    id="concat_sum",
    chapter="heads",
    title={"en": "Concatenation is a sum over heads", "ko": "이어 붙이기는 헤드의 합"},
    prose={
        "en": "Cut $W_O$ into blocks $W_O^{(h)}$ of $d_v$ rows, one for each head. Each head then "
        "adds its own update, for any number $H$ of heads: "
        "$\\mathrm{Concat}(\\mathrm{head}_1,\\dots,\\mathrm{head}_H)\\,W_O=\\sum_h\\mathrm{head}_h"
        "W_O^{(h)}$. The second part "
        "says the same for a plain axis on which head $h$ occupies the columns "
        "$(h-1)d_v+1,\\dots,h\\,d_v$.",
        "ko": r"$W_O$의 행을 헤드마다 $d_v$개씩 묶어 블록으로 나누면 "
        r"$\mathrm{Concat}(\mathrm{head}_1,\dots,\mathrm{head}_H)\,W_O=\sum_h\mathrm{head}_hW_O^{(h)}$입니다. "
        r"곧 헤드의 수 $H$와 관계없이 각 헤드가 자기 몫의 갱신을 더합니다. 둘째 명제는 헤드 "
        r"$h$가 ${(h-1)d_v}+1,\dots,h\,d_v$열을 차지하는 펼친 축에 대하여 같은 사실을 말합니다.",
    },
    parts=(
        Part(statement, proof),
        Part(flat, flat_proof, name="flat", title={"en": "On a plain axis", "ko": "펼친 축에서"}),
    ),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The blocks of $W_O$ may come in another order",
                "ko": "$W_O$의 블록 순서를 바꿔도 된다는 주장",
            },
            permuted,
            because="not equal",
            instance=swapped,
        ),
        FalseNeighbour(
            {"en": "The blocks of $W_O$ are column blocks", "ko": "$W_O$를 열로 나눈다는 주장"},
            column_blocks,
            because="not equal",
            instance=two_heads,
        ),
    ),
    numbers={
        "en": r"$H=2$, $d_v=1$: $(3\ \ 5)\begin{pmatrix}1&0\\2&1\end{pmatrix}"
        r"=3\,(1\ \ 0)+5\,(2\ \ 1)=(13\ \ 5)$.",
        "ko": r"$H=2$, $d_v=1$이면 $(3\ \ 5)\begin{pmatrix}1&0\\2&1\end{pmatrix}"
        r"=3\,(1\ \ 0)+5\,(2\ \ 1)=(13\ \ 5)$입니다.",
    },
    references=("vaswani2017", "elhage2021"),
)


if __name__ == "__main__":
    THEOREM.main()
