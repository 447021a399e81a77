"""Scaling scores by β raises the weights to the power β and renormalises."""

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
    lemma,
    log,
    logsumexp,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.entropy_identity import THEOREM as entropy_identity


def declare(s: Scope) -> None:
    n = s.dimension("n")
    s.tensor("s", n)
    s.scalar("β")
    s.index("i", n)
    s.uses("logsumexp")


def sharpened(s: Scope | Proof) -> Expr:
    n, x, beta, i = s["n s β i"]
    found: Expr = softmax(array(n, lambda l: beta * x[l]))[i]
    return found


def statement(s: Scope) -> Claim:
    declare(s)
    n, x, beta, i = s["n s β i"]
    p = softmax(x)
    power = array(n, lambda l: exp(beta * log(p[l])))
    return eq(sharpened(s), power[i] / Sum(n, lambda l: power[l]))


def proof(p: Proof) -> None:
    n, x, beta, i = p["n s β i"]
    w, L = softmax(x), logsumexp(x)
    p.line(exp(beta * x[i]) / Sum(n, lambda l: exp(beta * x[l])), "unfold:softmax")
    p.line(
        exp(beta * (x[i] - L)) / Sum(n, lambda l: exp(beta * (x[l] - L))), "expring", "sum_scale"
    )
    p.line(
        exp(beta * log(w[i])) / Sum(n, lambda l: exp(beta * log(w[l]))),
        lemma((entropy_identity, "log_weight"), back=True),
    )


def scaled_weights(s: Scope) -> Claim:
    declare(s)
    return eq(sharpened(s), s["β"] * softmax(s["s"])[s["i"]])


def attempt(p: Proof) -> None:
    p.line(p["β"] * softmax(p["s"])[p["i"]], "unfold", "expring", "sum_scale")


THEOREM = Theorem(
    id="scale_is_temperature",
    chapter="scaling",
    title={"en": "The scale is an inverse temperature", "ko": "스케일은 온도의 역수이다"},
    prose={
        "en": r"Multiplying all scores by $\beta$ turns each weight $p$ into $p^\beta$ (written "
        r"$e^{\beta\ln p}$) and divides by the new sum. Large $\beta$ sharpens, small $\beta$ "
        r"flattens, $\beta=0$ gives equal weights. It does not multiply the weights, which have "
        r"to sum to one.",
        "ko": r"모든 점수에 $\beta$를 곱하면 가중치 $p$가 $p^\beta$(곧 $e^{\beta\ln p}$)으로 "
        r"바뀌고 새 합으로 나눈 값이 됩니다. $\beta$가 크면 날카로워지고 작으면 평평해지며, "
        r"$\beta=0$이면 모두 같아집니다. 가중치에 $\beta$를 곱하는 것이 아닙니다. 합은 1이어야 "
        r"하기 때문입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The weights are multiplied by $\\beta$",
                "ko": r"가중치에 $\beta$가 곱해진다는 주장",
            },
            statement=scaled_weights,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$p=(0.8,0.2)$, $\beta=2$: $(0.64,0.04)/0.68\approx(0.941,0.059)$.",
        "ko": r"$p=(0.8,0.2)$, $\beta=2$이면 $(0.64,0.04)/0.68\approx(0.941,0.059)$입니다.",
    },
    references=("guo2017", "bridle1990"),
)


if __name__ == "__main__":
    THEOREM.main()
