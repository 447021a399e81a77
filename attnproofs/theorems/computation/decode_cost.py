"""Decoding T tokens: T(T+1)/2 scores with a cache, T(T+1)(2T+1)/6 without."""

from attnproofs.calculus import (
    FalseNeighbour,
    Induction,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    hyp,
    lemma,
    rational_expr,
    split,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.gauss import THEOREM as gauss
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def statement(s: Scope) -> Claim:
    T = s.dimension("T", least=0)
    return eq(Sum(T, lambda t: Sum(t, lambda j: 1)), T * (T + 1) / 2)


def proof(p: Proof) -> None:
    T = p["T"]
    p.line(Sum(T, lambda t: t), lemma(sum_const, within=lambda t: {"n": t, "c": rational_expr(1)}))
    p.line(T * (T + 1) / 2, lemma(gauss))


def recomputed(s: Scope) -> Claim:
    T = s.dimension("T", least=0)
    scores = Sum(T, lambda t: Sum(t, lambda i: Sum(t, lambda j: 1)))
    return eq(scores, T * (T + 1) * (2 * T + 1) / 6)


def base(p: Proof) -> None:
    p.line(0, "sum_empty")


def step(p: Proof) -> None:
    T = p["T"]
    last = Sum(T + 1, lambda i: Sum(T + 1, lambda j: 1))
    p.line(Sum(T, lambda t: Sum(t, lambda i: Sum(t, lambda j: 1))) + last, split(T), "sum_single")
    p.line(T * (T + 1) * (2 * T + 1) / 6 + last, hyp("IH"))
    p.line(
        T * (T + 1) * (2 * T + 1) / 6 + (T + 1) * (T + 1),
        lemma(sum_const, n=T + 1),
        lemma(sum_const, n=T + 1),
    )
    p.line((T + 1) * (T + 2) * (2 * (T + 1) + 1) / 6, "ring")


def twice(s: Scope) -> Claim:
    T = s.dimension("T")
    scores = Sum(T, lambda t: Sum(t, lambda i: Sum(t, lambda j: 1)))
    return eq(scores, T * (T + 1))


def attempt(p: Proof) -> None:
    T = p["T"]
    p.line(T * (T + 1) * (2 * T + 1) / 6, lemma((THEOREM, "recomputed")))
    p.line(T * (T + 1), "ring")


THEOREM = Theorem(
    id="decode_cost",
    chapter="computation",
    title={"en": "The cost of decoding", "ko": "디코딩의 비용"},
    prose={
        "en": "At step $t$ the new token needs $t$ scores if keys are cached, and recomputing "
        "the whole prefix needs $t^2$. Over $T$ steps that is $T(T+1)/2$ against "
        "$T(T+1)(2T+1)/6$: the cache saves a factor of about $2T/3$.",
        "ko": "키를 캐시에 두면 $t$번째 단계의 새 토큰에는 점수가 $t$개 필요하고, 앞부분을 모두 "
        "다시 계산하면 $t^2$개가 필요합니다. $T$단계를 더하면 $T(T+1)/2$개와 "
        "$T(T+1)(2T+1)/6$개이므로, 캐시는 비용을 약 $2T/3$분의 1로 줄입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            recomputed,
            Induction("T", base, step),
            name="recomputed",
            title={"en": "Without a cache", "ko": "캐시가 없을 때"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Recomputing costs only twice as much",
                "ko": "다시 계산해도 두 배밖에 들지 않는다는 주장",
            },
            statement=twice,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$T=1000$: $500\,500$ scores with a cache, $333\,833\,500$ without.",
        "ko": r"$T=1000$이면 캐시가 있을 때 $500\,500$개, 없을 때 $333\,833\,500$개입니다.",
    },
    references=("pope2022", "shazeer2019"),
)


if __name__ == "__main__":
    THEOREM.main()
