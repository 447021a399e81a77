"""Moving every score by at most h moves the weight of any set of keys by at most tanh(h/2)."""

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
    array,
    condition_value,
    eq,
    exp,
    fact_of,
    ind,
    le,
    lemma,
    order,
    softmax,
    tanh,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.exp_ge_one import THEOREM as exp_ge_one
from attnproofs.theorems.sums.tilt import THEOREM as tilt


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    event = s.predicate("S", n)
    s.kept(event)
    x, move = s.tensor("s", n), s.tensor("δ", n)
    h = s.scalar("h")
    s.assume("nonnegative", le(0, h))
    s.assume("below", lambda l: le(-h, move[l]), over={"l": n})
    s.assume("above", lambda l: le(move[l], h), over={"l": n})
    return n, event, x, move, h


def change(s: Scope | Proof) -> Expr:
    n, event, x, move = s["n S s δ"]
    moved = softmax(array(n, lambda l: x[l] + move[l]))
    before = softmax(x)
    return Sum(n, lambda j: ind(event(j)) * moved[j]) - Sum(n, lambda j: ind(event(j)) * before[j])


def statement(s: Scope) -> Claim:
    _, _, _, _, h = declare(s)
    return le(change(s), tanh(h / 2))


def proof(p: Proof) -> None:
    n, event, x, move, h = p["n S s δ h"]
    a = exp(h)
    U = Sum(n, lambda j: ind(event(j)) * exp(x[j] + move[j]))
    W = Sum(n, lambda j: ind(~event(j)) * exp(x[j] + move[j]))
    u = Sum(n, lambda j: ind(event(j)) * exp(x[j]))
    w = Sum(n, lambda j: ind(~event(j)) * exp(x[j]))
    tilted = fact_of(tilt, S=event, s=x, δ=move)
    back = fact_of(
        tilt,
        S=condition_value(1, lambda j: ~event(j)),
        s=array(n, lambda l: x[l] + move[l]),
        δ=array(n, lambda l: -move[l]),
    )
    p.line(U / (U + W) - u / (u + w), "unfold:softmax", "sum_scale", "ind_bool", "sum_add")
    p.le(
        a**2 * u / (a**2 * u + w) - u / (u + w),
        order(
            ((a * u - U) * (a * W) + U * (a * W - w)) / (U + W) / (a**2 * u + w),
            facts=(tilted, back),
        ),
    )
    p.le(
        (a - 1) / (a + 1),
        order(
            (a - 1) * (w - a * u) ** 2 / (a + 1) / (a**2 * u + w) / (u + w),
            facts=(fact_of(exp_ge_one, t=h),),
        ),
    )
    p.line(tanh(h / 2), "unfold")


def attained(s: Scope) -> Claim:
    h = s.scalar("h")
    moved = softmax(array(2, lambda l: ind(l.is_(1)) * h))
    before = softmax(array(2, lambda l: ind(l.is_(2)) * h))
    return eq(moved[1] - before[1], tanh(h / 2))


def proof_attained(p: Proof) -> None:
    h = p["h"]
    p.line(
        exp(h) / (exp(h) + exp(0)) - exp(0) / (exp(0) + exp(h)),
        "unfold:softmax",
        "sum_literal",
        "ind_val",
    )
    p.line((exp(h) - 1) / (exp(h) + 1), "expring")
    p.line(tanh(h / 2), "unfold")


def quarter(s: Scope) -> Claim:
    _, _, _, _, h = declare(s)
    s.uses("tanh")
    return le(change(s), h / 4)


def attempt(p: Proof) -> None:
    h = p["h"]
    p.le(tanh(h / 2), lemma(THEOREM))
    p.le(h / 4, order(None, "unfold"))


def small_moves(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 4)
    h = Fraction(rng.randint(1, 8), 4)
    moves = [h * rng.randint(-4, 4) / 4 for _ in range(n)]
    k = rng.randint(1, n)
    return {"n": n, "h": h, "δ": moves, "κ": {(): k}, "S": [j == k for j in range(1, n + 1)]}


def opposite(rng: Random) -> dict[str, Any]:
    h = Fraction(1)
    return {"n": 2, "h": h, "s": [0, h], "δ": [h, -h], "κ": {(): 1}, "S": [True, False]}


THEOREM = Theorem(
    id="tv_tanh",
    chapter="softmax",
    title={"en": "Stability of weights", "ko": "가중치의 안정성"},
    prose={
        "en": "If no score moves by more than h, the total weight of any nonempty set of keys "
        "moves by at most tanh(h/2), about h/2 for small h, and never more than 1. The bound "
        "does not depend on the number of keys, and two keys attain it. This is how errors in "
        "scores reach the weights.",
        "ko": "어느 스코어도 h보다 많이 움직이지 않으면, 공집합이 아닌 어떤 키의 집합에 "
        "대해서도 가중치의 합은 tanh(h/2)보다 많이 움직이지 않습니다. h가 작으면 약 h/2이고, "
        "1을 넘는 일은 없습니다. 이 한계는 키의 개수와 무관하며 키가 둘일 때 실제로 "
        "달성됩니다. 스코어의 오차가 가중치에 전달되는 크기가 바로 이것입니다.",
    },
    parts=(
        Part(statement, proof, instance=small_moves),
        Part(
            attained,
            proof_attained,
            name="attained",
            title={"en": "two keys attain it", "ko": "키가 둘일 때 달성된다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "by at most h/4", "ko": "h/4보다 많이 움직이지 않는다"},
            statement=quarter,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=opposite,
        ),
    ),
    numbers={
        "en": r"$h=0.01$: at most $\tanh(0.005)=0.00499996$; $h=1$: at most $0.4621$.",
        "ko": r"$h=0.01$이면 $\tanh(0.005)=0.00499996$ 이하, $h=1$이면 $0.4621$ 이하입니다.",
    },
    references=("levin2009", "higham2002"),
)


if __name__ == "__main__":
    THEOREM.main()
