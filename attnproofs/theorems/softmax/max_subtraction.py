"""Subtracting the largest score: same weights, every term at most 1, the sum between 1 and n."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    exp_ge,
    hyp,
    le,
    lemma,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_shift import THEOREM as softmax_shift
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    x = s.tensor("s", n)
    k = s.index("k", n)
    return n, x, k


def maximal(s: Scope) -> tuple[Any, ...]:
    n, x, k = declare(s)
    s.assume("maximal", lambda l: le(x[l], x[k]), over={"l": n})
    return n, x, k


def statement(s: Scope) -> Claim:
    n, x, k = declare(s)
    i = s.index("i", n)
    safe = exp(x[i] - x[k]) / Sum(n, lambda l: exp(x[l] - x[k]))
    return eq(safe, softmax(x)[i])


def proof(p: Proof) -> None:
    n, x, k, i = p["n s k i"]
    p.line(softmax(array(n, lambda l: x[l] + -x[k]))[i], "unfold")
    p.line(softmax(x)[i], lemma(softmax_shift))


def terms(s: Scope) -> Claim:
    n, x, k = maximal(s)
    j = s.index("j", n)
    return le(exp(x[j] - x[k]), 1)


def proof_terms(p: Proof) -> None:
    x, k, _j = p["s k j"]
    p.le(exp(x[k] - x[k]), hyp("maximal", only=0))
    p.line(1, "expring")


def low(s: Scope) -> Claim:
    n, x, k = declare(s)
    return le(1, Sum(n, lambda l: exp(x[l] - x[k])))


def proof_low(p: Proof) -> None:
    n, x, k = p["n s k"]
    p.line(exp(x[k] - x[k]), "expring")
    p.le(
        Sum(n, lambda l: exp(x[l] - x[k])),
        lemma(term_le_sum, n=n, k=k, f=array(n, lambda l: exp(x[l] - x[k]))),
    )


def high(s: Scope) -> Claim:
    n, x, k = maximal(s)
    return le(Sum(n, lambda l: exp(x[l] - x[k])), n)


def proof_high(p: Proof) -> None:
    n = p["n"]
    p.le(Sum(n, lambda l: 1), lemma((THEOREM, "terms"), within=lambda l: {"j": l}))
    p.line(n, lemma(sum_const))


def any_shift(s: Scope) -> Claim:
    n, x, _k = maximal(s)
    c = s.scalar("c")
    return le(1, Sum(n, lambda l: exp(x[l] - c)))


def attempt(p: Proof) -> None:
    n, x, k, c = p["n s k c"]
    p.le(exp(x[k] - c), exp_ge)
    p.le(
        Sum(n, lambda l: exp(x[l] - c)),
        lemma(term_le_sum, n=n, k=k, f=array(n, lambda l: exp(x[l] - c))),
    )


def leading(rng: Random) -> dict[str, Any]:
    n = rng.randint(1, 4)
    scores = [Fraction(rng.randint(-8, 8), 4) for _ in range(n)]
    return {"n": n, "s": scores, "k": scores.index(max(scores)) + 1}


THEOREM = Theorem(
    id="max_subtraction",
    chapter="softmax",
    title={"en": "Subtracting the maximum", "ko": "최댓값 빼기"},
    prose={
        "en": "With the largest score subtracted the weights are the same, every exponential is "
        "at most 1, and their sum lies between 1 and $n$: nothing overflows, and the divisor is "
        "never 0. No shift that is chosen without looking at the scores can promise both.",
        "ko": "가장 큰 점수를 빼도 가중치는 같고, 지수함수의 값은 모두 1 이하이며, 그 합은 1과 $n$ "
        "사이에 있습니다. 넘치는 값이 없고 나누는 수가 0이 되지도 않습니다. 점수를 보지 않고 "
        "고른 이동값은 이 둘을 함께 보장하지 못합니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            terms,
            proof_terms,
            name="terms",
            title={"en": "Every term is at most 1", "ko": "각 항은 1 이하이다"},
            instance=leading,
        ),
        Part(
            low,
            proof_low,
            name="low",
            title={"en": "The sum is at least 1", "ko": "합은 1 이상이다"},
        ),
        Part(
            high,
            proof_high,
            name="high",
            title={"en": "The sum is at most $n$", "ko": "합은 $n$ 이하이다"},
            instance=leading,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "With any other shift $c$ the sum is at least 1, too",
                "ko": "다른 값 $c$를 빼도 합이 1 이상이라는 주장",
            },
            statement=any_shift,
            attempt=attempt,
            because="exp_ge: the left side is not 1 + t",
            instance=leading,
        ),
    ),
    numbers={
        "en": r"$s=(1002,1001,1000)$: $1+e^{-1}+e^{-2}\approx1.503$, while $e^{1002}$ exceeds "
        r"the largest float64.",
        "ko": r"$s=(1002,1001,1000)$이면 $1+e^{-1}+e^{-2}\approx1.503$이지만, $e^{1002}$은 "
        r"float64의 최댓값을 넘습니다.",
    },
    references=("blanchard2021", "milakov2018"),
)


if __name__ == "__main__":
    THEOREM.main()
