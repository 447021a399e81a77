"""A running state over tiles stands for a sum over all keys."""

from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    ixeq,
    lemma,
    span,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.computation.online_softmax import THEOREM as online_softmax
from attnproofs.theorems.sums.sum_tiles import THEOREM as sum_tiles


def declare_tiles(s: Scope) -> None:
    """Declare tiles with borders t(0) = 0 <= ... <= t(B) = n, scores and shifts."""
    n, B = s.dimensions("n B")
    t = s.function("t", span(0, B), into=span(0, n))
    s.assume("start", t(0).is_(0))
    s.assume("ordered", lambda k: t(k) <= t(k + 1), over={"k": span(0, B - 1)})
    s.assume("end", t(B).is_(n))
    s.tensor("s", n)
    s.tensor("m", span(0, B))


def declare_state(s: Scope, name: str, u: Array | None, *, rescaled: bool = True) -> None:
    """Declare a running state: rescaled when the shift changes, then the tile's terms are added."""
    B, m = s["B m"]
    state = s.tensor(name, span(0, B))
    s.assume(f"{name}_start", eq(state[0], 0))

    def step(k: Any) -> Claim:
        kept = state[k] * exp(m[k] - m[k + 1]) if rescaled else state[k]
        return eq(state[k + 1], kept + tile(s, k + 1, u))

    s.assume(f"{name}_step", step, over={"k": span(0, B - 1)})


def tile(s: Any, k: Any, u: Array | None) -> Expr:
    """Return what tile k adds: its terms, shifted by m[k]."""
    t, x, m = s["t s m"]
    return Sum(
        span(t(k - 1) + 1, t(k)),
        lambda j: exp(x[j] - m[k]) if u is None else exp(x[j] - m[k]) * u[j],
    )


def statement(s: Scope) -> Claim:
    declare_tiles(s)
    n, B, x, m = s["n B s m"]
    u = s.tensor("u", n)
    declare_state(s, "O", u)
    return eq(exp(m[B]) * s["O"][B], Sum(n, lambda j: exp(x[j]) * u[j]))


def proof(p: Proof) -> None:
    n, B, t, x, m, u, O = p["n B t s m u O"]
    p.line(
        Sum(B, lambda k: tile(p, k, u) * exp(m[k])),
        lemma(
            (online_softmax, "unshifted"), n=B, N=B, m=m, L=O,
            s=array(B, lambda k: m[k]), u=array(B, lambda k: tile(p, k, u)),
        ),
    )  # fmt: skip
    p.line(
        Sum(B, lambda k: Sum(span(t(k - 1) + 1, t(k)), lambda j: exp(x[j]) * u[j])),
        "expring", "sum_scale",
    )  # fmt: skip
    p.line(
        Sum(span(1, t(B)), lambda j: exp(x[j]) * u[j]),
        lemma(sum_tiles, b=B, B=B, N=n, f=array(n, lambda j: exp(x[j]) * u[j])),
    )
    p.line(Sum(n, lambda j: exp(x[j]) * u[j]), ixeq)


def borders(rng: Random) -> dict[str, Any]:
    """Return ragged tile borders over at least one key; tiles may be empty."""
    ends = [0]
    for _ in range(rng.randint(1, 3)):
        ends.append(ends[-1] + rng.randint(0, 2))
    ends[-1] = max(ends[-1], 1)
    return {"n": ends[-1], "B": len(ends) - 1, "t": {(k,): e for k, e in enumerate(ends)}}


THEOREM = Theorem(
    id="tiled_state",
    chapter="computation",
    title={"en": "What a running state stands for", "ko": "누적 상태의 뜻"},
    prose={
        "en": "A state that is rescaled whenever the shift changes, and to which the terms of one tile "
        "after another are added, stands for the sum over all keys. It is online softmax with a whole "
        "tile in the place of a single key; tiles may have any sizes, and be empty.",
        "ko": "이동값이 바뀔 때마다 크기를 맞추고 타일의 항들을 차례로 더해 가는 상태는 모든 키에 대한 "
        "합을 나타냅니다. 온라인 소프트맥스에서 키 하나의 자리에 타일 하나가 온 것으로, 타일의 크기는 "
        "제각각이어도 되고 비어 있어도 됩니다.",
    },
    parts=(Part(statement, proof, instance=borders),),
    references=("dao2022",),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
