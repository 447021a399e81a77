"""A power of a nonnegative number is nonnegative."""

from attnproofs.calculus import (
    Induction,
    Part,
    Proof,
    Scope,
    Theorem,
    le,
    power,
    rec,
    sign,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    k = s.dimension("k", least=0)
    x = s.scalar("x")
    s.assume("nonnegative", le(0, x))
    return le(0, power(x, k))


def base(p: Proof) -> None:
    p.le(1, sign())
    p.line(power(p["x"], p["k"]), rec(back=True))


def step(p: Proof) -> None:
    k, x = p["k x"]
    p.le(power(x, k) * x, sign())
    p.line(power(x, k + 1), rec(back=True))


THEOREM = Theorem(
    id="power_nonnegative",
    chapter="sums",
    title={"en": "Powers of nonnegative numbers", "ko": "음이 아닌 수의 거듭제곱"},
    prose={
        "en": "A power with a natural exponent of a number that is not negative is not negative.",
        "ko": "음이 아닌 수를 음이 아닌 정수 번 거듭제곱한 값은 음수가 아닙니다.",
    },
    parts=(Part(statement, Induction("k", base, step)),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
