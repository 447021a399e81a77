"""An up-projection of keys is absorbed into the queries: scores need the latent vectors only."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    swap,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    T, n, d, r = s.dimensions("T T_s d_k r")
    s.tensor("Q", T, d)
    s.tensor("C", n, r)
    s.tensor("W_UK", r, d)
    s.index("i", T)
    s.index("j", n)


def statement(s: Scope) -> Claim:
    declare(s)
    Q, C, W, i, j = s["Q C W_UK i j"]
    return eq((Q @ (C @ W).T)[i, j], ((Q @ W.T) @ C.T)[i, j])


def proof(p: Proof) -> None:
    d, r, Q, C, W, i, j = p["d_k r Q C W_UK i j"]
    p.line(Sum(d, lambda a: Sum(r, lambda b: Q[i, a] * C[j, b] * W[b, a])), "unfold", "sum_scale")
    p.line(Sum(r, lambda b: Sum(d, lambda a: Q[i, a] * C[j, b] * W[b, a])), swap)
    p.line(((Q @ W.T) @ C.T)[i, j], "unfold", "sum_scale")


def untransposed(s: Scope) -> Claim:
    T, n, d = s.dimensions("T T_s d_k")
    Q, C, W = s.tensor("Q", T, d), s.tensor("C", n, d), s.tensor("W_UK", d, d)
    i, j = s.index("i", T), s.index("j", n)
    return eq((Q @ (C @ W).T)[i, j], ((Q @ W) @ C.T)[i, j])


def attempt(p: Proof) -> None:
    Q, C, W, i, j = p["Q C W_UK i j"]
    d = p["d_k"]
    p.line(Sum(d, lambda a: Sum(d, lambda b: Q[i, a] * C[j, b] * W[b, a])), "unfold", "sum_scale")
    p.line(Sum(d, lambda b: Sum(d, lambda a: Q[i, a] * C[j, b] * W[b, a])), swap)
    p.line(((Q @ W) @ C.T)[i, j], "unfold", "sum_scale")


THEOREM = Theorem(
    id="latent_absorb",
    chapter="heads",
    title={"en": "Latent keys", "ko": "잠재 키"},
    prose={
        "en": r"If keys are up-projected from latent vectors, $K=CW_{\mathrm{UK}}$, then "
        r"$q\cdot k_j=(qW_{\mathrm{UK}}^\top)\cdot c_j$. The up-projection can be applied to "
        r"the query once instead of to every cached key, so only the short vectors $c_j$ need "
        r"to be cached.",
        "ko": r"키가 잠재 벡터를 넓힌 $K=CW_{\mathrm{UK}}$이면 $q\cdot "
        r"k_j=(qW_{\mathrm{UK}}^\top)\cdot c_j$입니다. 캐시에 있는 키마다 사영을 적용하는 대신 "
        r"쿼리에 한 번만 적용하면 되므로, 짧은 벡터 $c_j$만 캐시에 두면 됩니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"The query is multiplied by $W_{\mathrm{UK}}$ without the transpose",
                "ko": r"쿼리에 전치하지 않은 $W_{\mathrm{UK}}$를 곱한다는 주장",
            },
            statement=untransposed,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$r=1$, $c=2$, $W_{\mathrm{UK}}=(3,4)$, $q=(1,1)$: $k=(6,8)$, $q\cdot "
        r"k=14=(1\cdot3+1\cdot4)\cdot2$.",
        "ko": r"$r=1$, $c=2$, $W_{\mathrm{UK}}=(3,4)$, $q=(1,1)$이면 $k=(6,8)$이고 $q\cdot "
        r"k=14=(1\cdot3+1\cdot4)\cdot2$입니다.",
    },
    references=("deepseek2024",),
)


if __name__ == "__main__":
    THEOREM.main()
