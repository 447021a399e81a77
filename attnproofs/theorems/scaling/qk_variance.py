"""The variance of the dot product of random query and key is d_k."""

from collections.abc import Callable

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
    hyp,
    ind,
    independent,
    lemma,
    sqrt,
    unfold,
    variance,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.scaling._assumptions import centred_and_unit
from attnproofs.theorems.scaling.qk_mean import THEOREM as qk_mean
from attnproofs.theorems.sums.one_point import THEOREM as one_point
from attnproofs.theorems.sums.second_moment import THEOREM as second_moment
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const
from attnproofs.theorems.sums.sum_prod import THEOREM as sum_prod
from attnproofs.theorems.sums.var_moment import THEOREM as var_moment


def statement(s: Scope) -> Claim:
    d_k, q, k = centred_and_unit(s)
    return eq(variance(dot(q, k)), d_k)


def proof(p: Proof) -> None:
    d_k, q, k = p["d_k q k"]

    def double(body: Callable[[Ix, Ix], Expr]) -> Expr:
        return Sum(d_k, lambda a: Sum(d_k, lambda b: body(a, b)))

    p.line(
        expect(dot(q, k) * dot(q, k)) - 0 * expect(dot(q, k)),
        lemma(var_moment),
        lemma(qk_mean, only=0),
    )
    p.line(expect(double(lambda a, b: q[a] * k[a] * (q[b] * k[b]))), unfold(), lemma(sum_prod))
    p.line(double(lambda a, b: expect(q[a] * q[b] * (k[a] * k[b]))), "E_lin")
    p.line(double(lambda a, b: expect(q[a] * q[b]) * expect(k[a] * k[b])), independent)
    p.line(double(lambda a, b: ind(b.is_(a)) * expect(k[a] * k[b])), lemma(second_moment, d=d_k))
    p.line(Sum(d_k, lambda a: expect(k[a] * k[a])), lemma(one_point))
    p.line(Sum(d_k, lambda a: 1), hyp("k_unit"))
    p.line(d_k, lemma(sum_const))


def squared(s: Scope) -> Claim:
    d_k, q, k = centred_and_unit(s)
    return eq(variance(dot(q, k)), d_k * d_k)


def rooted(s: Scope) -> Claim:
    d_k, q, k = centred_and_unit(s)
    return eq(variance(dot(q, k)), sqrt(d_k))


def wrong_end(p: Proof) -> None:
    """Follow the proof to d_k, and claim what the statement claims."""
    proof(p)
    p.line(Expr(p.statement.claim.rhs or ("q", 0, 1)), "ring")


THEOREM = Theorem(
    id="qk_variance",
    chapter="scaling",
    title={"en": "Variance of a score", "ko": "점수의 분산"},
    prose={
        "en": r"Footnote 4 of “Attention Is All You Need”: if the components of query and key "
        r"are independent with mean 0 and variance 1, their dot product has variance $d_k$. "
        r"Scores spread like $\sqrt{d_k}$, and large scores push softmax into regions with tiny "
        r"gradients; this is why they are divided by $\sqrt{d_k}$. For the key, second moments "
        r"1 suffice: its components need be neither centred nor independent.",
        "ko": r"‘Attention Is All You Need’의 각주 4입니다. 쿼리와 키의 성분들이 독립이고 "
        r"평균이 0, 분산이 1이면 내적의 분산은 $d_k$입니다. 따라서 점수는 $\sqrt{d_k}$ 정도로 "
        r"퍼지고, 점수가 크면 소프트맥스는 기울기가 아주 작은 영역에 들어갑니다. 그래서 "
        r"$\sqrt{d_k}$로 나눕니다. 키에 대해서는 이차 적률이 1이면 충분하며, 평균이 0이거나 "
        r"성분이 독립일 필요는 없습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The variance is $d_k^2$", "ko": "분산이 $d_k^2$이라는 주장"},
            squared,
            wrong_end,
            because="not equal",
        ),
        FalseNeighbour(
            {"en": "The variance is $\\sqrt{d_k}$", "ko": "분산이 $\\sqrt{d_k}$라는 주장"},
            rooted,
            wrong_end,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"Fair signs and $d_k=2$: $q\cdot k\in\{2,0,0,-2\}$, so the variance is "
        r"$\tfrac14(4+0+0+4)=2=d_k$.",
        "ko": r"성분이 $\pm1$이고 $d_k=2$이면 $q\cdot k\in\{2,0,0,-2\}$이므로 분산은 "
        r"$\tfrac14(4+0+0+4)=2=d_k$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
