"""Log-sum-exp lies between the maximum and the maximum plus log n."""

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
    exp,
    hyp,
    le,
    lemma,
    log,
    logsumexp,
    order,
    via,
)
from attnproofs.kernel.statement import Claim
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
    n, x, k = maximal(s)
    return le(logsumexp(x), x[k] + log(n))


def proof(p: Proof) -> None:
    n, x, k = p["n s k"]
    p.line(log(Sum(n, lambda l: exp(x[l]))), "unfold")
    p.le(log(Sum(n, lambda l: exp(x[k]))), hyp("maximal"))
    p.line(log(n * exp(x[k])), lemma(sum_const))
    p.line(log(exp(x[k] + log(n))), via(log(exp(log(n)) * exp(x[k])), "log_exp"), "expring")
    p.line(x[k] + log(n), "log_exp")


def low(s: Scope) -> Claim:
    _, x, k = declare(s)
    return le(x[k], logsumexp(x))


def proof_low(p: Proof) -> None:
    n, x, k = p["n s k"]
    p.line(log(exp(x[k])), "log_exp")
    p.le(
        log(Sum(n, lambda l: exp(x[l]))),
        lemma(term_le_sum, n=n, k=k, f=array(n, lambda l: exp(x[l]))),
    )
    p.line(logsumexp(x), "unfold")


def exact(s: Scope) -> Claim:
    _, x, k = maximal(s)
    return le(logsumexp(x), x[k])


def attempt(p: Proof) -> None:
    n, x, k = p["n s k"]
    p.le(x[k] + log(n), lemma(THEOREM))
    p.le(x[k], order(-log(n)))


def leading(rng: Random) -> dict[str, Any]:
    n = rng.randint(1, 4)
    scores = [Fraction(rng.randint(-8, 8), 4) for _ in range(n)]
    return {"n": n, "s": scores, "k": scores.index(max(scores)) + 1}


THEOREM = Theorem(
    id="lse_bounds",
    chapter="softmax",
    title={"en": "Log-sum-exp is a soft maximum", "ko": "로그합지수는 매끄러운 최댓값"},
    prose={
        "en": r"LSE is at least every score and exceeds the largest by at most $\ln n$, which "
        r"is attained when all scores are equal. So the normaliser never overflows once the "
        r"maximum is subtracted.",
        "ko": r"LSE는 어떤 점수보다도 작지 않고, 최댓값보다 크더라도 그 차이는 $\ln n$을 넘지 "
        r"않습니다. 모든 점수가 같을 때 그 차이가 정확히 $\ln n$입니다. 그래서 최댓값을 빼면 "
        r"정규화 상수가 넘치는 일이 없습니다.",
    },
    parts=(
        Part(statement, proof, instance=leading),
        Part(
            low,
            proof_low,
            name="low",
            title={"en": "It is at least every score", "ko": "어떤 점수보다도 작지 않다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "It does not exceed the maximum", "ko": "최댓값을 넘지 않는다는 주장"},
            statement=exact,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=leading,
        ),
    ),
    numbers={
        "en": r"$\mathrm{LSE}(2,1,0)\approx2.408$, between $2$ and $2+\ln 3\approx3.099$.",
        "ko": r"$\mathrm{LSE}(2,1,0)\approx2.408$은 $2$와 $2+\ln 3\approx3.099$ 사이에 있습니다.",
    },
    references=("boyd2004", "blanchard2021"),
)


if __name__ == "__main__":
    THEOREM.main()
