"""The gradients of queries and keys: dQ = dS K / sqrt(d_k), dK = dSᵀ Q / sqrt(d_k)."""

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    derivative,
    differentiate,
    eq,
    ind,
    lemma,
    scores,
    sqrt,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> None:
    T, n, d = s.dimensions("T T_s d_k")
    s.tensor("Q", T, d)
    s.tensor("K", n, d)
    s.tensor("dS", T, n)
    s.index("a", d)


def loss(s: Scope | Proof) -> Expr:
    T, n, Q, K, dS = s["T T_s Q K dS"]
    return Sum(T, lambda k: Sum(n, lambda l: dS[k, l] * scores(Q, K)[k, l]))


def written_out(s: Proof) -> Expr:
    T, n, d, Q, K, dS = s["T T_s d_k Q K dS"]
    return Sum(
        T,
        lambda k: Sum(n, lambda l: dS[k, l] * (Sum(d, lambda b: Q[k, b] * K[l, b]) / sqrt(d))),
    )


def statement(s: Scope) -> Claim:
    declare(s)
    Q, K, dS, a, d = s["Q K dS a d_k"]
    i = s.index("i", s["T"])
    return eq(derivative(Q[i, a], loss(s)), (dS @ K)[i, a] / sqrt(d))


def proof(p: Proof) -> None:
    T, n, d, Q, K, dS, i, a = p["T T_s d_k Q K dS i a"]
    p.line(derivative(Q[i, a], written_out(p)), "unfold:scores", "unfold:dot")

    def inner(k: Ix, l: Ix) -> Expr:
        return Sum(d, lambda b: ind(b.is_(a)) * (ind(k.is_(i)) * K[l, b])) / sqrt(d)

    p.line(Sum(T, lambda k: Sum(n, lambda l: dS[k, l] * inner(k, l))), differentiate())
    p.line(
        Sum(T, lambda k: Sum(n, lambda l: dS[k, l] * (ind(k.is_(i)) * K[l, a] / sqrt(d)))),
        lemma(one_point),
    )
    p.line(
        Sum(T, lambda k: ind(k.is_(i)) * Sum(n, lambda l: dS[k, l] * K[l, a])) / sqrt(d),
        "sum_scale",
    )
    p.line(Sum(n, lambda l: dS[i, l] * K[l, a]) / sqrt(d), lemma(one_point))
    p.line((dS @ K)[i, a] / sqrt(d), "unfold")


def keys(s: Scope) -> Claim:
    declare(s)
    Q, K, dS, a, d = s["Q K dS a d_k"]
    j = s.index("j", s["T_s"])
    return eq(derivative(K[j, a], loss(s)), (dS.T @ Q)[j, a] / sqrt(d))


def proof_keys(p: Proof) -> None:
    T, n, d, Q, K, dS, j, a = p["T T_s d_k Q K dS j a"]
    p.line(derivative(K[j, a], written_out(p)), "unfold:scores", "unfold:dot")

    def inner(k: Ix, l: Ix) -> Expr:
        return Sum(d, lambda b: ind(b.is_(a)) * (ind(l.is_(j)) * Q[k, b])) / sqrt(d)

    p.line(Sum(T, lambda k: Sum(n, lambda l: dS[k, l] * inner(k, l))), differentiate())
    p.line(
        Sum(T, lambda k: Sum(n, lambda l: dS[k, l] * (ind(l.is_(j)) * Q[k, a] / sqrt(d)))),
        lemma(one_point),
    )
    p.line(
        Sum(T, lambda k: Sum(n, lambda l: ind(l.is_(j)) * (dS[k, l] * Q[k, a]))) / sqrt(d),
        "sum_scale",
    )
    p.line(Sum(T, lambda k: dS[k, j] * Q[k, a]) / sqrt(d), lemma(one_point))
    p.line((dS.T @ Q)[j, a] / sqrt(d), "unfold")


def without_scale(s: Scope) -> Claim:
    declare(s)
    Q, K, dS, a = s["Q K dS a"]
    i = s.index("i", s["T"])
    return eq(derivative(Q[i, a], loss(s)), (dS @ K)[i, a])


def attempt(p: Proof) -> None:
    d, K, dS, i, a = p["d_k K dS i a"]
    p.line((dS @ K)[i, a] / sqrt(d), lemma(THEOREM))
    p.line((dS @ K)[i, a], "ring")


THEOREM = Theorem(
    id="grad_queries_keys",
    chapter="gradients",
    title={"en": "Gradients of queries and keys", "ko": "쿼리와 키의 기울기"},
    prose={
        "en": r"A query collects the keys, and a key the queries, each in proportion to the "
        r"gradient of the score between them; the factor $1/\sqrt{d_k}$ of the forward pass "
        r"appears once more.",
        "ko": r"쿼리는 키들을, 키는 쿼리들을 둘 사이 점수의 기울기만큼 모아 받습니다. "
        r"순전파의 인수 $1/\sqrt{d_k}$가 여기서도 한 번 나타납니다.",
    },
    parts=(
        Part(statement, proof),
        Part(keys, proof_keys, name="keys", title={"en": "The keys", "ko": "키"}),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"$\mathrm{dS}\,K$, without $1/\sqrt{d_k}$",
                "ko": r"$1/\sqrt{d_k}$ 없이 $\mathrm{dS}\,K$라는 주장",
            },
            statement=without_scale,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$d_k=4$, $\mathrm{dS}_i=(1,-1)$, $k_1=(2,0,0,0)$, $k_2=0$: "
        r"$\mathrm{dq}_i=(1,0,0,0)$.",
        "ko": r"$d_k=4$, $\mathrm{dS}_i=(1,-1)$, $k_1=(2,0,0,0)$, $k_2=0$이면 "
        r"$\mathrm{dq}_i=(1,0,0,0)$입니다.",
    },
    references=("dao2022",),
)


if __name__ == "__main__":
    THEOREM.main()
