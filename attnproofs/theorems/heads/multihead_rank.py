"""The sum of the heads' value maps has rank at most H d_v."""

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
    factors,
    flattened,
    pair,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    """Declare the value and output projections of all heads, side by side."""
    d_model, H, d_v = s.dimensions("d_model H d_v")
    s.tensor("W_V", d_model, flattened(H, d_v))
    s.tensor("W_O", flattened(H, d_v), d_model)
    s.index("i", d_model)
    s.index("j", d_model)


def maps(s: Any) -> Expr:
    """Return an entry of the sum of the heads' value maps."""
    d_model, H, d_v, W_V, W_O, i, j = s["d_model H d_v W_V W_O i j"]

    def down(h: Ix) -> Array:
        return array(d_model, d_v, lambda m, r: W_V[m, pair(h, r)])

    def up(h: Ix) -> Array:
        return array(d_v, d_model, lambda r, m: W_O[pair(h, r), m])

    return Sum(H, lambda h: (down(h) @ up(h))[i, j])


def statement(s: Scope) -> Claim:
    declare(s)
    return factors(maps(s), s["i"], s["j"], through=flattened(s["H"], s["d_v"]))


def proof(p: Proof) -> None:
    H, d_v, W_V, W_O, i, j = p["H d_v W_V W_O i j"]
    p.line(Sum(H, lambda h: Sum(d_v, lambda r: W_V[i, pair(h, r)] * W_O[pair(h, r), j])), "unfold")
    p.line(Sum(flattened(H, d_v), lambda c: W_V[i, c] * W_O[c, j]), "sum_pair")


def one_head(s: Scope) -> Claim:
    declare(s)
    return factors(maps(s), s["i"], s["j"], through=s["d_v"])


THEOREM = Theorem(
    id="multihead_rank",
    chapter="heads",
    title={"en": "Rank of all heads together", "ko": "모든 헤드를 합한 계수"},
    prose={
        "en": r"One head's value map has rank at most $d_v$; the sum of $H$ of them has rank at "
        r"most $H\,d_v$. With $H\,d_v=d_{\mathrm{model}}$ and $H\ge2$ the heads together can "
        r"express a full-rank map, which no head can alone.",
        "ko": r"헤드 하나의 밸류 사상은 계수(rank)가 $d_v$ 이하이고, $H$개를 더하면 $H\,d_v$ "
        r"이하입니다. $H\,d_v=d_{\mathrm{model}}$이고 $H\ge2$이면 헤드 하나로는 불가능한, "
        r"계수가 최대인 사상도 여러 헤드가 함께 나타낼 수 있습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The rank stays at most $d_v$", "ko": "계수가 여전히 $d_v$ 이하라는 주장"},
            one_head,
            proof,
            because="the inner size is not the one that is claimed",
        ),
    ),
    numbers={
        "en": r"$d_{\mathrm{model}}=2$, two heads of $d_v=1$ with value maps $e_1e_1^\top$ and "
        r"$e_2e_2^\top$: each has rank $1$, their sum is the identity, of rank $2=H\,d_v$.",
        "ko": r"$d_{\mathrm{model}}=2$이고 $d_v=1$인 두 헤드의 밸류 사상이 $e_1e_1^\top$, "
        r"$e_2e_2^\top$이면 각각의 계수는 $1$이고, 합은 단위행렬로 계수가 $2=H\,d_v$입니다.",
    },
    references=("elhage2021",),
)


if __name__ == "__main__":
    THEOREM.main()
