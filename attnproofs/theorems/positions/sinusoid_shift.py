"""Sinusoidal encodings at t + δ are a fixed linear map of those at t."""

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
    ind,
    lemma,
    rotation,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.positions.rotation_addition import THEOREM as rotation_addition
from attnproofs.theorems.positions.rotation_addition import on_circle


def declare(s: Scope) -> None:
    h = s.dimension("h")
    s.dimension("t", least=0)
    s.dimension("δ", least=0)
    s.tensor("c", h)
    s.tensor("s", h)


def encoding(s: Scope | Proof, t: Ix) -> Array:
    """Return the encoding of position t: cosine and sine of t times the angle of each pair."""
    h, c, sine = s["h c s"]
    return array(h, 2, lambda a, r: rotation(t, c[a], sine[a])[r])


def turn(s: Scope | Proof, t: Ix, a: Ix) -> tuple[Expr, Expr]:
    c, sine = s["c s"]
    found = rotation(t, c[a], sine[a])
    return found[1], found[2]


def shift(s: Scope | Proof, a: Ix) -> Array:
    """Return the rotation by δ steps, in which t does not occur."""
    u, v = turn(s, s["δ"], a)
    return array(
        2,
        2,
        lambda r, b: (
            ind(r.is_(1)) * (ind(b.is_(1)) * u - ind(~b.is_(1)) * v)
            + ind(~r.is_(1)) * (ind(b.is_(1)) * v + ind(~b.is_(1)) * u)
        ),
    )


def statement(s: Scope) -> Claim:
    declare(s)
    t, step = s["t δ"]
    a, r = s.index("a", s["h"]), s.index("r", 2)
    before = encoding(s, t)
    return eq(encoding(s, t + step)[a, r], Sum(2, lambda b: shift(s, a)[r, b] * before[a, b]))


def proof(p: Proof) -> None:
    t, step, c, sine, a, r = p["t δ c s a r"]
    (x, y), (u, v) = turn(p, t, a), turn(p, step, a)
    before = encoding(p, t)
    p.line(
        ind(r.is_(1)) * (x * u - y * v) + ind(~r.is_(1)) * (y * u + x * v),
        lemma(rotation_addition, m=t, t=step, c=c[a], s=sine[a], r=r),
    )
    p.line(Sum(2, lambda b: shift(p, a)[r, b] * before[a, b]), "sum_literal", "ind_val")


def product(s: Scope) -> Claim:
    declare(s)
    h, t, step, c, sine = s["h t δ c s"]
    s.assume("circle", lambda a: eq(c[a] * c[a] + sine[a] * sine[a], 1), over={"a": h})
    here, there = encoding(s, t), encoding(s, t + step)
    return eq(
        Sum(h, lambda a: Sum(2, lambda r: here[a, r] * there[a, r])),
        Sum(h, lambda a: turn(s, step, a)[0]),
    )


def proof_product(p: Proof) -> None:
    h, t, step = p["h t δ"]

    def term(a: Ix) -> Expr:
        (x, y), (u, v) = turn(p, t, a), turn(p, step, a)
        return x * (x * u - y * v) + y * (y * u + x * v)

    def scaled(a: Ix) -> Expr:
        (x, y), (u, _) = turn(p, t, a), turn(p, step, a)
        return u * (x * x + y * y)

    def apart(a: Ix) -> Expr:
        (x, y), (z, w) = turn(p, t, a), turn(p, t + step, a)
        return x * z + y * w

    p.line(Sum(h, apart), "sum_literal")
    p.line(Sum(h, term), lemma(rotation_addition, m=t, t=step), "ind_val")
    p.line(Sum(h, scaled), "ring")
    p.line(Sum(h, lambda a: turn(p, step, a)[0] * 1), lemma((rotation_addition, "length")))


def additive(s: Scope) -> Claim:
    declare(s)
    h, t, step = s["h t δ"]
    a, r = s.index("a", h), s.index("r", 2)
    return eq(
        encoding(s, t + step)[a, r] - encoding(s, t)[a, r],
        encoding(s, step)[a, r] - ind(r.is_(1)),
    )


def attempt(p: Proof) -> None:
    t, step, c, sine, a, r = p["t δ c s a r"]
    (x, y), (u, v) = turn(p, t, a), turn(p, step, a)
    p.line(
        ind(r.is_(1)) * (x * u - y * v) + ind(~r.is_(1)) * (y * u + x * v) - encoding(p, t)[a, r],
        lemma(rotation_addition, m=t, t=step, c=c[a], s=sine[a], r=r),
    )
    p.line(encoding(p, step)[a, r] - ind(r.is_(1)), "ind_bool")


def angles(rng: Random) -> dict[str, Any]:
    h = rng.randint(1, 2)
    circle = [on_circle(rng) for _ in range(h)]
    return {"h": h, "c": [u["c"] for u in circle], "s": [u["s"] for u in circle]}


THEOREM = Theorem(
    id="sinusoid_shift",
    chapter="positions",
    title={
        "en": "Sinusoidal positions shift linearly",
        "ko": "사인파 위치 인코딩의 이동은 선형이다",
    },
    prose={
        "en": r"The encoding of position $t+\delta$ is the encoding of $t$, rotated pair by "
        r"pair by a matrix that depends on $\delta$ and not on $t$. So a linear layer can look "
        r"at a fixed distance. The second part: the dot product of two encodings is the sum of "
        r"the cosines of their distance, wherever they stand.",
        "ko": r"위치 $t+\delta$의 인코딩은 위치 $t$의 인코딩을 쌍마다 회전한 것이며, 그 행렬은 "
        r"$\delta$에만 의존하고 $t$에는 의존하지 않습니다. 그래서 선형 층이 일정한 거리만큼 "
        r"떨어진 위치를 볼 수 있습니다. 둘째 명제에 따르면 두 인코딩의 내적은 어디에 있든 둘 "
        r"사이의 거리에 해당하는 각의 코사인을 쌍마다 더한 값입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            product,
            proof_product,
            name="product",
            title={"en": "The dot product of two encodings", "ko": "두 인코딩의 내적"},
            instance=angles,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"Moving by $\delta$ adds the same vector everywhere",
                "ko": r"$\delta$만큼 옮기면 어디에서나 같은 벡터가 더해진다는 주장",
            },
            statement=additive,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=angles,
        ),
    ),
    numbers={
        "en": r"Angle $90^\circ$: $E(1)=(0,1)$, $E(2)=(-1,0)$, $E(3)=(0,-1)$; each is the one "
        r"before, turned by $90^\circ$.",
        "ko": r"각이 $90^\circ$이면 $E(1)=(0,1)$, $E(2)=(-1,0)$, $E(3)=(0,-1)$로, 저마다 앞의 "
        r"것을 $90^\circ$ 돌린 것입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
