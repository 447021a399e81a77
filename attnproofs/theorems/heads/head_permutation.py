"""Permuting the heads together with their blocks of W_O changes nothing."""

from collections.abc import Callable
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    reindex,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, H, d_v, d_model = s.dimensions("T H d_v d_model")
    order, back = s.function("π", H, into=H), s.function("ρ", H, into=H)
    s.assume("left_inverse", lambda h: back(order(h)).is_(h), over={"h": H})
    s.assume("right_inverse", lambda h: order(back(h)).is_(h), over={"h": H})
    s.tensor("head", H, T, d_v)
    s.tensor("W_O", H, d_v, d_model)
    s.index("i", T)
    s.index("m", d_model)


def layer(s: Scope | Proof, heads: Callable[[Ix], Ix], blocks: Callable[[Ix], Ix]) -> Expr:
    """Return an entry of the sum over heads, the heads and the blocks taken in the given orders."""
    H, head, W_O, i, m = s["H head W_O i m"]
    return Sum(H, lambda h: (head[heads(h)] @ W_O[blocks(h)])[i, m])


def same(h: Ix) -> Ix:
    return h


def statement(s: Scope) -> Claim:
    declare(s)
    order = s["π"]
    return eq(layer(s, order, order), layer(s, same, same))


def proof(p: Proof) -> None:
    p.line(layer(p, same, same), reindex(p["π"], p["ρ"]))


def heads_only(s: Scope) -> Claim:
    declare(s)
    return eq(layer(s, s["π"], same), layer(s, same, same))


def attempt(p: Proof) -> None:
    p.line(layer(p, same, same), "unfold")


def permutation(rng: Random) -> dict[str, Any]:
    H = rng.randint(2, 3)
    values = rng.sample(range(1, H + 1), H)
    return {"H": H, "π": values, "ρ": [values.index(h) + 1 for h in range(1, H + 1)]}


THEOREM = Theorem(
    id="head_permutation",
    chapter="heads",
    title={"en": "Heads have no order", "ko": "헤드에는 순서가 없다"},
    prose={
        "en": "If the heads are listed in another order and the blocks of $W_O$ with them, the "
        "layer computes the same. The number of a head means nothing by itself; permuting the "
        "heads without their blocks of $W_O$ does change the result.",
        "ko": "헤드의 순서를 바꾸면서 $W_O$의 블록도 함께 바꾸면 층이 계산하는 값은 같습니다. "
        "헤드의 번호 자체에는 뜻이 없습니다. 그러나 $W_O$의 블록을 그대로 두고 헤드만 섞으면 "
        "결과가 달라집니다.",
    },
    parts=(Part(statement, proof, instance=permutation),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Permuting the heads alone changes nothing",
                "ko": "헤드만 섞어도 아무것도 변하지 않는다는 주장",
            },
            statement=heads_only,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=permutation,
        ),
    ),
    numbers={
        "en": r"Heads $(1,2)$, blocks $(3,5)$: $1\cdot3+2\cdot5=13=2\cdot5+1\cdot3$; heads "
        r"alone swapped: $2\cdot3+1\cdot5=11$.",
        "ko": r"헤드가 $(1,2)$, 블록이 $(3,5)$이면 $1\cdot3+2\cdot5=13=2\cdot5+1\cdot3$이고, "
        r"헤드만 바꾸면 $2\cdot3+1\cdot5=11$입니다.",
    },
    references=("vaswani2017", "elhage2021"),
)


if __name__ == "__main__":
    THEOREM.main()
