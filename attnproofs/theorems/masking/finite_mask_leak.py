"""A finite mask -c leaks at most (number of masked keys) e^(max masked - max kept - c)."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    hyp,
    ind,
    le,
    lemma,
    softmax,
    unfold,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    chosen = s.kept(keep)
    x = s.tensor("s", n)
    c = s.scalar("c")
    return n, keep, chosen, x, c


def leaked(s: Scope | Proof) -> Expr:
    n, keep, x, c = s["n keep s c"]
    w = softmax(array(n, lambda l: x[l] - ind(~keep(l)) * c))
    return Sum(n, lambda j: ind(~keep(j)) * w[j])


def statement(s: Scope) -> Claim:
    n, keep, chosen, x, c = declare(s)
    top = s.scalar("M")
    s.assume("masked_max", lambda j: le(x[j], top), over={"j": n}, where=lambda j: ~keep(j))
    return le(leaked(s), Sum(n, lambda j: ind(~keep(j))) * exp(top - x[chosen()] - c))


def proof(p: Proof) -> None:
    n, keep, chosen, x, c, top = p["n keep κ s c M"]
    k = chosen()
    shifted = array(n, lambda l: x[l] - ind(~keep(l)) * c)
    Z = Sum(n, lambda l: exp(shifted[l]))
    p.line(Sum(n, lambda j: ind(~keep(j)) * (exp(x[j] - c) / Z)), unfold(), "ind_val")
    p.le(
        Sum(n, lambda j: ind(~keep(j)) * (exp(x[j] - c) / exp(shifted[k]))),
        lemma(term_le_sum, n=n, k=k, f=array(n, lambda l: exp(shifted[l]))),
    )
    p.line(Sum(n, lambda j: ind(~keep(j)) * (exp(x[j] - c) / exp(x[k]))), "ind_val")
    p.le(Sum(n, lambda j: ind(~keep(j)) * (exp(top - c) / exp(x[k]))), hyp("masked_max"))
    p.line(
        Sum(n, lambda j: ind(~keep(j))) * exp(top - x[k] - c),
        "expring",
        "sum_scale",
    )


def nothing(s: Scope) -> Claim:
    declare(s)
    return eq(leaked(s), 0)


def attempt(p: Proof) -> None:
    n, keep, x, c = p["n keep s c"]
    Z = Sum(n, lambda l: exp(x[l] - ind(~keep(l)) * c))
    p.line(Sum(n, lambda j: ind(~keep(j)) * (exp(x[j] - c) / Z)), unfold(), "ind_val")
    p.line(0, "ind_bool")


def masked_below(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 4)
    k = rng.randint(1, n)
    keep = [rng.random() < 0.4 or j == k for j in range(1, n + 1)]
    scores = [Fraction(rng.randint(-8, 8), 4) for _ in range(n)]
    top = max([x for x, b in zip(scores, keep) if not b], default=Fraction(0))
    return {"n": n, "keep": keep, "κ": {(): k}, "s": scores, "M": top}


THEOREM = Theorem(
    id="finite_mask_leak",
    chapter="masking",
    title={"en": "What a finite mask leaks", "ko": "유한한 마스크에서 새는 양"},
    prose={
        "en": r"With $-c$ in place of minus infinity $m$ masked keys together get at most "
        r"$m\,e^{M-s_\kappa-c}$, where $M$ bounds the masked scores and $\kappa$ is any "
        r"kept key. It is never exactly 0 over the reals, and it is large when masked "
        r"scores lead kept ones by more than $c$: $c$ has to be chosen against the range of "
        r"the scores.",
        "ko": r"음의 무한대 대신 $-c$를 더하면, 마스크된 키 $m$개가 받는 가중치의 합은 "
        r"$m\,e^{M-s_\kappa-c}$ 이하입니다($M$은 마스크된 점수의 상한, $\kappa$는 남은 키). 실수에서는 결코 정확히 0이 아니며, 마스크된 점수가 남은 점수를 $c$보다 "
        r"크게 앞서면 오히려 커집니다. 따라서 $c$는 점수의 범위를 보고 정해야 합니다.",
    },
    parts=(Part(statement, proof, instance=masked_below),),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "Nothing leaks", "ko": "조금도 새지 않는다는 주장"},
            statement=nothing,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"100 masked keys, scores within $\pm10$, $c=100$: at most "
        r"$100\,e^{20-100}\approx{1.8\cdot10^{-33}}$. With $c=10$ the bound is above 1 and says "
        r"nothing.",
        "ko": r"마스크된 키가 100개이고 점수가 $\pm10$ 안에 있을 때, $c=100$이면 "
        r"$100\,e^{20-100}\approx{1.8\cdot10^{-33}}$ 이하입니다. $c=10$이면 이 한계가 1보다 커서 "
        r"아무것도 보장하지 못합니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
