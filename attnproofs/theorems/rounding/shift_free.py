"""Subtracting the maximum costs little: the mean distance to it is at most the entropy."""

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
    entropy,
    le,
    lemma,
    log,
    logsumexp,
    order,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.entropy_identity import THEOREM as entropy_identity
from attnproofs.theorems.softmax.lse_bounds import THEOREM as lse_bounds
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum


def declare(s: Scope) -> None:
    n = s.dimension("n")
    s.tensor("s", n)
    s.index("k", n)
    s.uses("logsumexp")


def distance(s: Scope | Proof) -> Expr:
    n, x, k = s["n s k"]
    return Sum(n, lambda j: softmax(x)[j] * (x[k] - x[j]))


def statement(s: Scope) -> Claim:
    declare(s)
    return le(distance(s), entropy(softmax(s["s"])))


def proof(p: Proof) -> None:
    n, x, k = p["n s k"]
    w = softmax(x)
    mean = Sum(n, lambda j: w[j] * x[j])
    p.line(x[k] * Sum(n, lambda j: w[j]) - mean, "sum_add", "sum_scale")
    p.line(x[k] - mean, lemma(softmax_sum))
    p.le(logsumexp(x) - mean, lemma((lse_bounds, "low"), k=k))
    p.line(entropy(w), lemma(entropy_identity, back=True))


def logarithm(s: Scope) -> Claim:
    declare(s)
    s.uses("entropy")
    return le(distance(s), log(s["n"]))


def proof_logarithm(p: Proof) -> None:
    p.le(entropy(softmax(p["s"])), lemma(THEOREM))
    p.le(log(p["n"]), lemma((entropy_identity, "upper")))


def half(s: Scope) -> Claim:
    declare(s)
    return le(distance(s), entropy(softmax(s["s"])) / 2)


def attempt(p: Proof) -> None:
    H = entropy(softmax(p["s"]))
    p.le(H, lemma(THEOREM))
    p.le(H / 2, order(-H / 2))


def one_leads(rng: Random) -> dict[str, Any]:
    return {"n": 2, "s": [4, 0], "k": 1}


THEOREM = Theorem(
    id="shift_free",
    chapter="rounding",
    title={"en": "Subtracting the maximum is nearly free", "ko": "최댓값 빼기는 거의 공짜다"},
    prose={
        "en": r"Rounding $s_j-m$ perturbs the weight of key $j$ in proportion to $m-s_j$. Large "
        r"distances do no harm because such keys have little weight: the weighted mean distance "
        r"is at most the entropy of the weights, hence at most $\ln n$. So subtracting the "
        r"maximum costs at most $u\ln n$ times the spread of the values, however large the "
        r"scores are.",
        "ko": r"$s_j-m$을 반올림하면 키 $j$의 가중치는 $m-s_j$에 비례하여 흔들립니다. 거리가 "
        r"멀어도 해롭지 않은 것은 그런 키의 가중치가 작기 때문입니다. 가중치로 평균한 거리는 "
        r"가중치의 엔트로피 이하이며, 따라서 $\ln n$ 이하입니다. 그러므로 점수가 아무리 커도 "
        r"최댓값을 빼는 데서 생기는 오차는 $u\ln n$에 밸류의 폭을 곱한 값을 넘지 않습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            logarithm,
            proof_logarithm,
            name="logarithm",
            title={"en": r"At most $\ln n$", "ko": r"$\ln n$ 이하"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "At most half the entropy", "ko": "엔트로피의 절반 이하라는 주장"},
            statement=half,
            attempt=attempt,
            because="order: cannot show 0 <= the difference",
            instance=one_leads,
        ),
    ),
    numbers={
        "en": r"$s=(4,0)$: $p\approx(0.982,0.018)$, mean distance $0.0719$, entropy $0.0901$, "
        r"$\ln 2\approx0.693$.",
        "ko": r"$s=(4,0)$이면 $p\approx(0.982,0.018)$, 평균 거리 $0.0719$, 엔트로피 $0.0901$, "
        r"$\ln 2\approx0.693$입니다.",
    },
    references=("blanchard2021", "cover2006"),
)


if __name__ == "__main__":
    THEOREM.main()
