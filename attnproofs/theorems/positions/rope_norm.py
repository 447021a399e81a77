"""Rotary positions keep the length of a vector."""

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
    lemma,
    rope,
    rotation,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.positions.rotation_addition import THEOREM as rotation_addition
from attnproofs.theorems.positions.rotation_addition import on_circle


def declare(s: Scope) -> None:
    h = s.dimension("h")
    s.dimension("t", least=0)
    s.tensor("q", h, 2)
    c, sine = s.tensor("c", h), s.tensor("s", h)
    s.assume("circle", lambda a: eq(c[a] * c[a] + sine[a] * sine[a], 1), over={"a": h})


def statement(s: Scope) -> Claim:
    declare(s)
    h, t, q, c, sine = s["h t q c s"]
    turned = rope(t, q, c, sine)
    return eq(
        Sum(h, lambda a: Sum(2, lambda r: turned[a, r] ** 2)),
        Sum(h, lambda a: Sum(2, lambda r: q[a, r] ** 2)),
    )


def proof(p: Proof) -> None:
    h, t, q, c, sine = p["h t q c s"]

    def circle(a: Ix) -> Expr:
        turn = rotation(t, c[a], sine[a])
        found: Expr = turn[1] * turn[1] + turn[2] * turn[2]
        return found

    p.line(
        Sum(h, lambda a: (q[a, 1] ** 2 + q[a, 2] ** 2) * circle(a)),
        "unfold:rope",
        "sum_literal",
        "ind_val",
    )
    p.line(
        Sum(h, lambda a: (q[a, 1] ** 2 + q[a, 2] ** 2) * 1), lemma((rotation_addition, "length"))
    )
    p.line(Sum(h, lambda a: Sum(2, lambda r: q[a, r] ** 2)), "sum_literal")


def unmoved(s: Scope) -> Claim:
    declare(s)
    h, t, q, c, sine = s["h t q c s"]
    k = s.tensor("k", h, 2)
    turned = rope(t, q, c, sine)
    return eq(
        Sum(h, lambda a: Sum(2, lambda r: turned[a, r] * k[a, r])),
        Sum(h, lambda a: Sum(2, lambda r: q[a, r] * k[a, r])),
    )


def attempt(p: Proof) -> None:
    h, q, k = p["h q k"]
    p.line(
        Sum(h, lambda a: Sum(2, lambda r: q[a, r] * k[a, r])),
        "unfold:rope",
        "sum_literal",
        "ind_val",
        "ind_bool",
    )


def turns(rng: Random) -> dict[str, Any]:
    h = rng.randint(1, 2)
    angles = [on_circle(rng) for _ in range(h)]
    return {"h": h, "c": [u["c"] for u in angles], "s": [u["s"] for u in angles]}


THEOREM = Theorem(
    id="rope_norm",
    chapter="positions",
    title={"en": "Rotary positions keep lengths", "ko": "회전 위치 인코딩은 길이를 보존한다"},
    prose={
        "en": r"Rotating pairs of coordinates changes directions but no lengths: positions "
        r"neither amplify nor damp queries and keys, so the scale of the scores stays what "
        r"$1/\sqrt{d_k}$ was chosen for.",
        "ko": r"좌표쌍을 회전하면 방향만 바뀌고 길이는 변하지 않습니다. 위치가 쿼리와 키를 "
        r"키우거나 줄이지 않으므로, 점수의 크기는 $1/\sqrt{d_k}$로 맞춘 그대로입니다.",
    },
    parts=(Part(statement, proof, instance=turns),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Rotating the query alone leaves its scores unchanged",
                "ko": "쿼리만 회전해도 점수는 변하지 않는다는 주장",
            },
            statement=unmoved,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=turns,
        ),
    ),
    numbers={
        "en": r"$(3,4)$ rotated by $90^\circ$ is $(-4,3)$; both have length 5.",
        "ko": r"$(3,4)$를 $90^\circ$ 회전하면 $(-4,3)$이며, 둘 다 길이가 5입니다.",
    },
    references=("su2021",),
)


if __name__ == "__main__":
    THEOREM.main()
