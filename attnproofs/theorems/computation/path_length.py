"""Any two tokens are one step apart: the derivative of an output by a value is its weight."""

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    derivative,
    differentiate,
    eq,
    ind,
    lemma,
    lt,
    sign,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.softmax.softmax_positive import THEOREM as softmax_positive
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def statement(s: Scope) -> Claim:
    T, d_v = s.dimensions("T d_v")
    S, V = s.tensor("S", T, T), s.tensor("V", T, d_v)
    i, j = s.index("i", T), s.index("j", T)
    b, c = s.index("b", d_v), s.index("c", d_v)
    A = softmax(S[i])
    output = Sum(T, lambda l: A[l] * V[l, b])
    return eq(derivative(V[j, c], output), A[j] * ind(b.is_(c)))


def proof(p: Proof) -> None:
    T, S, i, j, b, c = p["T S i j b c"]
    A = softmax(S[i])
    p.line(Sum(T, lambda l: A[l] * (ind(l.is_(j)) * ind(b.is_(c)))), differentiate())
    p.line(ind(b.is_(c)) * Sum(T, lambda l: ind(l.is_(j)) * A[l]), "sum_scale")
    p.line(A[j] * ind(b.is_(c)), lemma(one_point, e=j, f=A))


def positive(s: Scope) -> Claim:
    T = s.dimension("T")
    S = s.tensor("S", T, T)
    i, j = s.index("i", T), s.index("j", T)
    return lt(0, softmax(S[i])[j])


def positive_proof(p: Proof) -> None:
    T, S, i, j = p["T S i j"]
    p.lt(softmax(S[i])[j], lemma(softmax_positive, n=T, s=S[i], i=j))


def causal(s: Scope) -> Claim:
    T = s.dimension("T")
    s.tensor("S", T, T)
    _i, _j = s.index("i", T), s.index("j", T)
    return lt(0, causal_weight(s))


def causal_weight(s: Scope | Proof) -> Expr:
    """Return a weight under the causal mask."""
    T, S, i, j = s["T S i j"]
    result: Expr = weights(array(T, lambda l: ind(l <= i)), S[i])[j]
    return result


def causal_attempt(p: Proof) -> None:
    p.lt(causal_weight(p), sign())


THEOREM = Theorem(
    id="path_length",
    chapter="computation",
    title={"en": "Paths of length one", "ko": "길이가 1인 경로"},
    prose={
        "en": "The derivative of output $o_i$ with respect to value $v_j$ is the weight $A_{ij}$, "
        "and without a mask this is positive for every pair: information and gradients pass "
        "between any two tokens in one step, where a recurrent network needs $|i-j|$ of them. "
        "Scores and values are independent variables here; it is the value path that is short.",
        "ko": "출력 $o_i$를 밸류 $v_j$로 미분하면 가중치 $A_{ij}$이고, 마스크가 없으면 모든 "
        "쌍에 대하여 양수입니다. 순환 신경망에서는 $|i-j|$단계가 필요한 두 토큰 사이를 정보와 "
        "기울기가 한 단계 만에 지나갑니다. 여기에서 점수와 밸류는 독립 변수이며, 짧은 것은 "
        "밸류를 지나는 경로입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            positive,
            positive_proof,
            name="positive",
            title={"en": "Every weight is positive", "ko": "모든 가중치는 양수"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {"en": "It holds under a causal mask, too", "ko": "인과 마스크에서도 성립한다는 주장"},
            causal,
            causal_attempt,
            because="cannot show 0 < t",
        ),
    ),
    numbers={
        "en": r"Weights $(\tfrac14,\tfrac34)$: raising $v_2$ by $0.1$ raises the output by $0.075$.",
        "ko": r"가중치가 $(\tfrac14,\tfrac34)$이면 $v_2$가 $0.1$ 커질 때 출력은 $0.075$ 커집니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
