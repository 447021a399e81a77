"""The softmax weights of a row sum to one."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    exp,
    le,
    lemma,
    softmax,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    return eq(Sum(n, lambda i: softmax(x)[i]), 1)


def proof(p: Proof) -> None:
    n, x = p["n s"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(Sum(n, lambda i: exp(x[i]) / Z), "unfold")
    p.line(Sum(n, lambda i: exp(x[i])) / Z, "sum_scale")
    p.line(1, "ring")


def at_most_one(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i = s.index("i", n)
    return le(softmax(x)[i], 1)


def proof_at_most_one(p: Proof) -> None:
    n, x, i = p["n s i"]
    p.le(Sum(n, lambda j: softmax(x)[j]), lemma(term_le_sum, k=i, f=softmax(x)))
    p.line(1, lemma(THEOREM))


def other_axis(s: Scope) -> Claim:
    m, n = s.dimensions("m n")
    S = s.tensor("S", m, n)
    j = s.index("j", n)
    return eq(Sum(m, lambda i: softmax(S[i])[j]), 1)


def attempt(p: Proof) -> None:
    m, n, S, j = p["m n S j"]
    p.line(Sum(m, lambda i: exp(S[i, j]) / Sum(n, lambda l: exp(S[i, l]))), "unfold")
    p.line(1, "sum_scale")


THEOREM = Theorem(
    id="softmax_sum",
    chapter="softmax",
    title={"en": "Weights sum to one", "ko": "가중치의 합은 1"},
    prose={
        "en": "The weights that one query gives to all keys add up to 1, so each output is a "
        "weighted mean of the values. In a matrix of scores this holds along the keys of each "
        "query, not along the queries of each key.",
        "ko": "한 쿼리가 모든 키에 주는 가중치를 더하면 1이 되므로, 각 출력은 밸류의 "
        "가중평균입니다. 점수 행렬에서 이 성질은 쿼리마다 키 방향으로 성립하며, 키마다 쿼리 "
        "방향으로는 성립하지 않습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            at_most_one,
            proof_at_most_one,
            name="at_most_one",
            title={"en": "No weight exceeds 1", "ko": "가중치는 1을 넘지 않는다"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "In a matrix of row-wise weights each column sums to one",
                "ko": "행마다 소프트맥스를 취한 행렬에서 각 열의 합이 1이라는 주장",
            },
            statement=other_axis,
            attempt=attempt,
            because="the two sides are not equal by ring, sum_scale",
        ),
    ),
    numbers={
        "en": r"$\mathrm{softmax}(2,1,0)$: $0.6652+0.2447+0.0900=0.9999$ as printed; exactly 1 "
        r"before rounding.",
        "ko": r"$\mathrm{softmax}(2,1,0)$: 소수 넷째 자리까지 쓰면 "
        r"$0.6652+0.2447+0.0900=0.9999$이지만 반올림하기 전에는 정확히 1입니다.",
    },
    references=("bridle1990", "vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
