"""(1 + u)^E (1 - E u) is at most 1."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Induction,
    Part,
    Proof,
    Scope,
    Theorem,
    fact_of,
    hyp,
    le,
    lt,
    order,
    power,
    rational_expr,
    rec,
    sign,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    E = s.dimension("E", least=0)
    u = s.scalar("u")
    s.assume("nonnegative", le(0, u))
    return le(power(1 + u, E) * (1 - E * u), 1)


def base(p: Proof) -> None:
    E, u = p["E u"]
    p.line(rational_expr(1) * (1 - E * u), rec())
    p.line(1, "ring")


def step(p: Proof) -> None:
    E, u = p["E u"]
    G = power(1 + u, E)
    p.line(G * (1 + u) * (1 - (E + 1) * u), rec())
    p.le(
        G * (1 - E * u),
        order(G * (E + 1) * u**2, facts=(fact_of((THEOREM, "positive"), E=E),)),
    )
    p.le(1, hyp("IH"))


def positive(s: Scope) -> Claim:
    E = s.dimension("E", least=0)
    u = s.scalar("u")
    s.assume("nonnegative", le(0, u))
    return lt(0, power(1 + u, E))


def base_positive(p: Proof) -> None:
    p.lt(1, sign())
    p.line(power(1 + p["u"], p["E"]), rec(back=True))


def step_positive(p: Proof) -> None:
    E, u = p["E u"]
    p.lt(power(1 + u, E) * (1 + u), sign())
    p.line(power(1 + u, E + 1), rec(back=True))


def not_negative(rng: Random) -> dict[str, Any]:
    return {"u": Fraction(rng.randint(0, 8), 16)}


THEOREM = Theorem(
    id="power_bound",
    chapter="sums",
    title={"en": "Growth of $E$ roundings", "ko": "$E$번 반올림의 증폭"},
    prose={
        "en": r"$E$ factors $1+u$ multiply to at most $1/(1-Eu)$ when $Eu<1$; this is where "
        r"the constant $\gamma_E=Eu/(1-Eu)$ of rounding error analysis comes from.",
        "ko": r"$Eu<1$이면 인수 $1+u$를 $E$번 곱해도 $1/(1-Eu)$를 넘지 않습니다. 반올림 오차 "
        r"해석의 상수 $\gamma_E=Eu/(1-Eu)$는 여기서 나옵니다.",
    },
    parts=(
        Part(statement, Induction("E", base, step), instance=not_negative),
        Part(
            positive,
            Induction("E", base_positive, step_positive),
            name="positive",
            title={"en": "The power is positive", "ko": "거듭제곱은 양수이다"},
            instance=not_negative,
        ),
    ),
    references=("higham2002",),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
