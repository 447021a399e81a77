"""A rounded dot product is within γ_E times the sum of |q_i k_i|, in any order of summation."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    abs_bound,
    absolute,
    dot,
    fact_of,
    le,
    lemma,
    lt,
    order,
    power,
    rounding_factor,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.rounding.rounded_factor import THEOREM as rounded_factor
from attnproofs.theorems.sums.abs_ge import THEOREM as abs_ge
from attnproofs.theorems.sums.power_bound import THEOREM as power_bound


def roundings(s: Scope) -> None:
    """Declare E roundings for each of d products: factors 1 + δ with |δ| <= u <= 1."""
    d, N = s.dimensions("d N")
    E = s.dimension("E", least=0)
    s.assume("within", E <= N)
    delta = s.tensor("δ", d, N)
    u = s.scalar("u")
    s.assume("nonnegative", le(0, u))
    s.assume("unit", le(u, 1))
    s.assume("below", lambda l, t: le(-u, delta[l, t]), over={"l": d, "t": N})
    s.assume("above", lambda l, t: le(delta[l, t], u), over={"l": d, "t": N})


def declare(s: Scope) -> None:
    roundings(s)
    s.tensor("q", s["d"])
    s.tensor("k", s["d"])


def error(s: Scope | Proof) -> Expr:
    """Return the rounded dot product less the exact one."""
    d, E, q, k, delta = s["d E q k δ"]
    P = rounding_factor(E, delta)
    return Sum(d, lambda i: q[i] * k[i] * P[i]) - dot(q, k)


def size(s: Scope | Proof) -> Expr:
    """Return the sum of the absolute values of the products."""
    d, q, k = s["d q k"]
    return Sum(d, lambda i: absolute(q[i] * k[i]))


def growth(s: Scope | Proof) -> Expr:
    return power(1 + s["u"], s["E"])


def statement(s: Scope) -> Claim:
    declare(s)
    E, u = s["E u"]
    s.assume("few", lt(E * u, 1))
    s.uses("power")
    return le(absolute(error(s)), E * u / (1 - E * u) * size(s))


def proof(p: Proof) -> None:
    E, u = p["E u"]
    G = growth(p)
    p.le(
        (G - 1) * size(p),
        abs_bound(facts=(fact_of((THEOREM, "upper")), fact_of((THEOREM, "lower")))),
    )
    p.le(
        E * u / (1 - E * u) * size(p),
        order(
            (1 - G * (1 - E * u)) / (1 - E * u) * size(p), facts=(fact_of(power_bound, E=E, u=u),)
        ),
    )


def upper(s: Scope) -> Claim:
    declare(s)
    return le(error(s), (growth(s) - 1) * size(s))


def proof_upper(p: Proof) -> None:
    d, E, q, k, delta = p["d E q k δ"]
    P, G = rounding_factor(E, delta), growth(p)
    p.line(Sum(d, lambda i: q[i] * k[i] * (P[i] - 1)), "unfold:dot", "sum_add", "sum_scale")
    p.le(
        Sum(d, lambda i: absolute(q[i] * k[i]) * (G - 1)),
        lemma((THEOREM, "term"), within=lambda i: {"i": i, "x": q[i] * k[i]}),
    )
    p.line((G - 1) * size(p), "sum_add", "sum_scale")


def lower(s: Scope) -> Claim:
    declare(s)
    return le(-error(s), (growth(s) - 1) * size(s))


def proof_lower(p: Proof) -> None:
    d, E, q, k, delta = p["d E q k δ"]
    P, G = rounding_factor(E, delta), growth(p)
    p.line(Sum(d, lambda i: -(q[i] * k[i] * (P[i] - 1))), "unfold:dot", "sum_add", "sum_scale")
    p.le(
        Sum(d, lambda i: absolute(q[i] * k[i]) * (G - 1)),
        lemma((THEOREM, "negative_term"), within=lambda i: {"i": i, "x": q[i] * k[i]}),
    )
    p.line((G - 1) * size(p), "sum_add", "sum_scale")


def one_product(s: Scope | Proof) -> tuple[Expr, Expr]:
    """Return one product and what its roundings add to it."""
    x, i, E, delta = s["x i E δ"]
    change: Expr = x * (rounding_factor(E, delta)[i] - 1)
    return x, change


def term(s: Scope) -> Claim:
    roundings(s)
    s.index("i", s["d"])
    s.scalar("x")
    x, change = one_product(s)
    return le(change, absolute(x) * (growth(s) - 1))


def sizes(p: Proof) -> tuple[Expr, Expr, Expr, Expr, tuple[Any, ...]]:
    """Return |x| - x, |x| + x, G + P - 2 and G - P, and the facts that none is negative."""
    x, i, E, delta = p["x i E δ"]
    P, G = rounding_factor(E, delta)[i], growth(p)
    facts = (
        fact_of(abs_ge, x=x),
        fact_of((abs_ge, "negative"), x=x),
        fact_of(rounded_factor, i=i),
        fact_of((rounded_factor, "lower"), i=i),
    )
    return absolute(x) - x, absolute(x) + x, G + P - 2, G - P, facts


def proof_term(p: Proof) -> None:
    less, more, both, gap, facts = sizes(p)
    p.le(absolute(p["x"]) * (growth(p) - 1), order(less / 2 * both + more / 2 * gap, facts=facts))


def negative_term(s: Scope) -> Claim:
    roundings(s)
    s.index("i", s["d"])
    s.scalar("x")
    x, change = one_product(s)
    return le(-change, absolute(x) * (growth(s) - 1))


def proof_negative_term(p: Proof) -> None:
    less, more, both, gap, facts = sizes(p)
    p.le(absolute(p["x"]) * (growth(p) - 1), order(more / 2 * both + less / 2 * gap, facts=facts))


def one_rounding(s: Scope) -> Claim:
    declare(s)
    E, u = s["E u"]
    s.assume("few", lt(E * u, 1))
    s.assume("below_one", lt(u, 1))
    s.uses("power")
    return le(absolute(error(s)), u / (1 - u) * size(s))


def attempt(p: Proof) -> None:
    u = p["u"]
    G = growth(p)
    p.le(
        (G - 1) * size(p),
        abs_bound(facts=(fact_of((THEOREM, "upper")), fact_of((THEOREM, "lower")))),
    )
    p.le(u / (1 - u) * size(p), order())


def small_errors(rng: Random) -> dict[str, Any]:
    d, N = rng.randint(1, 2), rng.randint(1, 3)
    u = Fraction(rng.randint(1, 4), 16)
    rows = [[u * rng.randint(-4, 4) / 4 for _ in range(N)] for _ in range(d)]
    return {"d": d, "N": N, "E": rng.randint(0, N), "u": u, "δ": rows}


def all_upwards(rng: Random) -> dict[str, Any]:
    u = Fraction(1, 16)
    return {"d": 1, "N": 2, "E": 2, "u": u, "δ": [[u, u]], "q": [1], "k": [1]}


THEOREM = Theorem(
    id="dot_error",
    chapter="rounding",
    title={"en": "Rounding error of a dot product", "ko": "내적의 반올림 오차"},
    prose={
        "en": r"In the standard model each operation returns the exact result times $1+\delta$ "
        r"with $|\delta|$ at most the unit roundoff $u$. However the $d$ products are added "
        r"up, each passes through at most $E$ roundings ($E=d$ in sequence, $\log_2 d+1$ in a "
        r"balanced tree), so the computed dot product is the sum of $q_ik_i$ times a product "
        r"of $E$ such factors (unused ones have $\delta=0$). Its error is then at most "
        r"$\gamma_E\sum|q_ik_i|$ with $\gamma_E=Eu/(1-Eu)$. Overflow and underflow are outside "
        r"the model; that a given program has this form is not proved here.",
        "ko": r"표준 모형에서 각 연산은 정확한 결과에 $1+\delta$를 곱한 값을 돌려주며, "
        r"$|\delta|$는 단위 반올림 $u$ 이하입니다. $d$개의 곱을 어떤 순서로 더하든 각 곱이 "
        r"거치는 반올림은 많아야 $E$번입니다(차례로 더하면 $E=d$, 균형 트리이면 $\log_2 d+1$). "
        r"따라서 계산된 내적은 $q_ik_i$에 이런 인수 $E$개의 곱을 곱해 더한 것입니다(쓰지 않는 "
        r"인수는 $\delta=0$). 그 오차는 $\gamma_E\sum|q_ik_i|$ 이하이며 "
        r"$\gamma_E=Eu/(1-Eu)$입니다. 오버플로와 언더플로는 모형 밖이며, 어떤 프로그램이 이 "
        r"꼴이라는 것까지 여기서 증명하지는 않습니다.",
    },
    parts=(
        Part(statement, proof, instance=small_errors),
        Part(
            upper,
            proof_upper,
            name="upper",
            title={"en": "From above", "ko": "상한"},
            instance=small_errors,
        ),
        Part(
            lower,
            proof_lower,
            name="lower",
            title={"en": "From below", "ko": "하한"},
            instance=small_errors,
        ),
        Part(
            term,
            proof_term,
            name="term",
            title={"en": "One product", "ko": "곱 하나"},
            instance=small_errors,
        ),
        Part(
            negative_term,
            proof_negative_term,
            name="negative_term",
            title={"en": "One product, from below", "ko": "곱 하나의 하한"},
            instance=small_errors,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"One rounding's worth, $\gamma_1$, is enough",
                "ko": r"반올림 한 번의 몫인 $\gamma_1$로 충분하다는 주장",
            },
            statement=one_rounding,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=all_upwards,
        ),
    ),
    numbers={
        "en": r"float32, $d=64$ in sequence: "
        r"$\gamma_{64}=64\cdot2^{-24}/(1-64\cdot2^{-24})\approx3.8\cdot10^{-6}$.",
        "ko": r"float32에서 $d=64$개를 차례로 더하면 "
        r"$\gamma_{64}=64\cdot2^{-24}/(1-64\cdot2^{-24})\approx3.8\cdot10^{-6}$입니다.",
    },
    references=("higham2002",),
)


if __name__ == "__main__":
    THEOREM.main()
