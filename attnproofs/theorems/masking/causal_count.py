"""A causal mask keeps T (T + 1) / 2 of the T squared pairs."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    ind,
    lemma,
    rational_expr,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.cut import THEOREM as cut
from attnproofs.theorems.sums.gauss import THEOREM as gauss
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def statement(s: Scope) -> Claim:
    T = s.dimension("T")
    return eq(Sum(T, lambda i: Sum(T, lambda j: ind(j <= i))), T * (T + 1) / 2)


def proof(p: Proof) -> None:
    T = p["T"]
    p.line(
        Sum(T, lambda i: Sum(i, lambda j: 1)),
        lemma(cut, within=lambda i: {"i": i, "T": T, "f": array(T, lambda j: 1)}),
    )
    p.line(Sum(T, lambda i: i), lemma(sum_const, within=lambda i: {"n": i, "c": rational_expr(1)}))
    p.line(T * (T + 1) / 2, lemma(gauss))


def half(s: Scope) -> Claim:
    T = s.dimension("T")
    return eq(Sum(T, lambda i: Sum(T, lambda j: ind(j <= i))), T * T / 2)


def attempt(p: Proof) -> None:
    T = p["T"]
    p.line(T * (T + 1) / 2, lemma(THEOREM))
    p.line(T * T / 2, "ring")


THEOREM = Theorem(
    id="causal_count",
    chapter="masking",
    title={"en": "Pairs that a causal mask keeps", "ko": "인과 마스크가 남기는 쌍의 수"},
    prose={
        "en": "Token $i$ may look at $i$ tokens, itself included, so $T(T+1)/2$ pairs are "
        "kept. That is a little more than half: the diagonal is kept whole.",
        "ko": "$i$번 토큰은 자신을 포함하여 $i$개의 토큰을 볼 수 있으므로 남는 쌍은 "
        "$T(T+1)/2$개입니다. 대각이 모두 남기 때문에 절반보다 조금 많습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "Exactly half of them, $T^2/2$", "ko": "정확히 절반인 $T^2/2$개라는 주장"},
            statement=half,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$T=4$: $10$ of $16$; $T=8192$: $33\,558\,528$ of $67\,108\,864$.",
        "ko": r"$T=4$이면 $16$개 중 $10$개, $T=8192$이면 $67\,108\,864$개 중 "
        r"$33\,558\,528$개입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
