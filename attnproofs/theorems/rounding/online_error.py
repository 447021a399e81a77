"""What tiling costs: ρ rescales add ρ exponentials and ρ multiplications to each weight's error."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Induction,
    Ix,
    Part,
    Proof,
    Scope,
    Theorem,
    eq,
    exp,
    fact_of,
    hyp,
    ind,
    le,
    lemma,
    order,
    power,
    rec,
    rescaled_weight,
    span,
    via,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.power_nonnegative import THEOREM as power_nonnegative


def declare(s: Scope) -> None:
    N = s.dimension("N", least=0)
    rescales = s.dimension("ρ", least=0)
    s.assume("within", rescales <= N)
    s.scalar("x")
    axis = span(0, N)
    s.tensor("m", axis)
    s.tensor("f", axis)
    s.tensor("r", axis)


def bounded(s: Scope, *, above: bool) -> None:
    """Assume that F bounds the errors of exponentials, and R those of products, from one side."""
    declare(s)
    for name in ("f", "r"):
        _bounded(s, name, above=above)


def _bounded(s: Scope, name: str, *, above: bool) -> None:
    axis, factor, limit = span(0, s["N"]), s[name], s.scalar(name.upper())
    s.assume(f"{name.upper()}_nonnegative", le(0, limit))
    s.assume(f"{name}_nonnegative", lambda t: le(0, factor[t]), over={"t": axis})
    if above:
        s.assume(f"{name}_above", lambda t: le(factor[t], limit), over={"t": axis})
    else:
        s.assume(f"{name}_below", lambda t: le(limit, factor[t]), over={"t": axis})


def weight(s: Scope | Proof, rescales: Ix) -> Expr:
    """Return the weight of a key of score x as computed through the rescales."""
    return rescaled_weight(rescales, *s["x m f r"])


def ideal(s: Scope | Proof, rescales: Ix) -> Expr:
    """Return the exact weight times F for each exponential and R for each multiplication."""
    x, m, F, R = s["x m F R"]
    found: Expr = exp(x - m[rescales]) * (power(F, rescales + 1) * power(R, rescales))
    return found


def powers(p: Proof) -> tuple[dict[str, Any], dict[str, Any]]:
    """Cite that the powers of F and of R are not negative."""
    b, F, R = p["ρ F R"]
    return (
        fact_of(power_nonnegative, k=b + 1, x=F),
        fact_of(power_nonnegative, k=b, x=R),
    )


def pieces(p: Proof) -> tuple[Expr, ...]:
    """Return the exact weight and its factors before a step, and what the step multiplies by."""
    b, x, m, f, r = p["ρ x m f r"]
    F, R = p["F R"]
    growth = power(F, b + 1) * power(R, b)
    return exp(x - m[b]), growth, exp(m[b] - m[b + 1]), f[b + 1], r[b + 1]


def statement(s: Scope) -> Claim:
    bounded(s, above=True)
    return le(weight(s, s["ρ"]), ideal(s, s["ρ"]))


def base(p: Proof) -> None:
    x, m, f, F, rescales = p["x m f F ρ"]
    p.line(exp(x - m[0]) * f[0], rec())
    p.le(exp(x - m[0]) * F, hyp("f_above"))
    p.line(ideal(p, rescales), rec(back=True), rec(back=True))


def step(p: Proof) -> None:
    N, b, F, R = p["N ρ F R"]
    e, growth, rescale, f, r = pieces(p)
    p.line(ind(b < N) * weight(p, b) * (rescale * f) * r, rec())
    p.line(weight(p, b) * (rescale * f * r), "ind_val")
    p.le(e * growth * (rescale * f * r), hyp("IH"))
    p.le(
        e * growth * (rescale * F * R),
        order(e * growth * rescale * ((F - f) * r + F * (R - r)), facts=powers(p)),
    )
    p.line(
        ideal(p, b + 1),
        via(exp(p["x"] - p["m"][b + 1]) * (growth * F * R), "expring"),
        rec(back=True),
    )


def lower(s: Scope) -> Claim:
    bounded(s, above=False)
    return le(ideal(s, s["ρ"]), weight(s, s["ρ"]))


def base_lower(p: Proof) -> None:
    x, m, f, F = p["x m f F"]
    p.line(exp(x - m[0]) * (1 * F * 1), rec(), rec())
    p.le(exp(x - m[0]) * f[0], order(exp(x - m[0]) * (f[0] - F)))
    p.line(weight(p, p["ρ"]), rec(back=True))


def step_lower(p: Proof) -> None:
    N, b, F, R = p["N ρ F R"]
    e, growth, rescale, f, r = pieces(p)
    p.line(rescale * F * R * (e * growth), rec(), "expring")
    p.le(
        rescale * f * r * (e * growth),
        order(e * growth * rescale * ((f - F) * r + F * (r - R)), facts=powers(p)),
    )
    p.le(rescale * f * r * weight(p, b), hyp("IH"))
    p.line(ind(b < N) * weight(p, b) * (rescale * f) * r, "ind_val")
    p.line(weight(p, b + 1), rec(back=True))


def telescopes(s: Scope) -> Claim:
    declare(s)
    axis = span(0, s["N"])
    x, m, f, r = s["x m f r"]
    s.assume("f_exact", lambda t: eq(f[t], 1), over={"t": axis})
    s.assume("r_exact", lambda t: eq(r[t], 1), over={"t": axis})
    return eq(weight(s, s["ρ"]), exp(x - m[s["ρ"]]))


def base_telescopes(p: Proof) -> None:
    x, m, f = p["x m f"]
    p.line(exp(x - m[0]) * f[0], rec())
    p.line(exp(x - m[0]) * 1, hyp("f_exact"))


def step_telescopes(p: Proof) -> None:
    N, b, x, m, f, r = p["N ρ x m f r"]
    rescale = exp(m[b] - m[b + 1])
    p.line(ind(b < N) * weight(p, b) * (rescale * f[b + 1]) * r[b + 1], rec())
    p.line(weight(p, b) * (rescale * f[b + 1] * r[b + 1]), "ind_val")
    p.line(exp(x - m[b]) * (rescale * 1 * 1), hyp("IH"), hyp("f_exact"), hyp("r_exact"))
    p.line(exp(x - m[b + 1]), "expring")


def one_exponential(s: Scope) -> Claim:
    bounded(s, above=True)
    x, m, F, rescales = s["x m F ρ"]
    s.uses("power")
    return le(weight(s, rescales), exp(x - m[rescales]) * F)


def attempt(p: Proof) -> None:
    x, m, F, rescales = p["x m F ρ"]
    p.le(ideal(p, rescales), lemma(THEOREM))
    p.le(0 + exp(x - m[rescales]) * F, order())


def drawn(rng: Random) -> dict[str, Any]:
    N = rng.randint(0, 3)

    def table(low: int) -> dict[tuple[int], Fraction]:
        return {(t,): 1 + Fraction(rng.randint(low, 4), 16) for t in range(N + 1)}

    return {"N": N, "ρ": rng.randint(0, N), "f": table(-4), "r": table(-4)}


def up(rng: Random) -> dict[str, Any]:
    return {**drawn(rng), "F": Fraction(5, 4), "R": Fraction(5, 4)}


def down(rng: Random) -> dict[str, Any]:
    return {**drawn(rng), "F": Fraction(3, 4), "R": Fraction(3, 4)}


def one_rescale(rng: Random) -> dict[str, Any]:
    big = Fraction(9, 8)
    both = {(0,): big, (1,): big}
    return {"N": 1, "ρ": 1, "x": Fraction(0), "m": {(0,): 0, (1,): 1}, "f": both, "r": both,
            "F": big, "R": big}  # fmt: skip


THEOREM = Theorem(
    id="online_error",
    chapter="rounding",
    title={"en": "What tiling costs", "ko": "타일링의 대가"},
    prose={
        "en": r"A key's weight that lives through $\rho$ rescales of the running maximum is a "
        r"product of $\rho+1$ computed exponentials and $\rho$ computed multiplications. The "
        r"exact exponentials telescope: whatever shifts the running maximum took, their "
        r"product is $e^{x-m_\rho}$. So if each exponential is off by a factor of at most $F$ "
        r"and each multiplication by at most $R$, the weight is off by at most "
        r"$F^{\rho+1}R^\rho$, from below likewise. With $F=(1+u)^k$ and $R=1+u$ that is "
        r"$(\rho+1)k+\rho$ units in place of $k$; the multiplications count once in the output "
        r"and once in the denominator, which makes the $2\rho$ of the literature.",
        "ko": r"누적 최댓값이 $\rho$번 바뀌는 동안 남아 있는 키의 가중치는 계산된 지수 "
        r"$\rho+1$개와 계산된 곱셈 $\rho$번의 곱입니다. 정확한 지수들은 차례로 약분됩니다. "
        r"누적 최댓값이 어떻게 움직였든 그 곱은 $e^{x-m_\rho}$입니다. 따라서 지수마다 많아야 "
        r"$F$배, 곱셈마다 많아야 $R$배 어긋나면 가중치는 많아야 $F^{\rho+1}R^\rho$배 어긋나며, "
        r"아래로도 마찬가지입니다. $F=(1+u)^k$, $R=1+u$이면 $k$단위 대신 "
        r"$(\rho+1)k+\rho$단위입니다. 곱셈은 출력에서 한 번, 분모에서 한 번 세므로 문헌의 "
        r"$2\rho$가 됩니다.",
    },
    parts=(
        Part(statement, Induction("ρ", base, step), instance=up),
        Part(
            lower,
            Induction("ρ", base_lower, step_lower),
            name="lower",
            title={"en": "From below", "ko": "하한"},
            instance=down,
        ),
        Part(
            telescopes,
            Induction("ρ", base_telescopes, step_telescopes),
            name="telescopes",
            title={"en": "Without errors the shifts cancel", "ko": "오차가 없으면 이동은 약분된다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Rescales cost nothing: one exponential's error $F$ is enough",
                "ko": "다시 맞추는 데에는 대가가 없어 지수 하나의 오차 $F$로 충분하다는 주장",
            },
            statement=one_exponential,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=one_rescale,
        ),
    ),
    numbers={
        "en": r"$\rho=15$ rescales (16 tiles), $k=2$: $16\cdot2+15=47$ units of $u$ instead of "
        r"2; in float32 $47\cdot2^{-24}\approx2.8\cdot10^{-6}$.",
        "ko": r"$\rho=15$(타일 16개), $k=2$이면 $2$단위가 아니라 $16\cdot2+15=47$단위이며, "
        r"float32에서 $47\cdot2^{-24}\approx2.8\cdot10^{-6}$입니다.",
    },
    references=("dao2022", "milakov2018", "higham2002"),
)


if __name__ == "__main__":
    THEOREM.main()
