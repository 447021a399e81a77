"""Without softmax the keys and values can be summed first."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    array,
    eq,
    exp,
    lemma,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.mm_assoc import THEOREM as mm_assoc


def statement(s: Scope) -> Claim:
    T, n, r, d_v = s.dimensions("T T_s r d_v")
    Q, K, V = s.tensor("φQ", T, r), s.tensor("φK", n, r), s.tensor("V", n, d_v)
    i, c = s.index("i", T), s.index("c", d_v)
    return eq(((Q @ K.T) @ V)[i, c], (Q @ (K.T @ V))[i, c])


def proof(p: Proof) -> None:
    Q, K, V, i, c = p["φQ φK V i c"]
    p.line((Q @ (K.T @ V))[i, c], lemma(mm_assoc))


def with_exponentials(s: Scope) -> Claim:
    T, n, r, d_v = s.dimensions("T T_s r d_v")
    Q, K, V = s.tensor("Q", T, r), s.tensor("K", n, r), s.tensor("V", n, d_v)
    i, c = s.index("i", T), s.index("c", d_v)
    weights = array(T, n, lambda t, l: exp((Q @ K.T)[t, l]))
    eQ = array(T, r, lambda t, a: exp(Q[t, a]))
    eK = array(n, r, lambda l, a: exp(K[l, a]))
    return eq((weights @ V)[i, c], (eQ @ (eK.T @ V))[i, c])


THEOREM = Theorem(
    id="linear_attention",
    chapter="computation",
    title={"en": "Linear attention", "ko": "선형 어텐션"},
    prose={
        "en": "If scores are products of features, $\\varphi(q)\\cdot\\varphi(k)$, then "
        "$(\\varphi(Q)\\varphi(K)^\\top)V=\\varphi(Q)(\\varphi(K)^\\top V)$: the $T\\times T$ "
        "matrix is never needed, and the cost is linear in $T$. The exponential of softmax is "
        "not such a product of finitely many features, so this cannot be done with softmax "
        "itself.",
        "ko": r"점수가 특징의 곱 $\varphi(q)\cdot\varphi(k)$이면 "
        r"$(\varphi(Q)\varphi(K)^\top)V=\varphi(Q)(\varphi(K)^\top V)$이므로 $T\times T$ 행렬이 "
        r"필요 없고 비용은 $T$에 비례합니다. 소프트맥스의 지수함수는 유한 개의 특징으로 만든 "
        r"이런 곱이 아니므로 소프트맥스 자체로는 이렇게 할 수 없습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The same with $e^{q\\cdot k}$ and the features $e^q$, $e^k$",
                "ko": r"$e^{q\cdot k}$을 특징 $e^q$, $e^k$의 곱으로 바꾸어도 같다는 주장",
            },
            statement=with_exponentials,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$T=8192$, $r=64$, $d_v=64$: $T^2(r+d_v)\approx8.6\cdot10^9$ multiplications "
        r"against $2Trd_v\approx6.7\cdot10^7$.",
        "ko": r"$T=8192$, $r=64$, $d_v=64$이면 곱셈은 $T^2(r+d_v)\approx8.6\cdot10^9$번과 "
        r"$2Trd_v\approx6.7\cdot10^7$번입니다.",
    },
    references=("katharopoulos2020",),
)


if __name__ == "__main__":
    THEOREM.main()
