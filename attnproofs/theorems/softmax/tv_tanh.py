"""Moving every score by at most h moves the weight of any set of keys by at most tanh(h/2)."""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    every,
    exp,
    fact_of,
    ind,
    le,
    lemma,
    lt,
    order,
    softmax,
    tanh,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.exp_ge_one import THEOREM as exp_ge_one
from attnproofs.theorems.sums.ind_le_one import THEOREM as ind_le_one
from attnproofs.theorems.sums.tilt import THEOREM as tilt


def moves(s: Scope) -> None:
    """Declare scores, and changes of them between -h and h."""
    n = s.dimension("n")
    s.tensor("s", n)
    move = s.tensor("δ", n)
    h = s.scalar("h")
    s.assume("nonnegative", le(0, h))
    s.assume("below", lambda l: le(-h, move[l]), over={"l": n})
    s.assume("above", lambda l: le(move[l], h), over={"l": n})


def gain(s: Scope | Proof, b: Callable[[Ix], Expr]) -> Expr:
    """Return the mean of b under the moved weights less that under the weights before."""
    n, x, move = s["n s δ"]
    moved = softmax(array(n, lambda l: x[l] + move[l]))
    before = softmax(x)
    return Sum(n, lambda j: b(j) * moved[j]) - Sum(n, lambda j: b(j) * before[j])


def member(s: Scope | Proof) -> Callable[[Ix], Expr]:
    event = s["S"]
    return lambda j: ind(event(j))


def statement(s: Scope) -> Claim:
    moves(s)
    s.predicate("S", s["n"])
    return le(gain(s, member(s)), tanh(s["h"] / 2))


def proof(p: Proof) -> None:
    n, x, move, h = p["n s δ h"]
    b = array(n, member(p))
    p.le(
        tanh(h / 2),
        lemma((THEOREM, "soft"), n=n, s=x, δ=move, h=h, b=b, facts=(at_most_one(p),)),
    )


def at_most_one(p: Proof) -> dict[str, Any]:
    return fact_of(ind_le_one, n=p["n"], b=p["S"], i=every)


def loss(s: Scope) -> Claim:
    moves(s)
    s.predicate("S", s["n"])
    return le(-gain(s, member(s)), tanh(s["h"] / 2))


def proof_loss(p: Proof) -> None:
    n, x, move, h = p["n s δ h"]
    inside = member(p)
    moved = softmax(array(n, lambda l: x[l] + move[l]))
    back = softmax(array(n, lambda l: x[l] + move[l] + -move[l]))
    p.line(Sum(n, lambda j: inside(j) * back[j]) - Sum(n, lambda j: inside(j) * moved[j]), "ring")
    p.le(
        tanh(h / 2),
        lemma(
            (THEOREM, "soft"),
            b=array(n, inside),
            s=array(n, lambda l: x[l] + move[l]),
            δ=array(n, lambda l: -move[l]),
            h=h,
            n=n,
            facts=(at_most_one(p),),
        ),
    )


def soft(s: Scope) -> Claim:
    moves(s)
    n = s["n"]
    b = s.tensor("b", n)
    s.assume("at_least_zero", lambda l: le(0, b[l]), over={"l": n})
    s.assume("at_most_one", lambda l: le(b[l], 1), over={"l": n})
    return le(gain(s, lambda j: b[j]), tanh(s["h"] / 2))


def proof_soft(p: Proof) -> None:
    n, x, move, b, h = p["n s δ b h"]
    a = exp(h)
    Zm, Z = Sum(n, lambda j: exp(x[j] + move[j])), Sum(n, lambda j: exp(x[j]))
    U, u = Sum(n, lambda j: b[j] * exp(x[j] + move[j])), Sum(n, lambda j: b[j] * exp(x[j]))
    W = Sum(n, lambda j: (1 - b[j]) * exp(x[j] + move[j]))
    w = Sum(n, lambda j: (1 - b[j]) * exp(x[j] + move[j] + -move[j]))
    D = Z + (a - 1) * (a + 1) * u
    up = fact_of(tilt, b=b, s=x, δ=move)
    down = fact_of(
        tilt,
        b=array(n, lambda l: 1 - b[l]),
        s=array(n, lambda l: x[l] + move[l]),
        δ=array(n, lambda l: -move[l]),
    )
    one = fact_of(exp_ge_one, t=h)
    p.line(U / Zm - u / Z, "unfold:softmax", "sum_scale")
    p.le(
        (a - 1) / (a + 1),
        order(
            ((a * u - U) * (a * W) + U * (a * W - w)) / Zm / D
            + (a - 1) * (Z - u - a * u) ** 2 / (a + 1) / D / Z,
            "sum_add",
            "sum_scale",
            facts=(up, down, one),
        ),
    )
    p.line(tanh(h / 2), "unfold")


def bounded_values(s: Scope) -> tuple[Array, Expr, Expr]:
    n = s["n"]
    v = s.tensor("v", n)
    low, high = s.scalar("L"), s.scalar("M")
    s.assume("range", lt(low, high))
    s.assume("at_least", lambda l: le(low, v[l]), over={"l": n})
    s.assume("at_most", lambda l: le(v[l], high), over={"l": n})
    return v, low, high


def share(s: Scope) -> Claim:
    n = s.dimension("n")
    v, low, high = s.tensor("v", n), s.scalar("L"), s.scalar("M")
    s.assume("range", lt(low, high))
    s.assume("at_most", lambda l: le(v[l], high), over={"l": n})
    j = s.index("j", n)
    return le((v[j] - low) / (high - low), 1)


def proof_share(p: Proof) -> None:
    v, low, high, j = p["v L M j"]
    p.le(1, order((high - v[j]) / (high - low)))


def values(s: Scope) -> Claim:
    moves(s)
    v, low, high = bounded_values(s)
    return le(gain(s, lambda j: v[j]), (high - low) * tanh(s["h"] / 2))


def proof_values(p: Proof) -> None:
    n, x, move, v, low, high, h = p["n s δ v L M h"]
    b = array(n, lambda l: (v[l] - low) / (high - low))
    moved, before = softmax(array(n, lambda l: x[l] + move[l])), softmax(x)

    def rest(w: Array) -> Expr:
        share: Expr = low * Sum(n, lambda j: w[j])
        return share

    p.line(
        (high - low) * gain(p, lambda j: b[j]) + rest(moved) - rest(before),
        "sum_add",
        "sum_scale",
    )
    p.line((high - low) * gain(p, lambda j: b[j]), lemma(softmax_sum))
    within_one = fact_of((THEOREM, "share"), j=every)
    p.le(
        (high - low) * tanh(h / 2),
        lemma((THEOREM, "soft"), n=n, s=x, δ=move, h=h, b=b, facts=(within_one,)),
    )


def values_loss(s: Scope) -> Claim:
    moves(s)
    v, low, high = bounded_values(s)
    return le(-gain(s, lambda j: v[j]), (high - low) * tanh(s["h"] / 2))


def proof_values_loss(p: Proof) -> None:
    n, x, move, v, low, high, h = p["n s δ v L M h"]
    moved = softmax(array(n, lambda l: x[l] + move[l]))
    back = softmax(array(n, lambda l: x[l] + move[l] + -move[l]))
    p.line(Sum(n, lambda j: v[j] * back[j]) - Sum(n, lambda j: v[j] * moved[j]), "ring")
    p.le(
        (high - low) * tanh(h / 2),
        lemma(
            (THEOREM, "values"),
            s=array(n, lambda l: x[l] + move[l]),
            δ=array(n, lambda l: -move[l]),
            h=h,
            n=n,
            v=v,
            L=low,
            M=high,
        ),
    )


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
    moves(s)
    s.predicate("S", s["n"])
    s.uses("tanh")
    return le(gain(s, member(s)), s["h"] / 4)


def attempt(p: Proof) -> None:
    h = p["h"]
    p.le(tanh(h / 2), lemma(THEOREM))
    p.le(h / 4, order(None, "unfold"))


def small_moves(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 4)
    h = Fraction(rng.randint(1, 8), 4)
    return {
        "n": n,
        "h": h,
        "δ": [h * rng.randint(-4, 4) / 4 for _ in range(n)],
        "b": [Fraction(rng.randint(0, 4), 4) for _ in range(n)],
    }


def between(rng: Random) -> dict[str, Any]:
    drawn = small_moves(rng)
    low = Fraction(rng.randint(-4, 4), 2)
    v = [low + 2 * b for b in drawn.pop("b")]
    return {**drawn, "L": low, "M": low + 2, "v": v}


def opposite(rng: Random) -> dict[str, Any]:
    return {"n": 2, "h": Fraction(1), "s": [0, 1], "δ": [1, -1], "S": [True, False]}


THEOREM = Theorem(
    id="tv_tanh",
    chapter="softmax",
    title={"en": "Stability of weights", "ko": "가중치의 안정성"},
    prose={
        "en": r"If no score moves by more than $h$, the total weight of any set of keys moves "
        r"by at most $\tanh(h/2)$, up or down: about $h/2$ for small $h$, and never more than "
        r"1. The bound does not depend on the number of keys, and two keys attain it. For "
        r"values between $L$ and $M$ the output moves by at most $(M-L)\tanh(h/2)$. This is "
        r"how errors in scores reach the weights and the output.",
        "ko": r"어느 점수의 변화도 $h$를 넘지 않으면, 어떤 키의 집합에 대해서도 가중치의 합의 "
        r"변화는 위로든 아래로든 $\tanh(h/2)$를 넘지 않습니다. $h$가 작으면 약 $h/2$이고, 1을 "
        r"넘는 일은 없습니다. 이 한계는 키의 개수와 무관하며 키가 둘일 때 실제로 달성됩니다. "
        r"밸류가 $L$과 $M$ 사이에 있으면 출력은 $(M-L)\tanh(h/2)$보다 많이 움직이지 않습니다. "
        r"점수의 오차가 가중치와 출력에 전달되는 크기가 바로 이것입니다.",
    },
    parts=(
        Part(statement, proof, instance=small_moves),
        Part(
            loss,
            proof_loss,
            name="loss",
            title={"en": "Downwards", "ko": "아래로 움직일 때"},
            instance=small_moves,
        ),
        Part(
            soft,
            proof_soft,
            name="soft",
            title={
                "en": "The mean of any numbers between 0 and 1",
                "ko": "0과 1 사이의 수들의 평균",
            },
            instance=small_moves,
        ),
        Part(
            values,
            proof_values,
            name="values",
            title={
                "en": "The output, for values between $L$ and $M$",
                "ko": "밸류가 $L$과 $M$ 사이일 때의 출력",
            },
            instance=between,
        ),
        Part(
            values_loss,
            proof_values_loss,
            name="values_loss",
            title={"en": "The output, downwards", "ko": "출력이 아래로 움직일 때"},
            instance=between,
        ),
        Part(
            share,
            proof_share,
            name="share",
            title={
                "en": "Values scaled to the interval from 0 to 1",
                "ko": "0과 1 사이로 맞춘 밸류",
            },
            instance=between,
        ),
        Part(
            attained,
            proof_attained,
            name="attained",
            title={"en": "Two keys attain it", "ko": "키가 둘일 때 달성된다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "It moves by at most $h/4$", "ko": "변화가 $h/4$를 넘지 않는다는 주장"},
            statement=quarter,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=opposite,
        ),
    ),
    numbers={
        "en": r"$h=0.01$: at most $\tanh(0.005)\approx0.00499996$; $h=1$: at most $0.4621$.",
        "ko": r"$h=0.01$이면 $\tanh(0.005)\approx0.00499996$ 이하, $h=1$이면 $0.4621$ "
        r"이하입니다.",
    },
    references=("levin2009", "higham2002"),
)


if __name__ == "__main__":
    THEOREM.main()
