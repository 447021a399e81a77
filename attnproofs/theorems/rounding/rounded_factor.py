"""A product of E rounding factors 1 + δ lies within (1 + u)^E - 1 of 1."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    Induction,
    Ix,
    Part,
    Proof,
    Scope,
    Theorem,
    fact_of,
    hyp,
    ind,
    le,
    order,
    power,
    rational_expr,
    rec,
    rounding_factor,
    sign,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    d, N = s.dimensions("d N")
    E = s.dimension("E", least=0)
    s.assume("within", E <= N)
    error = s.tensor("δ", d, N)
    u = s.scalar("u")
    s.assume("nonnegative", le(0, u))
    s.assume("unit", le(u, 1))
    s.assume("below", lambda l, t: le(-u, error[l, t]), over={"l": d, "t": N})
    s.assume("above", lambda l, t: le(error[l, t], u), over={"l": d, "t": N})
    s.index("i", d)


def pieces(p: Scope | Proof, E: Ix) -> tuple[Expr, Expr]:
    """Return the product of the rounding factors, and (1 + u)^E."""
    error, u, i = p["δ u i"]
    return rounding_factor(E, error)[i], power(1 + u, E)


def statement(s: Scope) -> Claim:
    declare(s)
    P, G = pieces(s, s["E"])
    return le(P, G)


def base(p: Proof) -> None:
    p.line(1, rec())
    p.line(power(1 + p["u"], p["E"]), rec(back=True))


def step(p: Proof) -> None:
    E, N, u, i, error = p["E N u i δ"]
    P, G = pieces(p, E)
    p.line(P * (1 + ind(N > E) * error[i, E + 1]), rec())
    p.line(P * (1 + error[i, E + 1]), "ind_val")
    p.le(P * (1 + u), order(P * (u - error[i, E + 1]), facts=(positive_fact(p),)))
    p.le(G * (1 + u), hyp("IH"))
    p.line(power(1 + u, E + 1), rec(back=True))


def positive_fact(p: Proof) -> Any:
    return fact_of((THEOREM, "nonnegative"), E=p["E"], i=p["i"])


def nonnegative(s: Scope) -> Claim:
    declare(s)
    P, _ = pieces(s, s["E"])
    return le(0, P)


def base_nonnegative(p: Proof) -> None:
    P, _ = pieces(p, p["E"])
    p.le(1, sign())
    p.line(P, rec(back=True))


def step_nonnegative(p: Proof) -> None:
    E, N, u, i, error = p["E N u i δ"]
    P, _ = pieces(p, E)
    p.le(P * (1 - u), sign())
    p.le(P * (1 + error[i, E + 1]), hyp("below", at={"l": i, "t": E + 1}))
    p.line(P * (1 + ind(N > E) * error[i, E + 1]), "ind_val")
    p.line(rounding_factor(E + 1, error)[i], rec(back=True))


def lower(s: Scope) -> Claim:
    declare(s)
    P, G = pieces(s, s["E"])
    return le(2 - G, P)


def base_lower(p: Proof) -> None:
    P, _ = pieces(p, p["E"])
    p.line(rational_expr(2) - 1, rec())
    p.line(P, rec(back=True))


def step_lower(p: Proof) -> None:
    E, N, u, i, error = p["E N u i δ"]
    P, G = pieces(p, E)
    main = fact_of(THEOREM, E=E, i=i)
    p.line(2 - G * (1 + u), rec())
    p.le(P - u * G, order(P - (2 - G), facts=()))
    p.le(P * (1 - u), order(u * (G - P), facts=(main,)))
    p.le(
        P * (1 + error[i, E + 1]),
        order(P * (error[i, E + 1] - -u), facts=(positive_fact(p),)),
    )
    p.line(P * (1 + ind(N > E) * error[i, E + 1]), "ind_val")
    p.line(rounding_factor(E + 1, error)[i], rec(back=True))


def small_errors(rng: Random) -> dict[str, Any]:
    d, N = rng.randint(1, 2), rng.randint(1, 3)
    u = Fraction(rng.randint(1, 4), 16)
    rows = [[u * rng.randint(-4, 4) / 4 for _ in range(N)] for _ in range(d)]
    return {"d": d, "N": N, "E": rng.randint(0, N), "u": u, "δ": rows}


THEOREM = Theorem(
    id="rounded_factor",
    chapter="rounding",
    title={"en": "A product of rounding factors", "ko": "반올림 인수의 곱"},
    prose={
        "en": r"If each of $E$ roundings changes a number by a factor $1+\delta$ with "
        r"$|\delta|\le u\le1$, the product of the factors lies between $2-(1+u)^E$ and "
        r"$(1+u)^E$.",
        "ko": r"$E$번의 반올림이 저마다 수를 $1+\delta$배($|\delta|\le u\le1$)로 바꾸면, "
        r"인수들의 곱은 $2-(1+u)^E$과 $(1+u)^E$ 사이에 있습니다.",
    },
    parts=(
        Part(statement, Induction("E", base, step), instance=small_errors),
        Part(
            nonnegative,
            Induction("E", base_nonnegative, step_nonnegative),
            name="nonnegative",
            title={"en": "It is not negative", "ko": "곱은 음수가 아니다"},
            instance=small_errors,
        ),
        Part(
            lower,
            Induction("E", base_lower, step_lower),
            name="lower",
            title={"en": "From below", "ko": "하한"},
            instance=small_errors,
        ),
    ),
    references=("higham2002",),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
