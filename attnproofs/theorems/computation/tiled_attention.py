"""Attention computed tile by tile is attention, exactly."""

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
    eq,
    exp,
    lemma,
    lt,
    sign,
    softmax,
)
from attnproofs.calculus.symbols import as_expr
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.computation.tiled_state import (
    THEOREM as tiled_state,
)
from attnproofs.theorems.computation.tiled_state import (
    borders,
    declare_state,
    declare_tiles,
)


def attention(s: Any) -> Expr:
    """Return the output of one query: the softmax average of the values."""
    n, x, v = s["n s v"]
    return Sum(n, lambda j: softmax(x)[j] * v[j])


def ones(s: Any) -> Array:
    """Return the factors of the denominator."""
    return array(s["n"], lambda j: as_expr(1))


def declare(s: Scope, *, rescaled: bool = True) -> None:
    """Declare tiles, values, and the running sum L and output O."""
    declare_tiles(s)
    v = s.tensor("v", s["n"])
    declare_state(s, "L", None)
    declare_state(s, "O", v, rescaled=rescaled)


def statement(s: Scope) -> Claim:
    declare(s)
    return eq(s["O"][s["B"]], s["L"][s["B"]] * attention(s))


def proof(p: Proof) -> None:
    n, B, x, m, v, L, O = p["n B s m v L O"]
    Z = Sum(n, lambda l: exp(x[l]))
    back = exp(-1 * m[B])
    p.line(back * (exp(m[B]) * O[B]), "expring")
    p.line(back * Sum(n, lambda j: exp(x[j]) * v[j]), lemma(tiled_state, u=v, O=O))
    p.line(back * Z * Sum(n, lambda j: exp(x[j]) / Z * v[j]), "sum_scale")
    p.line(
        back * (exp(m[B]) * L[B]) * Sum(n, lambda j: exp(x[j]) / Z * v[j]),
        lemma(tiled_state, u=ones(p), O=L, back=True, only=0),
    )
    p.line(L[B] * attention(p), "expring", "unfold")


def positive(s: Scope) -> Claim:
    declare_tiles(s)
    declare_state(s, "L", None)
    return lt(0, s["L"][s["B"]])


def positive_proof(p: Proof) -> None:
    n, B, x, m, L = p["n B s m L"]
    back = exp(-1 * m[B])
    p.lt(back * Sum(n, lambda j: exp(x[j])), sign())
    p.line(back * (exp(m[B]) * L[B]), lemma(tiled_state, u=ones(p), O=L, back=True))
    p.line(L[B], "expring")


def only_the_sum(s: Scope) -> Claim:
    declare(s, rescaled=False)
    return eq(s["O"][s["B"]], s["L"][s["B"]] * attention(s))


THEOREM = Theorem(
    id="tiled_attention",
    chapter="computation",
    title={"en": "Tiled attention is exact", "ko": "타일 어텐션은 정확하다"},
    prose={
        "en": r"FlashAttention visits the keys tile by tile, keeping for each query a shift, a "
        r"sum $L$ and an output $O$, both rescaled when the shift changes. At the end "
        r"$O_B=L_B\cdot o$ with the output $o$ of ordinary attention, and $L_B>0$, so that "
        r"$O_B/L_B$ is attention: not an approximation, for any tiles and any shifts.",
        "ko": "FlashAttention은 키를 타일 단위로 훑으면서 쿼리마다 이동값과 합 $L$, 출력 $O$를 유지하고, "
        "이동값이 바뀌면 둘의 크기를 함께 맞춥니다. 마지막에는 보통 어텐션의 출력 $o$에 대하여 "
        "$O_B=L_B\\cdot o$이고 $L_B>0$이므로 $O_B/L_B$가 바로 어텐션입니다. 타일과 이동값이 무엇이든 "
        "근사가 아니라 정확히 같습니다.",
    },
    parts=(
        Part(statement, proof, instance=borders),
        Part(
            positive,
            positive_proof,
            name="positive",
            title={"en": "The sum is positive", "ko": "합은 양수"},
            instance=borders,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {"en": "Rescaling the sum alone is enough", "ko": "합의 크기만 맞추면 된다는 주장"},
            only_the_sum,
            proof,
            because="needs its hypothesis O_step",
            instance=borders,
        ),
    ),
    numbers={
        "en": r"Scores $0,\ln2$, values $3,6$, two tiles with shifts $0,\ln2$: $L=1$ and $O=3$, then "
        r"$L=\tfrac12+1=\tfrac32$ and $O=\tfrac32+6=\tfrac{15}2$; $O/L=5=\tfrac13\cdot3+\tfrac23\cdot6$.",
        "ko": r"점수 $0,\ln2$, 밸류 $3,6$을 두 타일로 나누고 이동값을 $0,\ln2$라 하면 $L=1$, $O=3$, 이어서 "
        r"$L=\tfrac12+1=\tfrac32$, $O=\tfrac32+6=\tfrac{15}2$입니다. "
        r"$O/L=5=\tfrac13\cdot3+\tfrac23\cdot6$입니다.",
    },
    references=("dao2022", "dao2023", "milakov2018", "rabe2021"),
)


if __name__ == "__main__":
    THEOREM.main()
