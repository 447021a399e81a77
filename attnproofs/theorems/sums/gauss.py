"""The sum of the first T integers."""

from attnproofs.calculus import Induction, Part, Proof, Scope, Sum, Theorem, eq, hyp, split
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T = s.dimension("T", least=0)
    return eq(Sum(T, lambda i: i), T * (T + 1) / 2)


def base(p: Proof) -> None:
    p.line(0, "sum_empty")


def step(p: Proof) -> None:
    T = p["T"]
    p.line(Sum(T, lambda i: i) + (T + 1), split(T), "sum_single")
    p.line(T * (T + 1) / 2 + (T + 1), hyp("IH"))
    p.line((T + 1) * (T + 2) / 2, "ring")


THEOREM = Theorem(
    id="gauss",
    chapter="sums",
    title={"en": "Sum of the first integers", "ko": "처음 $T$개 자연수의 합"},
    prose={
        "en": "The first $T$ integers add up to $T(T+1)/2$. It counts the pairs that a causal "
        "mask keeps.",
        "ko": "처음 $T$개 자연수의 합은 $T(T+1)/2$입니다. 인과 마스크가 남기는 쌍의 개수를 셀 "
        "때 씁니다.",
    },
    parts=(Part(statement, Induction("T", base, step)),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
