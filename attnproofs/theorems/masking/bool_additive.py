"""A boolean mask is the limit of the additive mask 0 / -c."""

from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    fact_of,
    ind,
    le,
    lemma,
    order,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    x = s.tensor("s", n)
    c = s.scalar("c")
    return n, keep, x, c


def additive(s: Scope | Proof) -> Array:
    n, keep, x, c = s["n keep s c"]
    return softmax(array(n, lambda l: x[l] - ind(~keep(l)) * c))


def boolean(s: Scope | Proof) -> Array:
    n, keep, x = s["n keep s"]
    return weights(array(n, lambda l: ind(keep(l))), x)


def sums(s: Scope | Proof) -> tuple[Expr, Expr]:
    """Return the sums of exponentials over the kept and over the masked keys."""
    n, keep, x = s["n keep s"]
    kept = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    masked = Sum(n, lambda l: ind(~keep(l)) * exp(x[l]))
    return kept, masked


def statement(s: Scope) -> Claim:
    n, keep, _x, c = declare(s)
    j = s.index("j", n)
    s.assume("kept", keep(j))
    kept, masked = sums(s)
    return le(boolean(s)[j] - additive(s)[j], exp(-c) * masked / kept)


def proof(p: Proof) -> None:
    n, keep, x, c, j = p["n keep s c j"]
    kept, masked = sums(p)
    q, e = exp(-c), exp(x[j])
    own = fact_of(term_le_sum, n=n, k=j, f=array(n, lambda l: ind(keep(l)) * exp(x[l])))
    p.line(e / kept - e / Sum(n, lambda l: exp(x[l] - ind(~keep(l)) * c)), "unfold", "ind_val")
    p.line(e / kept - e / (kept + q * masked), lemma((THEOREM, "denominator")))
    p.le(
        q * masked / kept,
        order(
            q * masked * (q * masked + (kept - ind(keep(j)) * e)) / kept / (kept + q * masked),
            "ind_val",
            facts=(own,),
        ),
    )


def denominator(s: Scope) -> Claim:
    n, keep, x, c = declare(s)
    kept, masked = sums(s)
    return eq(Sum(n, lambda l: exp(x[l] - ind(~keep(l)) * c)), kept + exp(-c) * masked)


def proof_denominator(p: Proof) -> None:
    n, keep, x, c = p["n keep s c"]
    kept, masked = sums(p)

    def term(l: Ix) -> Expr:
        return exp(x[l] - ind(~keep(l)) * c)

    p.line(Sum(n, lambda l: ind(keep(l)) * term(l) + ind(~keep(l)) * term(l)), "ind_bool")
    p.line(
        Sum(n, lambda l: ind(keep(l)) * exp(x[l] - 0 * c) + ind(~keep(l)) * exp(x[l] - 1 * c)),
        "ind_val",
    )
    p.line(kept + exp(-c) * masked, "expring", "sum_add", "sum_scale", "ind_bool")


def below(s: Scope) -> Claim:
    n, keep, _x, _c = declare(s)
    j = s.index("j", n)
    s.assume("kept", keep(j))
    return le(additive(s)[j], boolean(s)[j])


def proof_below(p: Proof) -> None:
    n, keep, x, c, j = p["n keep s c j"]
    kept, masked = sums(p)
    q, e = exp(-c), exp(x[j])
    p.line(e / Sum(n, lambda l: exp(x[l] - ind(~keep(l)) * c)), "unfold", "ind_val")
    p.line(e / (kept + q * masked), lemma((THEOREM, "denominator")))
    p.le(e / kept, order(e * q * masked / kept / (kept + q * masked)))
    p.line(boolean(p)[j], "unfold", "ind_val")


def ones(s: Scope) -> Claim:
    n, keep, x, _ = declare(s)
    j = s.index("j", n)
    s.assume("kept", keep(j))
    return eq(softmax(array(n, lambda l: x[l] + ind(keep(l))))[j], boolean(s)[j])


def attempt(p: Proof) -> None:
    n, keep, x, j = p["n keep s j"]
    kept, _ = sums(p)
    p.line(exp(x[j] + 1) / Sum(n, lambda l: exp(x[l] + ind(keep(l)))), "unfold", "ind_val")
    p.line(exp(x[j]) / kept, "expring", "ind_bool", "sum_add")


THEOREM = Theorem(
    id="bool_additive",
    chapter="masking",
    title={"en": "Boolean and additive masks", "ko": "불리언 마스크와 덧셈 마스크"},
    prose={
        "en": "A boolean mask drops the masked keys; an additive mask adds 0 to kept scores "
        "and $-c$ to masked ones. At kept keys the two differ by at most $e^{-c}$ times the "
        "ratio of masked to kept sums of exponentials, from one side only; so they agree in "
        "the limit, which is what adding minus infinity means.",
        "ko": "불리언 마스크는 마스크된 키를 버리고, 덧셈 마스크는 남은 점수에 0을, 마스크된 "
        "점수에 $-c$를 더합니다. 남은 키에서 둘의 차이는 $e^{-c}$에 마스크된 쪽과 남은 쪽의 "
        "지수 합의 비를 곱한 값 이하이고 부호는 한쪽뿐입니다. 따라서 극한에서 둘은 같으며, "
        "음의 무한대를 더한다는 말의 뜻이 이것입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            below,
            proof_below,
            name="below",
            title={
                "en": "The additive weight is never the larger one",
                "ko": "덧셈 마스크의 가중치가 더 큰 일은 없다",
            },
        ),
        Part(
            denominator,
            proof_denominator,
            name="denominator",
            title={"en": "The denominator of the additive mask", "ko": "덧셈 마스크의 분모"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Adding the boolean mask itself (1 and 0) to the scores",
                "ko": "불리언 마스크 자체(1과 0)를 점수에 더해도 같다는 주장",
            },
            statement=ones,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"Scores $(2,1,0)$, third masked, $c=10$: the first weight is $0.731055$ with "
        r"the additive mask and $0.731059$ with the boolean one; the bound is $e^{-10}\cdot1/(e^2+e)\approx4.5\cdot10^{-6}$.",
        "ko": r"점수가 $(2,1,0)$이고 셋째 키를 마스크할 때 $c=10$이면 첫째 키의 가중치는 덧셈 마스크에서 "
        r"$0.731055$, 불리언 마스크에서 $0.731059$이며, 차이의 상한은 $e^{-10}\cdot1/(e^2+e)\approx4.5\cdot10^{-6}$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
