"""When a finite mask -c gives exactly 0 in a floating-point format, and when it does not."""

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
    exp,
    hyp,
    le,
    log,
    lt,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    n = s.dimension("n")
    s.tensor("s", n)
    s.index("j", n)
    s.index("k", n)
    s.scalar("c")
    tiny = s.scalar("η")
    s.assume("positive", lt(0, tiny))


def threshold(s: Scope | Proof) -> Expr:
    """Return the c from which e^(s_j - c - s_k) is at most half the smallest positive number."""
    x, j, k, tiny = s["s j k η"]
    found: Expr = x[j] - x[k] + log(2 / tiny)
    return found


def numerator(s: Scope | Proof) -> Expr:
    x, j, k, c = s["s j k c"]
    return exp(x[j] - c - x[k])


def statement(s: Scope) -> Claim:
    declare(s)
    s.assume("large", le(threshold(s), s["c"]))
    return le(numerator(s), s["η"] / 2)


def proof(p: Proof) -> None:
    x, j, k = p["s j k"]
    p.le(exp(x[j] - threshold(p) - x[k]), hyp("large"))
    p.line(p["η"] / 2, "expring", "log_exp")


def survives(s: Scope) -> Claim:
    declare(s)
    s.assume("small", lt(s["c"], threshold(s)))
    return lt(s["η"] / 2, numerator(s))


def proof_survives(p: Proof) -> None:
    x, j, k = p["s j k"]
    p.line(exp(x[j] - threshold(p) - x[k]), "expring", "log_exp")
    p.lt(numerator(p), hyp("small"))


def underflow_is_enough(s: Scope) -> Claim:
    declare(s)
    x, j, k = s["s j k"]
    s.assume("large", le(x[j] - x[k] + log(1 / s["η"]), s["c"]))
    return le(numerator(s), s["η"] / 2)


def attempt(p: Proof) -> None:
    x, j, k, tiny = p["s j k η"]
    p.le(exp(x[j] - (x[j] - x[k] + log(1 / tiny)) - x[k]), hyp("large"))
    p.line(tiny / 2, "expring", "log_exp")


def with_mask(rng: Random, *, c: int) -> dict[str, Any]:
    """Return scores that differ by at most 2, and a format whose least positive number is 1/16."""
    gap = Fraction(rng.randint(0, 8), 4)
    return {"η": Fraction(1, 16), "c": Fraction(c), "s": [gap, 0], "n": 2, "j": 1, "k": 2}


def enough(rng: Random) -> dict[str, Any]:
    return with_mask(rng, c=rng.randint(6, 9))


def too_little(rng: Random) -> dict[str, Any]:
    return with_mask(rng, c=rng.randint(1, 3))


def in_between(rng: Random) -> dict[str, Any]:
    return {"η": Fraction(1, 16), "c": Fraction(4), "s": [1, 0], "n": 2, "j": 1, "k": 2}


THEOREM = Theorem(
    id="finite_mask_rounding",
    chapter="rounding",
    title={"en": "When a finite mask is exact", "ko": "유한한 마스크가 정확해지는 때"},
    prose={
        "en": r"Rounding to nearest returns 0 for a positive number exactly if it is at most "
        r"half the smallest positive number $\eta$ of the format (at the half itself the tie "
        r"goes to the even 0). After subtraction of the largest kept score $s_k$, the "
        r"exponential of a masked key is $e^{s_j-c-s_k}$. It is at most $\eta/2$ once $c$ is "
        r"at least $s_j-s_k+\ln(2/\eta)$, and above $\eta/2$ for smaller $c$. So a finite "
        r"sentinel is exact for scores in a known range and leaks outside it. Formats that "
        r"flush subnormal numbers have a larger $\eta$.",
        "ko": r"가장 가까운 수로 반올림할 때 양수가 0이 되는 것은 그 수가 형식의 가장 작은 양수 "
        r"$\eta$의 절반 이하일 때뿐입니다(꼭 절반이면 짝수인 0으로 갑니다). 남은 점수의 최댓값 "
        r"$s_k$를 빼면 마스크된 키의 지수는 $e^{s_j-c-s_k}$입니다. $c$가 $s_j-s_k+\ln(2/\eta)$ "
        r"이상이면 $\eta/2$ 이하이고, $c$가 그보다 작으면 $\eta/2$보다 큽니다. 그러므로 유한한 "
        r"값의 마스크는 점수가 정해진 범위 안에 있을 때에만 정확하고, 그 밖에서는 샙니다. "
        r"비정규수를 0으로 처리하는 형식에서는 $\eta$가 더 큽니다.",
    },
    parts=(
        Part(statement, proof, instance=enough),
        Part(
            survives,
            proof_survives,
            name="survives",
            title={
                "en": "A smaller $c$ leaves a positive number",
                "ko": "$c$가 더 작으면 양수가 남는다",
            },
            instance=too_little,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"Reaching the smallest positive number, $\ln(1/\eta)$, is enough",
                "ko": r"가장 작은 양수에 이르는 $\ln(1/\eta)$로 충분하다는 주장",
            },
            statement=underflow_is_enough,
            attempt=attempt,
            because="the two sides are not equal by ring, expring, log_exp",
            instance=in_between,
        ),
    ),
    numbers={
        "en": r"float32, $\eta=2^{-149}$: $\ln(2/\eta)=150\ln2\approx103.97$, so $c=10000$ is "
        r"exact while $s_j-s_k\le9896$; float16, $\eta=2^{-24}$: $25\ln2\approx17.33$.",
        "ko": r"float32는 $\eta=2^{-149}$이므로 $\ln(2/\eta)=150\ln2\approx103.97$이고, "
        r"$c=10000$은 $s_j-s_k\le9896$인 동안 정확합니다. float16은 $\eta=2^{-24}$이므로 "
        r"$25\ln2\approx17.33$입니다.",
    },
    references=("higham2002",),
)


if __name__ == "__main__":
    THEOREM.main()
