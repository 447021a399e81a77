"""If no key is kept, no weights exist: zero on masked keys and sum one contradict each other."""

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
    lemma,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    s.assume("none", lambda l: ~keep(l), over={"l": n})
    return n, keep


def statement(s: Scope) -> Claim:
    n, keep = declare(s)
    w = s.tensor("p", n)
    s.assume("zero", lambda l: eq(w[l], 0), over={"l'": n}, where=lambda l: ~keep(l))
    return eq(Sum(n, lambda j: w[j]), 0)


def proof(p: Proof) -> None:
    n = p["n"]
    p.line(Sum(n, lambda j: 0), hyp("zero"))
    p.line(0, lemma(sum_const))


def undetermined(s: Scope) -> Claim:
    n, keep = declare(s)
    x, w = s.tensor("s", n), s.tensor("p", n)
    j = s.index("j", n)
    return eq(w[j] * Sum(n, lambda l: ind(keep(l)) * exp(x[l])), ind(keep(j)) * exp(x[j]))


def proof_undetermined(p: Proof) -> None:
    n, x, w, j = p["n s p j"]
    p.line(w[j] * Sum(n, lambda l: 0 * exp(x[l])), "ind_val")
    p.line(0 * exp(x[j]), "sum_scale")
    p.line(ind(p["keep"](j)) * exp(x[j]), "ind_val")


def sums_to_one(s: Scope) -> Claim:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    x = s.tensor("s", n)
    w = weights(array(n, lambda l: ind(keep(l))), x)
    return eq(Sum(n, lambda j: w[j]), 1)


def attempt(p: Proof) -> None:
    n, keep, x = p["n keep s"]
    Z = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(Sum(n, lambda j: ind(keep(j)) * (exp(x[j]) / Z)), "unfold")
    p.line(Z / Z, "sum_scale")


def none_kept(rng: Random) -> dict[str, Any]:
    n = rng.randint(1, 4)
    return {"n": n, "keep": [False] * n, "p": [0] * n}


def fully_masked(rng: Random) -> dict[str, Any]:
    n = rng.randint(1, 4)
    return {"n": n, "keep": [False] * n}


THEOREM = Theorem(
    id="empty_row",
    chapter="masking",
    title={"en": "An empty row has no weights", "ko": "빈 행에는 가중치가 없다"},
    prose={
        "en": "When a mask keeps no key of a row, weights that vanish on masked keys sum to 0, "
        "so they cannot sum to 1; and the defining equation (weight times denominator equals "
        "numerator) reads $0=0$ and determines nothing. What a program returns there, zeros, a "
        "uniform row or NaN, is a convention, and implementations differ in it. Elsewhere in "
        "this book some key is kept, by hypothesis or by the form of the mask, wherever a proof "
        "needs a denominator that is not 0; where both sides divide by the same sum, as in "
        "“Padding changes nothing”, that is not needed.",
        "ko": "한 행에서 남은 키가 하나도 없으면, 마스크된 키에서 0인 가중치의 합은 0이므로 1이 "
        "될 수 없습니다. 가중치를 정하는 식(가중치 곱하기 분모는 분자)도 $0=0$이 되어 아무것도 "
        "정하지 못합니다. 이때 프로그램이 0을 돌려주는지, 균등한 값을 돌려주는지, NaN을 "
        "돌려주는지는 약속의 문제이며, 구현마다 다릅니다. 이 책의 다른 곳에서 증명에 0이 아닌 "
        "분모가 필요할 때에는, 가정에 따라서든 마스크의 꼴에 따라서든 남은 키가 있습니다. "
        "‘패딩은 아무것도 바꾸지 않는다’처럼 양변이 같은 합으로 나누는 곳에서는 그럴 필요가 "
        "없습니다.",
    },
    parts=(
        Part(statement, proof, instance=none_kept),
        Part(
            undetermined,
            proof_undetermined,
            name="undetermined",
            title={
                "en": "The defining equation holds for any numbers",
                "ko": "정의식은 어떤 수에 대해서도 성립한다",
            },
            instance=fully_masked,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Masked weights sum to one, whatever the mask",
                "ko": "어떤 마스크에서도 가중치의 합이 1이라는 주장",
            },
            statement=sums_to_one,
            attempt=attempt,
            because="a divisor may be zero",
            instance=fully_masked,
        ),
    ),
    numbers={
        "en": r"Both keys masked: numerators $(0,0)$, denominator $0$, and $0/0$ is NaN in "
        r"floating point.",
        "ko": r"두 키가 모두 마스크되면 분자는 $(0,0)$, 분모는 $0$이며, 부동소수점에서 $0/0$은 "
        r"NaN입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
