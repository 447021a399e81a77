"""Rotating m + t times is rotating m times and then t times; rotations keep lengths."""

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
    eq,
    hyp,
    ind,
    ixeq,
    rec,
    rotation,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    s.dimension("m", least=0)
    s.dimension("t", least=0)
    s.scalar("c")
    s.scalar("s")
    s.index("r", 2)


def after(s: Scope | Proof, k: Ix) -> tuple[Expr, Expr]:
    """Return cosine and sine after k steps."""
    found = rotation(k, *s["c s"])
    return found[1], found[2]


def combined(s: Scope | Proof, m: Ix, t: Ix) -> Expr:
    """Return the sum formulas: the cosine for r = 1, the sine for r = 2."""
    (cm, sm), (ct, st) = after(s, m), after(s, t)
    r = s["r"]
    found: Expr = ind(r.is_(1)) * (cm * ct - sm * st) + ind(~r.is_(1)) * (sm * ct + cm * st)
    return found


def statement(s: Scope) -> Claim:
    declare(s)
    m, t, c, sine, r = s["m t c s r"]
    return eq(rotation(m + t, c, sine)[r], combined(s, m, t))


def base(p: Proof) -> None:
    m, c, sine, r = p["m c s r"]
    cm, sm = after(p, m)
    one, two = ind(r.is_(1)), ind(~r.is_(1))
    turn = rotation(m, c, sine)[r]
    p.line(one * turn + two * turn, "ind_bool")
    p.line(one * cm + two * sm, ixeq)
    p.line(one * (cm * 1 - sm * 0) + two * (sm * 1 + cm * 0), "ring")
    p.line(combined(p, m, p["t"]), rec(back=True), "ind_val")


def step(p: Proof) -> None:
    m, t, c, sine, r = p["m t c s r"]
    (cm, sm), (ct, st) = after(p, m), after(p, t)
    one, two = ind(r.is_(1)), ind(~r.is_(1))
    x, y = after(p, m + t)
    X, Y = cm * ct - sm * st, sm * ct + cm * st
    p.line(one * (x * c - y * sine) + two * (y * c + x * sine), rec())
    p.line(one * (X * c - Y * sine) + two * (Y * c + X * sine), hyp("IH"), "ind_val")
    p.line(
        one * (cm * (ct * c - st * sine) - sm * (st * c + ct * sine))
        + two * (sm * (ct * c - st * sine) + cm * (st * c + ct * sine)),
        "ring",
    )
    p.line(combined(p, m, t + 1), rec(back=True), "ind_val")


def length(s: Scope) -> Claim:
    s.dimension("t", least=0)
    c, sine = s.scalar("c"), s.scalar("s")
    s.assume("circle", eq(c * c + sine * sine, 1))
    ct, st = after(s, s["t"])
    return eq(ct * ct + st * st, 1)


def base_length(p: Proof) -> None:
    p.line(1 * 1 + 0 * 0, rec(), "ind_val")
    p.line(1, "ring")


def step_length(p: Proof) -> None:
    t, c, sine = p["t c s"]
    ct, st = after(p, t)
    x, y = ct * c - st * sine, st * c + ct * sine
    p.line(x * x + y * y, rec(), "ind_val")
    p.line((ct * ct + st * st) * (c * c + sine * sine), "ring")
    p.line(1 * 1, hyp("IH"), hyp("circle"))
    p.line(1, "ring")


def on_circle(rng: Random) -> dict[str, Any]:
    u = Fraction(rng.randint(1, 4), rng.randint(1, 3))
    return {"c": (1 - u * u) / (1 + u * u), "s": 2 * u / (1 + u * u)}


THEOREM = Theorem(
    id="rotation_addition",
    chapter="positions",
    title={"en": "Repeated rotation", "ko": "되풀이한 회전"},
    prose={
        "en": r"Cosine and sine of $t$ times an angle are defined by rotating $t$ times. Then "
        r"the sum formulas follow by induction, and so does $\cos^2+\sin^2=1$. No other "
        r"property of the angle is used.",
        "ko": r"각의 $t$배의 코사인과 사인을 $t$번 회전한 결과로 정의합니다. 그러면 덧셈 "
        r"공식과 $\cos^2+\sin^2=1$이 귀납법으로 나옵니다. 각의 다른 성질은 쓰지 않습니다.",
    },
    parts=(
        Part(statement, Induction("t", base, step)),
        Part(
            length,
            Induction("t", base_length, step_length),
            name="length",
            title={"en": r"$\cos^2+\sin^2=1$", "ko": r"$\cos^2+\sin^2=1$"},
            instance=on_circle,
        ),
    ),
    references=("su2021",),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
