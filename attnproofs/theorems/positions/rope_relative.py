"""Rotary positions: the score depends on the difference of positions only."""

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
    for name in ("m", "n", "t"):
        s.dimension(name, least=0)
    s.tensor("q", h, 2)
    s.tensor("k", h, 2)
    c, sine = s.tensor("c", h), s.tensor("s", h)
    s.assume("circle", lambda a: eq(c[a] * c[a] + sine[a] * sine[a], 1), over={"a": h})


def score(s: Scope | Proof, m: Ix, n: Ix) -> Expr:
    """Return the dot product of the query rotated m times and the key rotated n times."""
    h, q, k, c, sine = s["h q k c s"]
    Q, K = rope(m, q, c, sine), rope(n, k, c, sine)
    return Sum(h, lambda a: Sum(2, lambda r: Q[a, r] * K[a, r]))


def statement(s: Scope) -> Claim:
    declare(s)
    m, n, t = s["m n t"]
    return eq(score(s, m + t, n + t), score(s, m, n))


def pair(
    q: tuple[Expr, Expr], k: tuple[Expr, Expr], turn: tuple[Expr, Expr], other: tuple[Expr, Expr]
) -> Expr:
    """Return the contribution of one pair of coordinates, rotated by `turn` and by `other`."""
    (q1, q2), (k1, k2), (cm, sm), (cn, sn) = q, k, turn, other
    found: Expr = (q1 * cm - q2 * sm) * (k1 * cn - k2 * sn) + (q1 * sm + q2 * cm) * (
        k1 * sn + k2 * cn
    )
    return found


def proof(p: Proof) -> None:
    h, m, n, t, q, k, c, sine = p["h m n t q k c s"]

    def line(m: Ix, n: Ix) -> Expr:
        def term(a: Ix) -> Expr:
            left, right = rotation(m, c[a], sine[a]), rotation(n, c[a], sine[a])
            return pair(
                (q[a, 1], q[a, 2]), (k[a, 1], k[a, 2]), (left[1], left[2]), (right[1], right[2])
            )

        return Sum(h, term)

    p.line(line(m + t, n + t), "unfold:rope", "sum_literal", "ind_val")
    p.line(
        line(m, n),
        lemma(
            (THEOREM, "pair"),
            within=lambda a: {
                "c": c[a],
                "s": sine[a],
                "q_1": q[a, 1],
                "q_2": q[a, 2],
                "k_1": k[a, 1],
                "k_2": k[a, 2],
            },
        ),
    )
    p.line(score(p, m, n), "unfold:rope", "sum_literal", "ind_val")


def declare_pair(s: Scope) -> None:
    for name in ("m", "n", "t"):
        s.dimension(name, least=0)
    for name in ("q_1", "q_2", "k_1", "k_2"):
        s.scalar(name)
    c, sine = s.scalar("c"), s.scalar("s")
    s.assume("circle", eq(c * c + sine * sine, 1))


def turned(s: Scope | Proof, m: Ix, n: Ix) -> Expr:
    q, k = s["q_1 q_2"], s["k_1 k_2"]
    left, right = rotation(m, *s["c s"]), rotation(n, *s["c s"])
    return pair(q, k, (left[1], left[2]), (right[1], right[2]))


def one_pair(s: Scope) -> Claim:
    declare_pair(s)
    m, n, t = s["m n t"]
    return eq(turned(s, m + t, n + t), turned(s, m, n))


def proof_one_pair(p: Proof) -> None:
    m, n, t = p["m n t"]
    q, k = p["q_1 q_2"], p["k_1 k_2"]
    left, right, both = (rotation(x, *p["c s"]) for x in (m, n, t))
    ct, st = both[1], both[2]

    def after(r: Array) -> tuple[Expr, Expr]:
        return r[1] * ct - r[2] * st, r[2] * ct + r[1] * st

    p.line(
        pair(q, k, after(left), after(right)),
        lemma(rotation_addition, m=m, t=t),
        lemma(rotation_addition, m=n, t=t),
        "ind_val",
    )
    p.line(turned(p, m, n) * (ct * ct + st * st), "ring")
    p.line(turned(p, m, n) * 1, lemma((rotation_addition, "length")))
    p.line(turned(p, m, n), "ring")


def additive(s: Scope) -> Claim:
    N, d = s.dimensions("N d")
    m, n, t = (s.dimension(name) for name in ("m", "n", "t"))
    s.assume("m_within", m + t <= N)
    s.assume("n_within", n + t <= N)
    q, k, P = s.tensor("q", d), s.tensor("k", d), s.tensor("P", N, d)

    def at(m: Ix, n: Ix) -> Expr:
        return Sum(d, lambda a: (q[a] + P[m, a]) * (k[a] + P[n, a]))

    return eq(at(m + t, n + t), at(m, n))


def quarter_turn(rng: Random) -> dict[str, Any]:
    h = rng.randint(1, 2)
    turns = [on_circle(rng) for _ in range(h)]
    return {"h": h, "c": [u["c"] for u in turns], "s": [u["s"] for u in turns]}


def within(rng: Random) -> dict[str, Any]:
    return {"N": 4, "m": 1, "n": 2, "t": 2}


THEOREM = Theorem(
    id="rope_relative",
    chapter="positions",
    title={"en": "Rotary positions are relative", "ko": "회전 위치 인코딩은 상대적이다"},
    prose={
        "en": "Rotate each pair of coordinates of a query at position $m$ by $m$ times an "
        "angle, and of a key at position $n$ by $n$ times the same angle. Then moving both by "
        "$t$ positions leaves the score as it was: it depends on $n-m$ only. Each pair may "
        "have an angle of its own.",
        "ko": "위치 $m$의 쿼리는 좌표를 두 개씩 묶은 쌍마다 어떤 각의 $m$배만큼, 위치 $n$의 키는 "
        "같은 각의 $n$배만큼 회전합니다. 그러면 둘을 함께 $t$칸 옮겨도 점수는 변하지 않으며, "
        "점수는 $n-m$에만 의존합니다. 각은 쌍마다 달라도 됩니다.",
    },
    parts=(
        Part(statement, proof, instance=quarter_turn),
        Part(
            one_pair,
            proof_one_pair,
            name="pair",
            title={"en": "One pair of coordinates", "ko": "좌표 한 쌍"},
            instance=on_circle,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Learned vectors added to queries and keys are relative, too",
                "ko": "학습한 벡터를 쿼리와 키에 더해도 상대적이라는 주장",
            },
            statement=additive,
            because="the two sides are not equal by ring",
            instance=within,
        ),
    ),
    numbers={
        "en": r"Angle $60^\circ$, $q=k=(1,0)$: positions $(2,3)$ and $(7,8)$ both give "
        r"$\cos60^\circ=0.5$.",
        "ko": r"각이 $60^\circ$이고 $q=k=(1,0)$이면 위치 $(2,3)$과 $(7,8)$에서 모두 "
        r"$\cos60^\circ=0.5$입니다.",
    },
    references=("su2021",),
)


if __name__ == "__main__":
    THEOREM.main()
