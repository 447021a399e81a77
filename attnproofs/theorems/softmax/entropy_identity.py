"""The entropy of softmax weights: log-sum-exp less the mean score, between 0 and log n."""

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
    entropy,
    eq,
    exp,
    exp_ge,
    le,
    lemma,
    log,
    logsumexp,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def declare(s: Scope) -> tuple[Any, ...]:
    n = s.dimension("n")
    s.uses("logsumexp", "softmax")
    return n, s.tensor("s", n)


def statement(s: Scope) -> Claim:
    n, x = declare(s)
    p = softmax(x)
    return eq(entropy(p), logsumexp(x) - Sum(n, lambda i: p[i] * x[i]))


def proof(p: Proof) -> None:
    n, x = p["n s"]
    w, L = softmax(x), logsumexp(x)
    p.line(-Sum(n, lambda i: w[i] * log(w[i])), "unfold:entropy")
    p.line(-Sum(n, lambda i: w[i] * (x[i] - L)), lemma((THEOREM, "log_weight")))
    p.line(L * Sum(n, lambda i: w[i]) - Sum(n, lambda i: w[i] * x[i]), "sum_add", "sum_scale")
    p.line(L - Sum(n, lambda i: w[i] * x[i]), lemma(softmax_sum))


def log_weight(s: Scope) -> Claim:
    n, x = declare(s)
    i = s.index("i", n)
    return eq(log(softmax(x)[i]), x[i] - logsumexp(x))


def proof_log_weight(p: Proof) -> None:
    n, x, i = p["n s i"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(log(exp(x[i]) / Z), "unfold:softmax")
    p.line(log(exp(x[i]) / exp(log(Z))), "log_exp")
    p.line(log(exp(x[i] - log(Z))), "expring")
    p.line(x[i] - log(Z), "log_exp")
    p.line(x[i] - logsumexp(x), "unfold:logsumexp")


def surprise(s: Scope) -> Claim:
    n, x = declare(s)
    i = s.index("i", n)
    return le(0, -log(softmax(x)[i]))


def proof_surprise(p: Proof) -> None:
    x, i = p["s i"]
    p.line(-log(1), "log_exp")
    p.le(-log(softmax(x)[i]), lemma((softmax_sum, "at_most_one"), i=i))


def nonnegative(s: Scope) -> Claim:
    _, x = declare(s)
    return le(0, entropy(softmax(x)))


def proof_nonnegative(p: Proof) -> None:
    n, x = p["n s"]
    w = softmax(x)
    p.line(Sum(n, lambda i: w[i] * 0), "sum_scale")
    p.le(
        Sum(n, lambda i: w[i] * (-log(w[i]))),
        lemma((THEOREM, "surprise"), within=lambda i: {"i": i}),
    )
    p.line(entropy(w), "unfold:entropy", "sum_scale")


def upper(s: Scope) -> Claim:
    n, x = declare(s)
    return le(entropy(softmax(x)), log(n))


def proof_upper(p: Proof) -> None:
    n, x = p["n s"]
    w = softmax(x)

    def t(i: Ix) -> Expr:
        return -log(w[i]) - log(n)

    p.line(-Sum(n, lambda i: w[i] * log(w[i])), "unfold:entropy")
    p.line(
        Sum(n, lambda i: w[i] * (1 + t(i))) + (log(n) - 1) * Sum(n, lambda i: w[i]),
        "sum_add",
        "sum_scale",
    )
    p.line(Sum(n, lambda i: w[i] * (1 + t(i))) + (log(n) - 1), lemma(softmax_sum))
    p.le(Sum(n, lambda i: w[i] * exp(t(i))) + (log(n) - 1), exp_ge)
    p.line(Sum(n, lambda i: 1 / n) + (log(n) - 1), "expring", "log_exp")
    p.line(log(n), lemma(sum_const))


def without_logs(s: Scope) -> Claim:
    _n, x = declare(s)
    p = softmax(x)
    return eq(entropy(p), logsumexp(x))


def attempt(p: Proof) -> None:
    n, x = p["n s"]
    w = softmax(x)
    p.line(logsumexp(x) - Sum(n, lambda i: w[i] * x[i]), lemma(THEOREM))
    p.line(logsumexp(x), "ring")


THEOREM = Theorem(
    id="entropy_identity",
    chapter="softmax",
    title={"en": "Entropy of attention weights", "ko": "어텐션 가중치의 엔트로피"},
    prose={
        "en": r"The entropy of a row of weights is $\mathrm{LSE}(s)$ less the mean score under "
        r"the weights. It is 0 in the limit of a one-hot row and $\ln n$ when all keys count "
        r"alike; it measures how widely a query attends, and it bounds what subtracting the "
        r"maximum costs in rounding.",
        "ko": r"가중치 한 행의 엔트로피는 로그합지수 $\mathrm{LSE}(s)$에서 가중치로 평균한 "
        r"점수를 뺀 값입니다. 원핫에 가까워지면 0으로 가고, 모든 키가 똑같으면 $\ln n$입니다. "
        r"한 쿼리가 얼마나 넓게 주목하는지를 재는 값이며, 최댓값을 빼는 데서 생기는 반올림 "
        r"오차의 한계이기도 합니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            log_weight,
            proof_log_weight,
            name="log_weight",
            title={"en": "The logarithm of a weight", "ko": "가중치의 로그"},
        ),
        Part(
            surprise,
            proof_surprise,
            name="surprise",
            title={"en": "One term is not negative", "ko": "각 항은 음수가 아니다"},
        ),
        Part(
            nonnegative,
            proof_nonnegative,
            name="nonnegative",
            title={"en": "It is not negative", "ko": "엔트로피는 음수가 아니다"},
        ),
        Part(
            upper,
            proof_upper,
            name="upper",
            title={"en": r"It is at most $\ln n$", "ko": r"엔트로피는 $\ln n$ 이하이다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "It equals log-sum-exp, without the mean score",
                "ko": "평균 점수를 빼지 않고 LSE와 같다는 주장",
            },
            statement=without_logs,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$\mathrm{softmax}(2,1,0)$: the entropy is about "
        r"$2.40761-(2\cdot0.66524+0.24473)=0.83240$, below $\ln 3\approx1.099$.",
        "ko": r"$\mathrm{softmax}(2,1,0)$이면 "
        r"엔트로피는 약 $2.40761-(2\cdot0.66524+0.24473)=0.83240$으로 $\ln 3\approx1.099$보다 "
        r"작습니다.",
    },
    references=("cover2006", "boyd2004"),
)


if __name__ == "__main__":
    THEOREM.main()
