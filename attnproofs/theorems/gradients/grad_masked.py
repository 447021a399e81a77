"""A masked pair receives no gradient."""

from random import Random
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
    derivative,
    differentiate,
    eq,
    exp,
    ind,
    lemma,
    softmax,
    unfold,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.masking.mask_exact_zero import THEOREM as mask_exact_zero
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> None:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    s.kept(keep)
    s.tensor("s", n)
    s.tensor("g", n)
    s.index("j", n)


def row(s: Scope | Proof) -> Array:
    n, keep, x = s["n keep s"]
    return weights(array(n, lambda l: ind(keep(l))), x)


def loss(s: Scope | Proof) -> Expr:
    """Return the loss to first order: the sum of g, the gradient of the weights, times them."""
    n, g = s["n g"]
    return Sum(n, lambda l: g[l] * row(s)[l])


def statement(s: Scope) -> Claim:
    declare(s)
    keep, x, j = s["keep s j"]
    s.assume("masked", ~keep(j))
    return eq(derivative(x[j], loss(s)), 0)


def proof(p: Proof) -> None:
    n, g, j = p["n g j"]
    w = row(p)
    mean = Sum(n, lambda l: w[l] * g[l])
    p.line(w[j] * (g[j] - mean), lemma((THEOREM, "formula")))
    p.line(0 * (g[j] - mean), lemma(mask_exact_zero))
    p.line(0, "ring")


def formula(s: Scope) -> Claim:
    declare(s)
    n, x, g, j = s["n s g j"]
    w = row(s)
    return eq(derivative(x[j], loss(s)), w[j] * (g[j] - Sum(n, lambda l: w[l] * g[l])))


def proof_formula(p: Proof) -> None:
    n, keep, x, g, j = p["n keep s g j"]
    w = row(p)

    def e(l: Ix) -> Expr:
        return ind(keep(l)) * exp(x[l])

    Z = Sum(n, e)
    p.line(derivative(x[j], Sum(n, lambda l: g[l] * e(l)) / Z), "unfold", "sum_scale")
    p.line(
        Sum(n, lambda l: ind(l.is_(j)) * (g[l] * e(l))) / Z
        - Sum(n, lambda l: g[l] * e(l)) * Sum(n, lambda l: ind(l.is_(j)) * e(l)) / Z**2,
        differentiate(),
    )
    p.line(
        g[j] * e(j) / Z - Sum(n, lambda l: g[l] * e(l)) * e(j) / Z**2,
        lemma(one_point, n=n, e=j, f=array(n, lambda l: g[l] * e(l))),
        lemma(one_point, n=n, e=j, f=array(n, e)),
    )
    p.line(w[j] * (g[j] - Sum(n, lambda l: w[l] * g[l])), "unfold", "sum_scale")


def after_softmax(s: Scope) -> Claim:
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    x, g = s.tensor("s", n), s.tensor("g", n)
    j = s.index("j", n)
    s.assume("masked", ~keep(j))
    w = softmax(x)
    return eq(derivative(x[j], Sum(n, lambda l: g[l] * (ind(keep(l)) * w[l]))), 0)


def attempt(p: Proof) -> None:
    p.line(0, unfold(), differentiate("ind_val", "sum_scale"))


def one_kept(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 4)
    j, k = rng.sample(range(1, n + 1), 2)
    keep = [rng.random() < 0.5 for _ in range(n)]
    keep[j - 1], keep[k - 1] = False, True
    return {"n": n, "j": j, "keep": keep, "κ": {(): k}}


THEOREM = Theorem(
    id="grad_masked",
    chapter="gradients",
    title={"en": "Masked pairs have no gradient", "ko": "마스크된 쌍에는 기울기가 없다"},
    prose={
        "en": "With hard masks the gradient of a score is its weight times the excess of the "
        "weight's gradient over the weighted mean, as without a mask; at a masked key the "
        "weight is exactly 0, and so is the gradient. If weights are masked only after softmax, "
        "this fails: a masked score still moves the normaliser.",
        "ko": "마스크를 소프트맥스 앞에서 걸면 점수의 기울기는 마스크가 없을 때와 같이 "
        "가중치에, 그 가중치의 기울기가 가중평균을 넘는 만큼을 곱한 값입니다. 마스크된 키에서는 "
        "가중치가 정확히 0이므로 기울기도 0입니다. 소프트맥스 뒤에 마스크하면 그렇지 않습니다. "
        "마스크된 점수도 분모를 움직이기 때문입니다.",
    },
    parts=(
        Part(statement, proof, instance=one_kept),
        Part(
            formula,
            proof_formula,
            name="formula",
            title={"en": "The gradient of masked weights", "ko": "마스크된 가중치의 기울기"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The same when weights are masked after softmax",
                "ko": "소프트맥스 뒤에 마스크해도 같다는 주장",
            },
            statement=after_softmax,
            attempt=attempt,
            because="diff: the next line is not the derivative",
        ),
    ),
    numbers={
        "en": r"Scores $(2,1,0)$, third masked, $g=(1,0,5)$: "
        r"$\mathrm{ds}\approx(0.197,-0.197,0)$.",
        "ko": r"점수 $(2,1,0)$에서 셋째 키를 마스크하고 $g=(1,0,5)$이면 "
        r"$\mathrm{ds}\approx(0.197,-0.197,0)$입니다.",
    },
    references=("dao2022",),
)


if __name__ == "__main__":
    THEOREM.main()
