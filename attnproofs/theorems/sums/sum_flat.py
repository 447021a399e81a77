"""A sum over H blocks of length d, laid out one after another, is the double sum."""

from attnproofs.calculus import (
    Induction,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    hyp,
    reindex,
    span,
    split,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    H = s.dimension("H", least=0)
    d = s.dimension("d")
    N = s.dimension("N", least=0)
    s.assume("within", H * d <= N)
    f = s.tensor("f", N)
    return eq(
        Sum(H * d, lambda c: f[c]),
        Sum(H, lambda h: Sum(d, lambda r: f[(h - 1) * d + r])),
    )


def base(p: Proof) -> None:
    H, d, f = p["H d f"]
    p.line(0, "sum_empty")
    p.line(Sum(H, lambda h: Sum(d, lambda r: f[(h - 1) * d + r])), "sum_empty")


def step(p: Proof) -> None:
    H, d, f = p["H d f"]
    blocks = Sum(H, lambda h: Sum(d, lambda r: f[(h - 1) * d + r]))
    last = Sum(d, lambda r: f[H * d + r])
    p.line(Sum(H * d, lambda c: f[c]) + Sum(span(H * d + 1, H * d + d), lambda c: f[c]),
           split(H * d))  # fmt: skip
    p.line(Sum(H * d, lambda c: f[c]) + last, reindex(lambda r: r + H * d, lambda c: c - H * d))
    p.line(blocks + last, hyp("IH"))
    p.line(Sum(H + 1, lambda h: Sum(d, lambda r: f[(h - 1) * d + r])), split(H), "sum_single")


THEOREM = Theorem(
    id="sum_flat",
    chapter="sums",
    title={"en": "Sum over contiguous blocks", "ko": "연속한 블록에 대한 합"},
    prose={
        "en": r"The columns $1,\dots,Hd$, read as $H$ contiguous blocks of length $d$, are the "
        r"numbers $(h-1)d+r$; summing over all columns is summing over blocks and then inside "
        r"each.",
        "ko": "1부터 $Hd$까지의 열을 길이 $d$인 연속한 블록 $H$개로 보면 열 번호는 "
        "$(h-1)d+r$입니다. 모든 열에 대한 합은 블록별로, 다시 블록 안에서 더한 것과 같습니다.",
    },
    parts=(Part(statement, Induction("H", base, step)),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
