"""At saturation the gradient of the scores vanishes: its absolute sum is at most 4 M (1 - p_k)."""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    abs_bound,
    absolute,
    array,
    derivative,
    fact_of,
    hyp,
    ind,
    le,
    lemma,
    order,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.gradients.grad_scores import THEOREM as grad_scores
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> None:
    n = s.dimension("n")
    s.tensor("s", n)
    g = s.tensor("g", n)
    bound = s.scalar("M")
    s.assume("below", lambda l: le(-bound, g[l]), over={"l": n})
    s.assume("above", lambda l: le(g[l], bound), over={"l": n})


def total(s: Scope | Proof) -> Expr:
    """Return the absolute sum of the gradient of the scores; g is the gradient of the weights."""
    n, x, g = s["n s g"]
    loss = Sum(n, lambda l: g[l] * softmax(x)[l])
    return Sum(n, lambda j: absolute(derivative(x[j], loss)))


def pull(s: Scope | Proof, j: Ix) -> Expr:
    """Return the gradient of one score: its weight times the excess of g over its mean."""
    n, x, g = s["n s g"]
    w = softmax(x)
    found: Expr = w[j] * (g[j] - Sum(n, lambda l: w[l] * g[l]))
    return found


def statement(s: Scope) -> Claim:
    declare(s)
    n, x, bound = s["n s M"]
    k = s.index("k", n)
    return le(total(s), 4 * bound * (1 - softmax(x)[k]))


def proof(p: Proof) -> None:
    n, x, bound, k = p["n s M k"]
    w = softmax(x)
    squares = Sum(n, lambda j: w[j] ** 2)
    others = Sum(n, lambda j: ind(~j.is_(k)) * w[j] ** 2)
    p.le(2 * bound * Sum(n, lambda j: w[j] * (1 - w[j])), lemma((THEOREM, "sharp")))
    p.line(2 * bound * (Sum(n, lambda j: w[j]) - squares), "sum_add", "sum_scale")
    p.line(2 * bound * (1 - squares), lemma(softmax_sum))
    p.line(
        2 * bound * (1 - (Sum(n, lambda j: ind(j.is_(k)) * w[j] ** 2) + others)),
        "ind_bool",
        "sum_add",
        "sum_scale",
    )
    p.line(2 * bound * (1 - (w[k] ** 2 + others)), lemma(one_point))
    p.le(
        4 * bound * (1 - w[k]),
        order(2 * bound * ((1 - w[k]) ** 2 + others), facts=(fact_of((THEOREM, "bound"), j=k),)),
    )


def sharp(s: Scope) -> Claim:
    declare(s)
    n, x, bound = s["n s M"]
    w = softmax(x)
    return le(total(s), 2 * bound * Sum(n, lambda j: w[j] * (1 - w[j])))


def proof_sharp(p: Proof) -> None:
    n, x, bound = p["n s M"]
    w = softmax(x)
    p.line(Sum(n, lambda j: absolute(pull(p, j))), lemma((grad_scores, "row")))
    p.le(
        Sum(n, lambda j: 2 * bound * (w[j] * (1 - w[j]))),
        lemma((THEOREM, "entry"), within=lambda j: {"j": j}),
    )
    p.line(2 * bound * Sum(n, lambda j: w[j] * (1 - w[j])), "sum_add", "sum_scale")


def entry(s: Scope) -> Claim:
    declare(s)
    j = s.index("j", s["n"])
    w = softmax(s["s"])[j]
    return le(absolute(pull(s, j)), 2 * s["M"] * (w * (1 - w)))


def proof_entry(p: Proof) -> None:
    j = p["j"]
    w = softmax(p["s"])[j]
    facts = tuple(fact_of((THEOREM, part), j=j) for part in ("upper", "lower"))
    p.le(2 * p["M"] * (w * (1 - w)), abs_bound(facts=facts))


def upper(s: Scope) -> Claim:
    declare(s)
    j = s.index("j", s["n"])
    w = softmax(s["s"])[j]
    return le(pull(s, j), 2 * s["M"] * (w * (1 - w)))


def proof_upper(p: Proof) -> None:
    n, x, g, bound, j = p["n s g M j"]
    w = softmax(x)

    def others(body: Callable[[Ix], Expr]) -> Expr:
        total: Expr = w[j] * Sum(n, lambda l: ind(~l.is_(j)) * (w[l] * body(l)))
        return total

    p.line(
        w[j] * (g[j] * Sum(n, lambda l: w[l]) - Sum(n, lambda l: w[l] * g[l])),
        lemma(softmax_sum, back=True),
    )
    p.line(
        w[j] * Sum(n, lambda l: ind(l.is_(j)) * (w[l] * (g[j] - g[l])))
        + others(lambda l: g[j] - g[l]),
        "ind_bool",
        "sum_add",
        "sum_scale",
    )
    p.line(others(lambda l: g[j] - g[l]), lemma(one_point))
    p.le(others(lambda l: bound - g[l]), hyp("above"))
    p.le(others(lambda l: bound - -bound), hyp("below"))
    p.line(
        2 * bound * w[j] * (Sum(n, lambda l: w[l]) - Sum(n, lambda l: ind(l.is_(j)) * w[l])),
        "ind_bool",
        "sum_add",
        "sum_scale",
    )
    p.line(2 * bound * (w[j] * (1 - w[j])), lemma(softmax_sum), lemma(one_point))


def lower(s: Scope) -> Claim:
    declare(s)
    j = s.index("j", s["n"])
    w = softmax(s["s"])[j]
    return le(-pull(s, j), 2 * s["M"] * (w * (1 - w)))


def proof_lower(p: Proof) -> None:
    n, x, g, bound, j = p["n s g M j"]
    w = softmax(x)
    p.line(w[j] * (-g[j] - Sum(n, lambda l: w[l] * -g[l])), "sum_scale")
    p.le(
        2 * bound * (w[j] * (1 - w[j])),
        lemma((THEOREM, "upper"), g=array(n, lambda l: -g[l]), j=j, s=x, n=n, M=bound),
    )


def bound_positive(s: Scope) -> Claim:
    declare(s)
    s.index("j", s["n"])
    return le(0, s["M"])


def proof_bound_positive(p: Proof) -> None:
    g, bound, j = p["g M j"]
    p.le(bound, order((bound - g[j]) / 2 + (g[j] - -bound) / 2))


def halved(s: Scope) -> Claim:
    declare(s)
    n, x, bound = s["n s M"]
    k = s.index("k", n)
    return le(total(s), bound * (1 - softmax(x)[k]))


def attempt(p: Proof) -> None:
    bound, k = p["M k"]
    w = softmax(p["s"])[k]
    p.le(4 * bound * (1 - w), lemma(THEOREM))
    p.le(bound * (1 - w), order())


def bounded(rng: Random) -> dict[str, Any]:
    n, top = rng.randint(2, 4), Fraction(rng.randint(1, 6), 2)
    return {"n": n, "M": top, "g": [top * rng.randint(-4, 4) / 4 for _ in range(n)]}


def two_opposite(rng: Random) -> dict[str, Any]:
    return {"n": 2, "M": Fraction(1), "g": [1, -1], "s": [0, 0], "k": 1}


THEOREM = Theorem(
    id="grad_vanishes",
    chapter="gradients",
    title={"en": "Gradients vanish at saturation", "ko": "포화되면 기울기가 사라진다"},
    prose={
        "en": r"Let the gradients of the weights of a row lie between $-M$ and $M$. Then the "
        r"absolute gradients of its scores sum to at most $2M\sum p(1-p)$, which is at most "
        r"$4M(1-p_k)$ for any key $k$. When one key holds nearly all weight, hardly any "
        r"gradient reaches the scores, and so the queries and keys; with the theorem "
        r"“Saturation” it is exponentially small in the lead of that key.",
        "ko": r"한 행의 가중치에 대한 기울기가 $-M$과 $M$ 사이에 있으면, 점수에 대한 기울기의 "
        r"절댓값을 모두 더해도 $2M\sum p(1-p)$를 넘지 않고, 어떤 키 $k$에 대해서도 "
        r"$4M(1-p_k)$를 넘지 않습니다. 한 키가 가중치를 거의 다 가지면 점수와 쿼리, 키에는 "
        r"기울기가 거의 닿지 않습니다. 정리 ‘포화’와 합치면 그 크기는 그 키의 점수가 앞선 정도에 대해 "
        r"지수적으로 작습니다.",
    },
    parts=(
        Part(statement, proof, instance=bounded),
        Part(
            sharp,
            proof_sharp,
            name="sharp",
            title={"en": "The sharper bound", "ko": "더 날카로운 한계"},
            instance=bounded,
        ),
        Part(
            entry,
            proof_entry,
            name="entry",
            title={"en": "One score", "ko": "점수 하나"},
            instance=bounded,
        ),
        Part(
            upper,
            proof_upper,
            name="upper",
            title={"en": "From above", "ko": "상한"},
            instance=bounded,
        ),
        Part(
            lower,
            proof_lower,
            name="lower",
            title={"en": "From below", "ko": "하한"},
            instance=bounded,
        ),
        Part(
            bound_positive,
            proof_bound_positive,
            name="bound",
            title={"en": "$M$ is not negative", "ko": "$M$은 음수가 아니다"},
            instance=bounded,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "$M(1-p_k)$ is enough", "ko": "$M(1-p_k)$로 충분하다는 주장"},
            statement=halved,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=two_opposite,
        ),
    ),
    numbers={
        "en": r"$M=1$, $p_k=0.999$: at most $0.004$. For $p=(\frac12,\frac12)$, $g=(1,-1)$: "
        r"$\frac12+\frac12=1=2M\sum p(1-p)$, so the sharper bound is attained.",
        "ko": r"$M=1$, $p_k=0.999$이면 $0.004$ 이하입니다. $p=(\frac12,\frac12)$, "
        r"$g=(1,-1)$이면 $\frac12+\frac12=1=2M\sum p(1-p)$이므로 더 날카로운 한계가 달성됩니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
