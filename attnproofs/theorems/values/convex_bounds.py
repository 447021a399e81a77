"""Every output entry lies between the smallest and the largest kept value."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    exp,
    hyp,
    ind,
    le,
    lt,
    weights,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    """Declare the scores, the mask and the values of one row and one feature."""
    n = s.dimension("n")
    s.tensor("s", n)
    s.tensor("v", n)
    keep = s.predicate("keep", n)
    s.kept(keep)


def row(s: Any) -> Array:
    """Return the weights of the row."""
    n, x, keep = s["n s keep"]
    return weights(array(n, lambda l: ind(keep(l))), x)


def bounded_above(s: Scope) -> Claim:
    declare(s)
    n, v, keep = s["n v keep"]
    M = s.scalar("M")
    s.assume("above", lambda l: le(v[l], M), over={"l": n}, where=keep)
    return le(Sum(n, lambda j: row(s)[j] * v[j]), M)


def above(p: Proof) -> None:
    n, x, v, keep, M = p["n s v keep M"]
    Z = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(Sum(n, lambda j: ind(keep(j)) * (exp(x[j]) / Z * v[j])), "unfold")
    p.le(Sum(n, lambda j: ind(keep(j)) * (exp(x[j]) / Z * M)), hyp("above"))
    p.line(M / Z * Z, "sum_scale")
    p.line(M, "ring")


def bounded_below(s: Scope) -> Claim:
    declare(s)
    n, v, keep = s["n v keep"]
    m = s.scalar("m")
    s.assume("below", lambda l: le(m, v[l]), over={"l": n}, where=keep)
    return le(m, Sum(n, lambda j: row(s)[j] * v[j]))


def below(p: Proof) -> None:
    n, x, v, keep, m = p["n s v keep m"]
    Z = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(m / Z * Z, "ring")
    p.line(Sum(n, lambda j: ind(keep(j)) * (exp(x[j]) / Z * m)), "sum_scale")
    p.le(Sum(n, lambda j: ind(keep(j)) * (exp(x[j]) / Z * v[j])), hyp("below"))
    p.line(Sum(n, lambda j: row(p)[j] * v[j]), "unfold")


def strictly(s: Scope) -> Claim:
    declare(s)
    n, v, keep = s["n v keep"]
    M = s.scalar("M")
    s.assume("above", lambda l: le(v[l], M), over={"l": n}, where=keep)
    return lt(Sum(n, lambda j: row(s)[j] * v[j]), M)


def strictly_attempt(p: Proof) -> None:
    n, x, v, keep, M = p["n s v keep M"]
    Z = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(Sum(n, lambda j: ind(keep(j)) * (exp(x[j]) / Z * v[j])), "unfold")
    p.lt(Sum(n, lambda j: ind(keep(j)) * (exp(x[j]) / Z * M)), hyp("above"))


def some_values(rng: Random) -> dict[str, Any]:
    n = rng.randint(1, 3)
    v = [Fraction(rng.randint(-3, 3)) for _ in range(n)]
    return {"n": n, "v": v, "keep": [True] * n, "κ": {(): 1}, "M": max(v), "m": min(v)}


def equal_values(rng: Random) -> dict[str, Any]:
    return {
        "n": 2,
        "v": [Fraction(1), Fraction(1)],
        "keep": [True, True],
        "κ": {(): 1},
        "M": Fraction(1),
    }


THEOREM = Theorem(
    id="convex_bounds",
    chapter="values",
    title={"en": "Outputs stay between the values", "ko": "출력은 밸류 사이에 있다"},
    prose={
        "en": "Weights are nonnegative and sum to one, so each output entry is an average of the kept "
        "values: it never exceeds their maximum $M$ and never falls below their minimum $m$. "
        "Attention mixes; it cannot amplify. Equality happens when the kept values agree.",
        "ko": "가중치는 음이 아니고 합이 1이므로 출력의 각 성분은 남은 밸류의 평균입니다. 따라서 최댓값 "
        "$M$을 넘지 않고 최솟값 $m$보다 작아지지도 않습니다. 어텐션은 섞을 뿐 키우지 못합니다. 남은 "
        "밸류가 모두 같으면 등호가 성립합니다.",
    },
    parts=(
        Part(bounded_above, above, instance=some_values),
        Part(
            bounded_below,
            below,
            name="below",
            title={"en": "Lower bound", "ko": "하한"},
            instance=some_values,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The inequality is strict", "ko": "부등식이 순부등식이라는 주장"},
            strictly,
            strictly_attempt,
            because="none of the rules named is strict",
            instance=equal_values,
        ),
    ),
    numbers={
        "en": r"Weights $(\tfrac14,\tfrac34)$ and values $4$ and $8$ give $7\in[4,8]$.",
        "ko": r"가중치가 $(\tfrac14,\tfrac34)$이고 밸류가 $4$, $8$이면 출력은 $7\in[4,8]$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
