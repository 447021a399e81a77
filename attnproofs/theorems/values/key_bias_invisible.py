"""A bias on the keys changes no weight."""

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    array,
    condition_value,
    dot,
    eq,
    ind,
    index_value,
    lemma,
    scores,
    sqrt,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.masking.weights_shift import THEOREM as weights_shift


def declare(s: Scope) -> None:
    T, n, d = s.dimensions("T T_s d_k")
    keep = s.predicate("keep", T, n)
    s.kept(keep)
    s.tensor("Q", T, d)
    s.tensor("K", n, d)
    s.tensor("b", d)
    s.index("i", T)
    s.index("j", n)


def row(s: Scope | Proof, Q: Array, K: Array) -> Expr:
    n, keep, i, j = s["T_s keep i j"]
    mask = array(n, lambda l: ind(keep(i, l)))
    found: Expr = weights(mask, scores(Q, K)[i])[j]
    return found


def statement(s: Scope) -> Claim:
    declare(s)
    n, d, Q, K, b = s["T_s d_k Q K b"]
    s.uses("dot")
    return eq(row(s, Q, array(n, d, lambda l, a: K[l, a] + b[a])), row(s, Q, K))


def proof(p: Proof) -> None:
    n, d, Q, K, b, keep, chosen, i, j = p["T_s d_k Q K b keep κ i j"]
    mask = array(n, lambda l: ind(keep(i, l)))
    constant = dot(Q[i], b) / sqrt(d)
    p.line(
        weights(mask, array(n, lambda l: scores(Q, K)[i, l] + constant))[j],
        "unfold:scores",
        "unfold:dot",
        "sum_add",
    )
    p.line(
        row(p, Q, K),
        lemma(
            weights_shift,
            n=n,
            keep=condition_value(1, lambda l: keep(i, l)),
            κ=index_value(0, lambda: chosen(i)),
            s=scores(Q, K)[i],
            c=constant,
            j=j,
        ),
    )


def query_bias(s: Scope) -> Claim:
    declare(s)
    T, d, Q, K, b = s["T d_k Q K b"]
    return eq(row(s, array(T, d, lambda l, a: Q[l, a] + b[a]), K), row(s, Q, K))


def attempt(p: Proof) -> None:
    Q, K = p["Q K"]
    p.line(row(p, Q, K), "unfold", "sum_add", "expring", "sum_scale")


THEOREM = Theorem(
    id="key_bias_invisible",
    chapter="values",
    title={"en": "A key bias is invisible", "ko": "키 편향은 보이지 않는다"},
    prose={
        "en": "Adding the same vector $b$ to every key adds $q_i\\cdot b/\\sqrt{d_k}$ to all "
        "scores of a query alike, and softmax does not see it. A bias in the key projection is "
        "a wasted parameter; a bias in the query projection is not.",
        "ko": "모든 키에 같은 벡터 $b$를 더하면 한 쿼리의 모든 점수에 똑같이 $q_i\\cdot "
        "b/\\sqrt{d_k}$가 더해지고, 소프트맥스는 이를 보지 못합니다. 키 사영의 편향은 쓸모없는 "
        "매개변수이지만, 쿼리 사영의 편향은 그렇지 않습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "A query bias is invisible, too",
                "ko": "쿼리 편향도 보이지 않는다는 주장",
            },
            statement=query_bias,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$q=1$, $k=(2,1)$, $b=5$, $d_k=1$: scores $(2,1)$ become $(7,6)$; the weights "
        r"stay $(0.731,0.269)$.",
        "ko": r"$q=1$, $k=(2,1)$, $b=5$, $d_k=1$이면 점수 $(2,1)$이 $(7,6)$이 되지만 "
        r"가중치는 그대로 $(0.731,0.269)$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
