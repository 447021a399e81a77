"""The row sum of A ∘ dA is the dot product of dO and O (FlashAttention's Δ)."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    lemma,
    swap,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, n, d_v = s.dimensions("T T_s d_v")
    s.tensor("A", T, n)
    s.tensor("V", n, d_v)
    s.tensor("dO", T, d_v)
    s.index("i", T)


def statement(s: Scope) -> Claim:
    declare(s)
    n, d_v, A, V, dO, i = s["T_s d_v A V dO i"]
    return eq(
        Sum(n, lambda l: A[i, l] * (dO @ V.T)[i, l]), Sum(d_v, lambda c: dO[i, c] * (A @ V)[i, c])
    )


def proof(p: Proof) -> None:
    n, d_v, A, V, dO, i = p["T_s d_v A V dO i"]
    p.line(
        Sum(n, lambda l: Sum(d_v, lambda c: A[i, l] * (dO[i, c] * V[l, c]))), "unfold", "sum_scale"
    )
    p.line(Sum(d_v, lambda c: Sum(n, lambda l: A[i, l] * (dO[i, c] * V[l, c]))), swap)
    p.line(Sum(d_v, lambda c: dO[i, c] * (A @ V)[i, c]), "unfold", "sum_scale")


def with_values(s: Scope) -> Claim:
    T, d_v = s.dimensions("T d_v")
    A, V, dO = s.tensor("A", T, T), s.tensor("V", T, d_v), s.tensor("dO", T, d_v)
    i = s.index("i", T)
    return eq(Sum(T, lambda l: A[i, l] * (dO @ V.T)[i, l]), Sum(d_v, lambda c: dO[i, c] * V[i, c]))


def attempt(p: Proof) -> None:
    T, d_v, A, V, dO, i = p["T d_v A V dO i"]
    p.line(
        Sum(d_v, lambda c: dO[i, c] * (A @ V)[i, c]),
        lemma(THEOREM, T_s=T, T=T, A=A, V=V, dO=dO, i=i, d_v=d_v),
    )
    p.line(Sum(d_v, lambda c: dO[i, c] * V[i, c]), "ring")


THEOREM = Theorem(
    id="grad_delta",
    chapter="gradients",
    title={"en": "The row sum from the output", "ko": "출력으로 구하는 행의 합"},
    prose={
        "en": "The mean that the gradient of the scores subtracts runs over all keys, yet it "
        "equals the dot product of a token's output gradient with its output: $d_v$ numbers "
        "instead of $T_s$. FlashAttention computes it once per row before its backward pass, so "
        "that no row of weights has to be kept.",
        "ko": "점수의 기울기에서 빼는 평균은 모든 키에 걸친 합이지만, 한 토큰의 출력 기울기와 "
        "출력의 내적과 같습니다. $T$개가 아니라 $d_v$개의 수로 구할 수 있습니다. "
        "FlashAttention은 역전파에 앞서 이 값을 행마다 한 번 구하므로 가중치의 행을 남겨 둘 "
        "필요가 없습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"The dot product of $\mathrm{dO}$ with the token's value instead of its "
                r"output",
                "ko": r"출력이 아니라 그 토큰의 밸류와 $\mathrm{dO}$의 내적이라는 주장",
            },
            statement=with_values,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$A_i=(\frac12,\frac12)$, $V=(2,4)^\top$, $\mathrm{dO}_i=10$: "
        r"$\frac12\cdot20+\frac12\cdot40=30=10\cdot3$.",
        "ko": r"$A_i=(\frac12,\frac12)$, $V=(2,4)^\top$, $\mathrm{dO}_i=10$이면 "
        r"$\frac12\cdot20+\frac12\cdot40=30=10\cdot3$입니다.",
    },
    references=("dao2022", "dao2023"),
)


if __name__ == "__main__":
    THEOREM.main()
