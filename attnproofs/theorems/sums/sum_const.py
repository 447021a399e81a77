"""A constant summed n times is n times the constant."""

from attnproofs.calculus import (
    Induction,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    hyp,
    lemma,
    reindex,
    span,
    split,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n", least=0)
    c = s.scalar("c")
    return eq(Sum(n, lambda j: c), n * c)


def base(p: Proof) -> None:
    c = p["c"]
    p.line(0, "sum_empty")
    p.line(0 * c, "ring")


def step(p: Proof) -> None:
    n, c = p["n c"]
    p.line(Sum(n, lambda j: c) + c, split(n), "sum_single")
    p.line(n * c + c, hyp("IH"))
    p.line((n + 1) * c, "ring")


def over_range(s: Scope) -> Claim:
    lo, n = s.dimension("lo", least=0), s.dimension("n", least=0)
    c = s.scalar("c")
    return eq(Sum(span(lo, lo + n - 1), lambda j: c), n * c)


def range_proof(p: Proof) -> None:
    lo, n, c = p["lo n c"]
    p.line(Sum(n, lambda k: c), reindex(lambda k: k + lo - 1, lambda j: j - lo + 1))
    p.line(n * c, lemma(THEOREM))


THEOREM = Theorem(
    id="sum_const",
    chapter="sums",
    title={"en": "Constant sum", "ko": "상수의 합"},
    prose={
        "en": "A constant summed $n$ times is $n$ times the constant. Counting is this sum "
        "with $c=1$.",
        "ko": "상수를 $n$번 더하면 그 상수의 $n$배입니다. $c=1$이면 개수를 세는 식이 됩니다.",
    },
    parts=(
        Part(statement, Induction("n", base, step)),
        Part(
            over_range,
            range_proof,
            name="range",
            title={"en": "Over any range", "ko": "임의의 범위에서"},
        ),
    ),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
