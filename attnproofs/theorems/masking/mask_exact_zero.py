"""A masked key has weight exactly 0, and a large finite mask approaches this."""

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
    hyp,
    ind,
    le,
    lemma,
    log,
    lt,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def row(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    chosen = s.kept(keep)
    x = s.tensor("s", n)
    j = s.index("j", n)
    s.assume("masked", ~keep(j))
    return n, keep, chosen, x, j


def statement(s: Scope) -> Claim:
    n, keep, _, x, j = row(s)
    return eq(weights(array(n, lambda l: ind(keep(l))), x)[j], 0)


def proof(p: Proof) -> None:
    n, keep, x, j = p["n keep s j"]
    Z = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(ind(keep(j)) * exp(x[j]) / Z, "unfold")
    p.line(0 * exp(x[j]) / Z, "ind_val")
    p.line(0, "ring")


def bridge(s: Scope) -> Claim:
    n, keep, chosen, x, j = row(s)
    c = s.scalar("c")
    shifted = array(n, lambda l: x[l] - ind(~keep(l)) * c)
    return le(softmax(shifted)[j], exp(x[j] - x[chosen()]) * exp(-c))


def proof_bridge(p: Proof) -> None:
    n, keep, chosen, x, j, c = p["n keep κ s j c"]
    shifted = array(n, lambda l: x[l] - ind(~keep(l)) * c)
    k = chosen()
    p.line(exp(x[j] - c) / Sum(n, lambda l: exp(shifted[l])), "unfold", "ind_val")
    p.le(
        exp(x[j] - c) / exp(shifted[k]),
        lemma(term_le_sum, n=n, k=k, f=array(n, lambda l: exp(shifted[l]))),
    )
    p.line(exp(x[j] - c) / exp(x[k]), "ind_val")
    p.line(exp(x[j] - x[k]) * exp(-c), "expring")


def limit(s: Scope) -> Claim:
    n, keep, chosen, x, j = row(s)
    c, eps = s.scalar("c"), s.scalar("ε")
    s.assume("positive", lt(0, eps))
    s.assume("large", le(x[j] - x[chosen()] - log(eps), c))
    shifted = array(n, lambda l: x[l] - ind(~keep(l)) * c)
    return le(softmax(shifted)[j], eps)


def proof_limit(p: Proof) -> None:
    chosen, x, j, c, eps = p["κ s j c ε"]
    gap = x[j] - x[chosen()]
    p.le(exp(gap) * exp(-c), lemma((THEOREM, "bridge")))
    p.le(exp(gap) * exp(-(gap - log(eps))), hyp("large"))
    p.line(eps, "expring", "log_exp")


def zero_score(s: Scope) -> Claim:
    n, keep, _, x, j = row(s)
    return eq(softmax(array(n, lambda l: ind(keep(l)) * x[l]))[j], 0)


def attempt(p: Proof) -> None:
    n, keep, x, j = p["n keep s j"]
    Z = Sum(n, lambda l: exp(ind(keep(l)) * x[l]))
    p.line(exp(ind(keep(j)) * x[j]) / Z, "unfold")
    p.line(1 / Z, "ind_val", "expring")
    p.line(0, "ind_bool", "expring")


def one_kept(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 4)
    j, k = rng.sample(range(1, n + 1), 2)
    keep = [rng.random() < 0.5 for _ in range(n)]
    keep[j - 1], keep[k - 1] = False, True
    return {"n": n, "j": j, "keep": keep, "κ": {(): k}}


def large(rng: Random) -> dict[str, Any]:
    values = one_kept(rng)
    scores = [Fraction(rng.randint(-8, 8), 4) for _ in range(values["n"])]
    return {**values, "s": scores, "ε": Fraction(1, 100), "c": Fraction(rng.randint(9, 12))}


THEOREM = Theorem(
    id="mask_exact_zero",
    chapter="masking",
    title={"en": "A masked key has weight exactly zero", "ko": "마스크된 키의 가중치는 정확히 0"},
    prose={
        "en": r"Setting a masked score to minus infinity before softmax gives the weight 0 "
        r"exactly, because the exponential of minus infinity is 0 and some kept key keeps the "
        r"denominator positive. The second and third parts are the bridge from finite masks: "
        r"with $-c$ in place of minus infinity the weight is at most "
        r"$e^{s_j-s_\kappa}e^{-c}$ for a kept key $\kappa$, so it is below any "
        r"$\varepsilon>0$ as soon as $c$ is large enough.",
        "ko": r"소프트맥스 앞에서 마스크된 점수를 음의 무한대로 두면 가중치는 정확히 0이 "
        r"됩니다. 음의 무한대에서 지수함수의 값이 0이고, 남은 키가 있어 분모가 양수이기 때문입니다. 둘째와 "
        r"셋째 명제는 유한한 마스크와 이 결과를 이어 줍니다. 음의 무한대 대신 $-c$를 쓰면 "
        r"가중치는 남은 키 $\kappa$에 대해 $e^{s_j-s_\kappa}e^{-c}$ 이하이므로, $c$가 충분히 크면 "
        r"어떤 양수 $\varepsilon$보다도 작아집니다.",
    },
    parts=(
        Part(statement, proof, instance=one_kept),
        Part(
            bridge,
            proof_bridge,
            name="bridge",
            title={
                "en": "With $-c$ instead of minus infinity",
                "ko": "음의 무한대 대신 $-c$를 쓸 때",
            },
            instance=one_kept,
        ),
        Part(
            limit,
            proof_limit,
            name="limit",
            title={"en": "It tends to 0 as $c$ grows", "ko": "$c$가 커지면 0으로 간다"},
            instance=large,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Setting the masked score to 0 instead of minus infinity gives weight 0",
                "ko": "마스크된 점수를 음의 무한대가 아니라 0으로 두어도 가중치가 0이 된다는 주장",
            },
            statement=zero_score,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=one_kept,
        ),
    ),
    numbers={
        "en": r"Scores $(2,1,5)$, third key masked: $(0.731,0.269,0)$. With $-10000$ added to "
        r"the third instead: its weight is below $e^{3-10000}$, and 0 in float64.",
        "ko": r"점수 $(2,1,5)$에서 셋째 키를 마스크하면 $(0.731,0.269,0)$입니다. 대신 셋째 "
        r"점수에 $-10000$을 더하면 그 가중치는 $e^{3-10000}$보다 작고, float64에서는 0입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
