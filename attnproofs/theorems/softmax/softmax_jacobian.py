"""The derivative of softmax: p_i (delta_ij - p_j)."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
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
    n = s.dimension("n")
    x = s.tensor("s", n)
    i, j = s.index("i", n), s.index("j", n)
    p = softmax(x)
    return eq(derivative(x[j], p[i]), p[i] * (ind(i.is_(j)) - p[j]))


def proof(p: Proof) -> None:
    n, x, i, j = p["n s i j"]
    Z = Sum(n, lambda l: exp(x[l]))
    same = ind(i.is_(j))
    p.line(derivative(x[j], exp(x[i]) / Z), "unfold")
    p.line(
        exp(x[i]) * same / Z - exp(x[i]) * Sum(n, lambda l: ind(l.is_(j)) * exp(x[l])) / Z**2,
        differentiate(),
    )
    p.line(exp(x[i]) * same / Z - exp(x[i]) * exp(x[j]) / Z**2, lemma(one_point))
    p.line(exp(x[i]) / Z * (same - exp(x[j]) / Z), "ring")
    p.line(softmax(x)[i] * (same - softmax(x)[j]), "unfold")


def diagonal(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i, j = s.index("i", n), s.index("j", n)
    p = softmax(x)
    return eq(derivative(x[j], p[i]), ind(i.is_(j)) * (p[i] * (1 - p[i])))


def attempt(p: Proof) -> None:
    x, i, j = p["s i j"]
    w = softmax(x)
    p.line(w[i] * (ind(i.is_(j)) - w[j]), lemma(THEOREM))
    p.line(ind(i.is_(j)) * (w[i] * (1 - w[i])), "ind_bool", "unfold")


THEOREM = Theorem(
    id="softmax_jacobian",
    chapter="softmax",
    title={"en": "Jacobian of softmax", "ko": "소프트맥스의 야코비 행렬"},
    prose={
        "en": r"Raising the score of key $j$ raises its own weight by $p_j(1-p_j)$ and lowers "
        r"that of every other key $i$ by $p_ip_j$: the keys compete. The matrix is "
        r"$\mathrm{diag}(p)-pp^\top$, and it is all that backpropagation through attention "
        r"weights needs.",
        "ko": r"키 $j$의 점수를 올리면 그 가중치는 $p_j(1-p_j)$의 비율로 늘고, 다른 키 $i$의 "
        r"가중치는 $p_ip_j$의 비율로 줄어듭니다. 키들이 서로 경쟁하는 셈입니다. 이 행렬은 "
        r"$\mathrm{diag}(p)-pp^\top$이며, 어텐션 가중치의 역전파에 필요한 것은 이것뿐입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Only the diagonal $p_i(1-p_i)$: other scores have no influence",
                "ko": "대각 성분 $p_i(1-p_i)$만 있고 다른 점수의 영향은 없다는 주장",
            },
            statement=diagonal,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"With $p\approx(0.665,0.245,0.090)$ the derivatives are $\partial p_1/\partial "
        r"s_1=0.665\cdot0.335\approx0.223$ and $\partial p_1/\partial "
        r"s_2={-0.665\cdot0.245}\approx-0.163$.",
        "ko": r"가중치가 $p\approx(0.665,0.245,0.090)$이면 $\partial p_1/\partial "
        r"s_1=0.665\cdot0.335\approx0.223$, $\partial p_1/\partial "
        r"s_2={-0.665\cdot0.245}\approx-0.163$입니다.",
    },
    references=("bridle1990", "dao2022"),
)


if __name__ == "__main__":
    THEOREM.main()
