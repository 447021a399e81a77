"""A sum over consecutive tiles is the sum over all of them."""

from random import Random
from typing import Any

from attnproofs.calculus import (
    Induction,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    hyp,
    ixeq,
    span,
    split,
)
from attnproofs.calculus.symbols import Ix
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    """Declare tile borders t(0) = 0 <= t(1) <= ... <= t(B) and a summand."""
    b, B = s.dimension("b", least=0), s.dimension("B")
    N = s.dimension("N", least=0)
    t = s.function("t", span(0, B), into=span(0, N))
    s.assume("within", b <= B)
    s.assume("start", t(0).is_(0))
    s.assume("ordered", lambda k: t(k) <= t(k + 1), over={"k": span(0, B - 1)})
    s.tensor("f", N)


def statement(s: Scope) -> Claim:
    declare(s)
    b, t, f = s["b t f"]
    return eq(
        Sum(b, lambda k: Sum(span(t(k - 1) + 1, t(k)), lambda j: f[j])),
        Sum(span(1, t(b)), lambda j: f[j]),
    )


def base(p: Proof) -> None:
    t, f = p["t f"]
    p.line(0, "sum_empty")
    p.line(Sum(span(1, Ix(ix.ZERO)), lambda j: f[j]), "sum_empty")
    p.line(Sum(span(1, t(0)), lambda j: f[j]), ixeq)


def step(p: Proof) -> None:
    b, t, f = p["b t f"]
    tiles = Sum(b, lambda k: Sum(span(t(k - 1) + 1, t(k)), lambda j: f[j]))
    last = Sum(span(t(b) + 1, t(b + 1)), lambda j: f[j])
    p.line(tiles + last, split(b), "sum_single")
    p.line(Sum(span(1, t(b)), lambda j: f[j]) + last, hyp("IH"))
    p.line(Sum(span(1, t(b + 1)), lambda j: f[j]), split(t(b)))


def borders(rng: Random) -> dict[str, Any]:
    """Return ragged tile borders, empty tiles allowed."""
    B = rng.randint(1, 3)
    ends = [0]
    for _ in range(B):
        ends.append(ends[-1] + rng.randint(0, 2))
    return {
        "b": rng.randint(0, B),
        "B": B,
        "N": ends[-1],
        "t": {(k,): e for k, e in enumerate(ends)},
    }


THEOREM = Theorem(
    id="sum_tiles",
    chapter="sums",
    title={"en": "Sum over tiles", "ko": "타일별 합"},
    prose={
        "en": r"Cut $1,\dots,t(b)$ into consecutive tiles, of any sizes and possibly empty: "
        r"summing tile by tile gives the whole sum.",
        "ko": "1부터 $t(b)$까지를 크기가 제각각이고 비어 있어도 되는 이어진 타일들로 나누면, "
        "타일마다 더한 값을 모두 더한 것은 전체 합과 같습니다.",
    },
    parts=(Part(statement, Induction("b", base, step), instance=borders),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
