"""Rounding the weights to a narrow format moves the output by at most u Σ p |v|."""

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
    eq,
    fact_of,
    le,
    lemma,
    order,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.abs_ge import THEOREM as abs_ge


def declare(s: Scope) -> None:
    n = s.dimension("n")
    s.tensor("s", n)
    s.tensor("v", n)
    error = s.tensor("π", n)
    u = s.scalar("u")
    s.assume("below", lambda l: le(-u, error[l]), over={"l": n})
    s.assume("above", lambda l: le(error[l], u), over={"l": n})


def change(s: Scope | Proof) -> Expr:
    """Return the output with rounded weights p (1 + π) less the exact one."""
    n, x, v, error = s["n s v π"]
    p = softmax(x)
    return Sum(n, lambda j: p[j] * (1 + error[j]) * v[j]) - Sum(n, lambda j: p[j] * v[j])


def mass(s: Scope | Proof) -> Expr:
    n, x, v = s["n s v"]
    return Sum(n, lambda j: softmax(x)[j] * absolute(v[j]))


def statement(s: Scope) -> Claim:
    declare(s)
    return le(absolute(change(s)), s["u"] * mass(s))


def proof(p: Proof) -> None:
    facts = (fact_of((THEOREM, "upper")), fact_of((THEOREM, "lower")))
    p.le(p["u"] * mass(p), abs_bound(facts=facts))


def term(s: Scope) -> Claim:
    x, e, u = s.scalar("x"), s.scalar("e"), s.scalar("u")
    s.assume("below", le(-u, e))
    s.assume("above", le(e, u))
    return le(e * x, u * absolute(x))


def proof_term(p: Proof) -> None:
    x, e, u = p["x e u"]
    size = absolute(x)
    p.le(
        u * size,
        order(
            (size - x) / 2 * (e - -u) + (size + x) / 2 * (u - e),
            facts=(fact_of(abs_ge, x=x), fact_of((abs_ge, "negative"), x=x)),
        ),
    )


def upper(s: Scope) -> Claim:
    declare(s)
    return le(change(s), s["u"] * mass(s))


def proof_upper(p: Proof) -> None:
    n, x, v, error, u = p["n s v π u"]
    w = softmax(x)
    p.line(Sum(n, lambda j: w[j] * (error[j] * v[j])), "sum_add", "sum_scale")
    p.le(
        Sum(n, lambda j: w[j] * (u * absolute(v[j]))),
        lemma((THEOREM, "term"), within=lambda j: {"x": v[j], "e": error[j], "u": u}),
    )
    p.line(u * mass(p), "sum_scale")


def lower(s: Scope) -> Claim:
    declare(s)
    return le(-change(s), s["u"] * mass(s))


def proof_lower(p: Proof) -> None:
    n, x, v, error, u = p["n s v π u"]
    w = softmax(x)
    p.line(Sum(n, lambda j: w[j] * (-error[j] * v[j])), "sum_add", "sum_scale")
    p.le(
        Sum(n, lambda j: w[j] * (u * absolute(v[j]))),
        lemma((THEOREM, "term"), within=lambda j: {"x": v[j], "e": -error[j], "u": u}),
    )
    p.line(u * mass(p), "sum_scale")


def attained(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    u = s.scalar("u")
    p = softmax(x)
    return eq(Sum(n, lambda j: p[j] * (1 + u) * 1) - Sum(n, lambda j: p[j] * 1), u)


def proof_attained(p: Proof) -> None:
    n, x, u = p["n s u"]
    w = softmax(x)
    p.line(u * Sum(n, lambda j: w[j]), "sum_add", "sum_scale")
    p.line(u, lemma(softmax_sum))


def centred(s: Scope) -> Claim:
    declare(s)
    n, x, v, u = s["n s v u"]
    p = softmax(x)
    out = Sum(n, lambda l: p[l] * v[l])
    return le(absolute(change(s)), u * Sum(n, lambda j: p[j] * absolute(v[j] - out)))


def attempt(p: Proof) -> None:
    n, x, v, u = p["n s v u"]
    w = softmax(x)
    out = Sum(n, lambda l: w[l] * v[l])
    p.le(u * mass(p), lemma(THEOREM))
    p.le(Sum(n, lambda j: u * (w[j] * absolute(v[j] - out))), order())


def small(rng: Random) -> dict[str, Any]:
    n, u = rng.randint(1, 4), Fraction(rng.randint(1, 4), 16)
    return {"n": n, "u": u, "π": [u * rng.randint(-4, 4) / 4 for _ in range(n)]}


def constant(rng: Random) -> dict[str, Any]:
    u = Fraction(1, 8)
    return {"n": 2, "u": u, "π": [u, u], "s": [0, 0], "v": [1, 1]}


THEOREM = Theorem(
    id="narrow_weights",
    chapter="rounding",
    title={"en": "Rounding the weights", "ko": "가중치의 반올림"},
    prose={
        "en": r"Fused kernels round the weights to a 16-bit format before they multiply the "
        r"values, while the denominator is summed in full precision. With relative errors of "
        r"at most $u$ per weight the output moves by at most $u\sum p|v|$: not $n$ times $u$, "
        r"and not multiplied by the range of the scores. It is not centred either: for "
        r"constant values the output is off by the factor $1+u$ in the worst case, because the "
        r"rounded weights no longer sum to one.",
        "ko": r"융합 커널은 가중치를 16비트 형식으로 반올림한 뒤 밸류와 곱하며, 분모는 더 높은 "
        r"정밀도로 더합니다. 가중치마다 상대오차가 $u$ 이하이면 출력은 $u\sum p|v|$보다 많이 "
        r"움직이지 않습니다. $n$이나 점수의 범위가 곱해지지 않습니다. 그러나 중심을 기준으로 "
        r"한 한계는 아닙니다. 반올림한 가중치의 합이 더는 1이 아니므로, 밸류가 모두 같아도 "
        r"출력은 최악의 경우 $1+u$배가 됩니다.",
    },
    parts=(
        Part(statement, proof, instance=small),
        Part(
            upper,
            proof_upper,
            name="upper",
            title={"en": "From above", "ko": "상한"},
            instance=small,
        ),
        Part(
            lower,
            proof_lower,
            name="lower",
            title={"en": "From below", "ko": "하한"},
            instance=small,
        ),
        Part(term, proof_term, name="term", title={"en": "One key", "ko": "키 하나"}),
        Part(
            attained,
            proof_attained,
            name="attained",
            title={
                "en": "Constant values 1 and errors $u$ attain it",
                "ko": "밸류가 모두 1이고 오차가 모두 $u$이면 달성된다",
            },
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"The centred bound $u\sum p|v-o|$ holds",
                "ko": r"중심을 기준으로 한 한계 $u\sum p|v-o|$가 성립한다는 주장",
            },
            statement=centred,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=constant,
        ),
    ),
    numbers={
        "en": r"bfloat16 weights, $u=2^{-8}$, values of size 1: at most $0.00391$; float16, "
        r"$u=2^{-11}$: $0.00049$.",
        "ko": r"가중치가 bfloat16($u=2^{-8}$)이고 밸류의 크기가 1이면 $0.00391$ 이하, "
        r"float16($u=2^{-11}$)이면 $0.00049$ 이하입니다.",
    },
    references=("higham2002", "dao2022"),
)


if __name__ == "__main__":
    THEOREM.main()
