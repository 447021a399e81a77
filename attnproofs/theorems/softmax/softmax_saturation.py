"""A score that leads by a gap takes all the weight, exponentially in the gap."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    exp,
    hyp,
    ind,
    le,
    lemma,
    log,
    lt,
    order,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.one_point import THEOREM as one_point
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    x = s.tensor("s", n)
    k = s.index("k", n)
    beta, gap = s.scalar("β"), s.scalar("Δ")
    s.assume("gap", lambda l: le(x[l], x[k] - gap), over={"l": n}, where=lambda l: ~l.is_(k))
    s.assume("nonnegative", le(0, beta))
    return n, x, k, beta, gap


def weight(p: Proof | Scope) -> Array:
    n, x, beta = p["n s β"]
    return softmax(array(n, lambda l: beta * x[l]))


def statement(s: Scope) -> Claim:
    n, _x, k, beta, gap = declare(s)
    return le(1 - weight(s)[k], (n - 1) * exp(-(beta * gap)))


def proof(p: Proof) -> None:
    n, _x, k, beta, gap = p["n s k β Δ"]
    w = weight(p)
    p.line(Sum(n, lambda j: w[j]) - w[k], lemma(softmax_sum, back=True))
    p.line(
        Sum(n, lambda j: w[j]) - Sum(n, lambda j: ind(j.is_(k)) * w[j]),
        lemma(one_point, back=True, e=k, f=w),
    )
    p.line(Sum(n, lambda j: ind(~j.is_(k)) * w[j]), "ind_bool", "sum_add", "sum_scale")
    p.le(
        Sum(n, lambda j: ind(~j.is_(k)) * exp(-(beta * gap))),
        lemma((THEOREM, "term"), within=lambda j: {"j": j}),
    )
    p.line(
        exp(-(beta * gap)) * (Sum(n, lambda j: 1) - Sum(n, lambda j: ind(j.is_(k)) * 1)),
        "ind_bool",
        "sum_add",
        "sum_scale",
    )
    p.line(
        (n - 1) * exp(-(beta * gap)),
        lemma(sum_const),
        lemma(one_point, e=k, f=array(n, lambda j: 1)),
    )


def term(s: Scope) -> Claim:
    n, _x, k, beta, gap = declare(s)
    j = s.index("j", n)
    return le(ind(~j.is_(k)) * weight(s)[j], ind(~j.is_(k)) * exp(-(beta * gap)))


def proof_term(p: Proof) -> None:
    n, x, k, beta, gap, j = p["n s k β Δ j"]
    other = ind(~j.is_(k))
    Z = Sum(n, lambda l: exp(beta * x[l]))
    p.line(other * (exp(beta * x[j]) / Z), "unfold")
    p.le(
        other * (exp(beta * x[j]) / exp(beta * x[k])),
        lemma(term_le_sum, n=n, k=k, f=array(n, lambda l: exp(beta * x[l]))),
    )
    p.le(other * (exp(beta * (x[k] - gap)) / exp(beta * x[k])), hyp("gap"))
    p.line(other * exp(-(beta * gap)), "expring")


def one_hot(s: Scope) -> Claim:
    n, _x, k, beta, gap = declare(s)
    eps = s.scalar("ε")
    s.assume("two_keys", n >= 2)
    s.assume("positive", lt(0, eps))
    s.assume("sharp", le(log((n - 1) / eps), beta * gap))
    return le(1 - weight(s)[k], eps)


def proof_one_hot(p: Proof) -> None:
    n, _k, beta, gap, eps = p["n k β Δ ε"]
    p.le((n - 1) * exp(-(beta * gap)), lemma(THEOREM))
    p.le((n - 1) * exp(-log((n - 1) / eps)), hyp("sharp"))
    p.line((n - 1) / ((n - 1) / eps), "expring", "log_exp")
    p.line(eps, "ring")


def without_count(s: Scope) -> Claim:
    _n, _x, k, beta, gap = declare(s)
    return le(1 - weight(s)[k], exp(-(beta * gap)))


def attempt(p: Proof) -> None:
    n, beta, gap = p["n β Δ"]
    p.le((n - 1) * exp(-(beta * gap)), lemma(THEOREM))
    p.le(exp(-(beta * gap)), order((2 - n) * exp(-(beta * gap))))


def leading(rng: Random) -> dict[str, Any]:
    n, gap = rng.randint(2, 4), Fraction(rng.randint(0, 6), 4)
    top = Fraction(rng.randint(-4, 4), 4)
    k = rng.randint(1, n)
    scores = [top - gap - Fraction(rng.randint(0, 4), 4) for _ in range(n)]
    scores[k - 1] = top
    return {"n": n, "k": k, "Δ": gap, "β": Fraction(rng.randint(0, 8), 4), "s": scores}


def sharp(rng: Random) -> dict[str, Any]:
    values = leading(rng)
    gap = Fraction(rng.randint(4, 8), 4)
    scores = [values["s"][values["k"] - 1] - gap] * values["n"]
    scores[values["k"] - 1] += gap
    return {**values, "Δ": gap, "s": scores, "β": Fraction(9), "ε": Fraction(rng.randint(1, 9), 10)}


def many_keys(rng: Random) -> dict[str, Any]:
    return {"n": 4, "k": 1, "Δ": 1, "β": 1, "s": [0, -1, -1, -1]}


THEOREM = Theorem(
    id="softmax_saturation",
    chapter="softmax",
    title={"en": "Saturation", "ko": "포화"},
    prose={
        "en": r"If one score leads all others by a gap $\Delta$, the weight left for the others "
        r"falls exponentially in $\beta\Delta$, where $\beta$ scales all scores. In the limit "
        r"the weights are one-hot; the last part says from which $\beta$ on they are within "
        r"$\varepsilon$. This is what dividing by the square root of $d_k$ keeps away from.",
        "ko": r"한 점수가 나머지를 $\Delta$만큼 앞서면, 나머지 키에 남는 가중치는 "
        r"$\beta\Delta$에 대해 지수적으로 줄어듭니다($\beta$는 점수 전체에 곱하는 배율). "
        r"극한에서 가중치는 원핫이 되며, 마지막 명제는 어떤 $\beta$부터 오차가 $\varepsilon$ "
        r"이하인지를 말합니다. 점수를 $d_k$의 제곱근으로 나누는 것은 이런 포화를 피하려는 "
        r"것입니다.",
    },
    parts=(
        Part(statement, proof, instance=leading),
        Part(
            term,
            proof_term,
            name="term",
            title={"en": "Each other key", "ko": "나머지 키 하나"},
            instance=leading,
        ),
        Part(
            one_hot,
            proof_one_hot,
            name="one_hot",
            title={"en": r"One-hot within $\varepsilon$", "ko": r"오차 $\varepsilon$ 이내의 원핫"},
            instance=sharp,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"The rest is at most $e^{-\beta\Delta}$, whatever the number of keys",
                "ko": r"키의 개수와 관계없이 나머지 가중치가 $e^{-\beta\Delta}$ 이하라는 주장",
            },
            statement=without_count,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=many_keys,
        ),
    ),
    numbers={
        "en": r"$n=1024$, $\beta\Delta=20$: at most $1023\,e^{-20}\approx2.1\cdot10^{-6}$ is "
        r"left for the other 1023 keys.",
        "ko": r"$n=1024$, $\beta\Delta=20$이면 나머지 1023개 키에 남는 가중치는 모두 합해도 "
        r"$1023\,e^{-20}\approx2.1\cdot10^{-6}$ 이하입니다.",
    },
    references=("vaswani2017", "guo2017"),
)


if __name__ == "__main__":
    THEOREM.main()
