"""The Jacobian of a matrix of row-wise softmax weights: each row has its own."""

from attnproofs.calculus import (
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
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def statement(s: Scope) -> Claim:
    T, n = s.dimensions("T T_s")
    S = s.tensor("S", T, n)
    i, j = s.index("i", T), s.index("j", n)
    k, l = s.index("k", T), s.index("l", n)
    A = softmax(S[k])
    return eq(derivative(S[i, j], A[l]), ind(k.is_(i)) * (A[l] * (ind(l.is_(j)) - A[j])))


def proof(p: Proof) -> None:
    n, S, i, j, k, l = p["T_s S i j k l"]
    e, Z = exp(S[k, l]), Sum(n, lambda m: exp(S[k, m]))
    row = ind(k.is_(i))
    p.line(derivative(S[i, j], e / Z), "unfold")
    p.line(
        row * ind(l.is_(j)) * e / Z
        - e * Sum(n, lambda m: ind(m.is_(j)) * (row * exp(S[k, m]))) / Z**2,
        differentiate(),
    )
    p.line(
        row * ind(l.is_(j)) * e / Z - e * (row * exp(S[k, j])) / Z**2,
        lemma(one_point, n=n, e=j, f=array(n, lambda m: row * exp(S[k, m]))),
    )
    p.line(row * (softmax(S[k])[l] * (ind(l.is_(j)) - softmax(S[k])[j])), "unfold")


THEOREM = Theorem(
    id="softmax_jacobian_rows",
    chapter="gradients",
    title={"en": "Jacobian of row-wise softmax", "ko": "행별 소프트맥스의 야코비 행렬"},
    prose={
        "en": "In a matrix of weights, scores of one row move the weights of that row only, by "
        "the softmax Jacobian of the row.",
        "ko": "가중치 행렬에서 한 행의 점수는 그 행의 가중치만 움직이며, 그 변화율은 그 행의 "
        "소프트맥스의 야코비 행렬입니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
