"""Weights of variance 1/d_model give projections of variance 1."""

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    dot,
    eq,
    expect,
    lemma,
    random_value,
    sqrt,
    variance,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.scaling.qk_variance import THEOREM as qk_variance
from attnproofs.theorems.scaling.qk_variance_scaled import THEOREM as qk_variance_scaled
from attnproofs.theorems.sums.var_scale import THEOREM as var_scale


def declare(s: Scope) -> None:
    D = s.dimension("d_model")
    g = s.family("g", D, order=2, independent=True)
    x = s.family("x", D, order=2)
    s.independent("g", "x")
    s.assume("g_centred", lambda m: eq(expect(g[m]), 0), over={"m": D})
    s.assume("g_unit", lambda m: eq(expect(g[m] * g[m]), 1), over={"m": D})
    s.assume("x_unit", lambda m: eq(expect(x[m] * x[m]), 1), over={"m": D})


def entry(s: Scope | Proof, width: Ix) -> Expr:
    """Return an entry of X W, the column of W being g divided by the root of `width`."""
    D, g, x = s["d_model g x"]
    return Sum(D, lambda m: x[m] * (g[m] / sqrt(width)))


def statement(s: Scope) -> Claim:
    declare(s)
    s.uses("dot")
    return eq(variance(entry(s, s["d_model"])), 1)


def proof(p: Proof) -> None:
    D, g, x = p["d_model g x"]
    p.line(variance(dot(g, x) / sqrt(D)), "unfold:dot", "sum_scale")
    p.line(1, lemma(qk_variance_scaled, d_k=D, q=g, k=x))


def by_head_width(s: Scope) -> Claim:
    declare(s)
    s.uses("dot")
    return eq(variance(entry(s, s.dimension("d_k"))), 1)


def attempt(p: Proof) -> None:
    D, g, x, d = p["d_model g x d_k"]
    p.line(variance(1 / sqrt(d) * dot(g, x)), "unfold:dot", "sum_scale")
    p.line(
        1 / sqrt(d) * (1 / sqrt(d)) * variance(dot(g, x)),
        lemma(var_scale, c=1 / sqrt(d), x=random_value(dot(g, x))),
    )
    p.line(1 / sqrt(d) * (1 / sqrt(d)) * D, lemma(qk_variance, d_k=D, q=g, k=x))
    p.line(1, "sqrt_sq")


THEOREM = Theorem(
    id="init_variance",
    chapter="scaling",
    title={"en": "Initialisation keeps the variance", "ko": "초기화는 분산을 보존한다"},
    prose={
        "en": "If the entries of $X$ have second moment 1 and those of $W_Q$ are independent, "
        "centred, of variance $1/d_{\\mathrm{model}}$ (written "
        "$g/\\sqrt{d_{\\mathrm{model}}}$), every entry of $XW_Q$ has variance 1: that is the "
        "assumption under which scores have variance $d_k$. The number that counts is how many "
        "terms are added, $d_{\\mathrm{model}}$, not the width $d_k$ of the head.",
        "ko": "$X$의 성분의 이차 적률이 1이고 $W_Q$의 성분이 독립이며 평균이 0, 분산이 "
        "$1/d_{\\mathrm{model}}$이면(아래 식에서는 $g/\\sqrt{d_{\\mathrm{model}}}$로 씁니다) $XW_Q$의 성분은 "
        "모두 분산이 1입니다. 점수의 분산이 $d_k$라고 할 때의 가정이 이것입니다. 중요한 수는 "
        "더하는 항의 개수 $d_{\\mathrm{model}}$이지 헤드의 너비 $d_k$가 아닙니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Variance $1/d_k$ is the right one",
                "ko": "분산을 $1/d_k$로 해야 한다는 주장",
            },
            statement=by_head_width,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$d_{\mathrm{model}}=512$, $d_k=64$: with variance $1/64$ the entries of $Q$ "
        r"would have variance $512/64=8$.",
        "ko": r"$d_{\mathrm{model}}=512$, $d_k=64$일 때 분산을 $1/64$로 하면 $Q$의 성분의 "
        r"분산은 $512/64=8$이 됩니다.",
    },
    references=("glorot2010", "lecun1998"),
)


if __name__ == "__main__":
    THEOREM.main()
