"""Merging partial softmax states is a sum: any order, any shift, with an identity."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    eq,
    exp,
    lt,
    rational_expr,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope, names: str) -> tuple[Expr, ...]:
    return tuple(s.scalar(name) for name in names.split())


def merged(first: tuple[Expr, Expr], second: tuple[Expr, Expr], shift: Expr) -> Expr:
    """Return the sum of the merged state at a new shift, from two states (shift, sum)."""
    (m1, l1), (m2, l2) = first, second
    found: Expr = l1 * exp(m1 - shift) + l2 * exp(m2 - shift)
    return found


def statement(s: Scope) -> Claim:
    m1, l1, m2, l2, shift = declare(s, "m_1 l_1 m_2 l_2 μ")
    return eq(exp(shift) * merged((m1, l1), (m2, l2), shift), exp(m1) * l1 + exp(m2) * l2)


def proof(p: Proof) -> None:
    m1, l1, m2, l2 = p["m_1 l_1 m_2 l_2"]
    p.line(exp(m1) * l1 + exp(m2) * l2, "expring")


def associative(s: Scope) -> Claim:
    m1, l1, m2, l2, m3, l3, mu, nu, last = declare(s, "m_1 l_1 m_2 l_2 m_3 l_3 μ ν κ")
    left = merged((mu, merged((m1, l1), (m2, l2), mu)), (m3, l3), last)
    right = merged((m1, l1), (nu, merged((m2, l2), (m3, l3), nu)), last)
    return eq(left, right)


def proof_associative(p: Proof) -> None:
    m1, l1, m2, l2, m3, l3 = p["m_1 l_1 m_2 l_2 m_3 l_3"]
    nu, last = p["ν κ"]
    p.line(exp(-last) * (exp(m1) * l1 + exp(m2) * l2 + exp(m3) * l3), "expring")
    p.line(merged((m1, l1), (nu, merged((m2, l2), (m3, l3), nu)), last), "expring")


def identity(s: Scope) -> Claim:
    m1, l1, m2, shift = declare(s, "m_1 l_1 m_2 μ")
    return eq(merged((m1, l1), (m2, rational_expr(0)), shift), l1 * exp(m1 - shift))


def proof_identity(p: Proof) -> None:
    m1, l1, shift = p["m_1 l_1 μ"]
    p.line(l1 * exp(m1 - shift), "ring")


def averaged(s: Scope) -> Claim:
    m1, l1, o1, m2, l2, o2, shift = declare(s, "m_1 l_1 o_1 m_2 l_2 o_2 μ")
    s.assume("first", lt(0, l1))
    s.assume("second", lt(0, l2))
    out = merged((m1, o1), (m2, o2), shift) / merged((m1, l1), (m2, l2), shift)
    return eq(out, (o1 / l1 + o2 / l2) / 2)


def attempt(p: Proof) -> None:
    l1, o1, l2, o2 = p["l_1 o_1 l_2 o_2"]
    p.line((o1 / l1 + o2 / l2) / 2, "expring")


def unequal(rng: Random) -> dict[str, Any]:
    return {"m_1": Fraction(0), "m_2": Fraction(1), "l_1": Fraction(1), "l_2": Fraction(2),
            "o_1": Fraction(rng.randint(1, 4)), "o_2": Fraction(0)}  # fmt: skip


THEOREM = Theorem(
    id="merge_monoid",
    chapter="computation",
    title={"en": "Merging partial results", "ko": "부분 결과의 병합"},
    prose={
        "en": "A partial result over some keys is a shift $m$ and a sum $l$ (and outputs, "
        "merged in the same way); it stands for the number $e^ml$. Merging two of them at any "
        "new shift adds these numbers. So merging is associative and commutative, a state with "
        "sum 0 is neutral, and keys may be split over devices in any way. Averaging the two "
        "outputs is not merging: it forgets how much weight each part holds.",
        "ko": "일부 키에 대한 부분 결과는 이동값 $m$과 합 $l$로 이루어지며(출력도 같은 방식으로 "
        "합칩니다) 수 $e^ml$을 나타냅니다. 둘을 어떤 새 이동값에서 합치든 이 수들이 더해집니다. "
        "따라서 병합은 결합법칙과 교환법칙을 만족하고, 합이 0인 상태는 항등원이며, 키를 장치에 "
        "어떻게 나누어도 됩니다. 두 출력의 평균은 병합이 아닙니다. 각 부분이 가진 가중치를 잊기 "
        "때문입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            associative,
            proof_associative,
            name="associative",
            title={"en": "Any grouping, any shifts", "ko": "묶는 방식과 이동값에 관계없다"},
        ),
        Part(
            identity,
            proof_identity,
            name="identity",
            title={"en": "An empty part is neutral", "ko": "빈 부분은 항등원이다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "The outputs are averaged", "ko": "두 출력의 평균을 낸다는 주장"},
            statement=averaged,
            attempt=attempt,
            because="the two sides are not equal by ring, expring",
            instance=unequal,
        ),
    ),
    numbers={
        "en": r"Scores $2$ and $(1,0)$: states $(2,1)$ and $(1,1+e^{-1})$; merged at $2$: "
        r"$1+{e^{-1}(1+e^{-1})}\approx1.503$, the full sum.",
        "ko": r"점수 $2$와 $(1,0)$의 상태는 $(2,1)$과 $(1,1+e^{-1})$이며, 둘을 이동값 $2$에서 합치면 "
        r"$1+{e^{-1}(1+e^{-1})}\approx1.503$으로 전체 합과 같습니다.",
    },
    references=("milakov2018", "rabe2021", "dao2023"),
)


if __name__ == "__main__":
    THEOREM.main()
