"""With H = 1 the multi-head layer is the single-head formula."""

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
    flattened,
    pair,
    span,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, d_v, d_model = s.dimensions("T d_v d_model")
    s.tensor("C", T, flattened(1, d_v))
    s.tensor("W_O", flattened(1, d_v), d_model)
    s.index("i", T)
    s.index("m", d_model)


def layer(s: Scope | Proof) -> Expr:
    d_v, C, W_O, i, m = s["d_v C W_O i m"]
    return Sum(flattened(1, d_v), lambda c: C[i, c] * W_O[c, m])


def first(s: Scope | Proof) -> tuple[Array, Array]:
    """Return the only head, and the whole of W_O, on plain axes."""
    T, d_v, d_model, C, W_O = s["T d_v d_model C W_O"]
    one = span(1, 1).size
    return (
        array(T, d_v, lambda t, r: C[t, pair(one, r)]),
        array(d_v, d_model, lambda r, k: W_O[pair(one, r), k]),
    )


def statement(s: Scope) -> Claim:
    declare(s)
    head, W_O = first(s)
    return eq(layer(s), (head @ W_O)[s["i"], s["m"]])


def proof(p: Proof) -> None:
    head, W_O = first(p)
    C, full, i, m, d_v = p["C W_O i m d_v"]
    p.line(Sum(1, lambda h: Sum(d_v, lambda r: C[i, pair(h, r)] * full[pair(h, r), m])), "sum_pair")
    p.line(Sum(d_v, lambda r: head[i, r] * W_O[r, m]), "sum_single")
    p.line((head @ W_O)[i, m], "unfold")


def without_projection(s: Scope) -> Claim:
    T, d_v = s.dimensions("T d_v")
    C, W_O = s.tensor("C", T, flattened(1, d_v)), s.tensor("W_O", flattened(1, d_v), d_v)
    i, m = s.index("i", T), s.index("m", d_v)
    return eq(Sum(flattened(1, d_v), lambda c: C[i, c] * W_O[c, m]), C[i, pair(span(1, 1).size, m)])


THEOREM = Theorem(
    id="single_head_case",
    chapter="heads",
    title={"en": "One head", "ko": "헤드가 하나일 때"},
    prose={
        "en": "With $H=1$ the concatenation is the only head and $W_O$ is its only block: the "
        "multi-head layer is the single-head formula. $W_O$ does not disappear.",
        "ko": "$H=1$이면 이어 붙인 것은 하나뿐인 헤드이고 $W_O$는 하나뿐인 블록이므로, "
        "멀티헤드 층은 단일 헤드의 식과 같습니다. $W_O$가 사라지지는 않습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "With one head $W_O$ may be left out",
                "ko": "헤드가 하나이면 $W_O$를 빼도 된다는 주장",
            },
            statement=without_projection,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"Head $(1,2)$, $W_O=(3,4)^\top$: $1\cdot3+2\cdot4=11$.",
        "ko": r"헤드가 $(1,2)$, $W_O=(3,4)^\top$이면 $1\cdot3+2\cdot4=11$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
