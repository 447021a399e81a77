"""An invertible change of basis inside a head changes neither scores nor updates."""

from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    hyp,
    ind,
    lemma,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.mm_assoc import THEOREM as mm_assoc
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> None:
    m, d, n = s.dimensions("m d n")
    s.tensor("A", m, d)
    s.tensor("B", d, n)
    G, H = s.tensor("G", d, d), s.tensor("G_inv", d, d)
    s.assume(
        "inverse",
        lambda a, c: eq(Sum(d, lambda b: G[a, b] * H[b, c]), ind(c.is_(a))),
        over={"a": d, "c": d},
    )
    s.index("i", m)
    s.index("j", n)


def statement(s: Scope) -> Claim:
    declare(s)
    A, B, G, H, i, j = s["A B G G_inv i j"]
    return eq(((A @ G) @ (H @ B))[i, j], (A @ B)[i, j])


def proof(p: Proof) -> None:
    d, A, B, G, H, i, j = p["d A B G G_inv i j"]
    p.line((A @ (G @ (H @ B)))[i, j], lemma(mm_assoc))
    p.line(Sum(d, lambda a: A[i, a] * (G @ (H @ B))[a, j]), "unfold")
    p.line(Sum(d, lambda a: A[i, a] * ((G @ H) @ B)[a, j]), lemma(mm_assoc, back=True))
    p.line(
        Sum(
            d,
            lambda a: A[i, a] * Sum(d, lambda c: Sum(d, lambda b: G[a, b] * H[b, c]) * B[c, j]),
        ),
        "unfold",
    )
    p.line(Sum(d, lambda a: A[i, a] * Sum(d, lambda c: ind(c.is_(a)) * B[c, j])), hyp("inverse"))
    p.line(
        Sum(d, lambda a: A[i, a] * B[a, j]),
        lemma(one_point, within=lambda a: {"n": d, "e": a, "f": array(d, lambda c: B[c, j])}),
    )
    p.line((A @ B)[i, j], "unfold")


def in_scores(s: Scope) -> Claim:
    T, n, d = s.dimensions("T T_s d")
    Q, K = s.tensor("Q", T, d), s.tensor("K", n, d)
    G, H = s.tensor("G", d, d), s.tensor("G_inv", d, d)
    s.assume(
        "inverse",
        lambda a, c: eq(Sum(d, lambda b: G[a, b] * H[b, c]), ind(c.is_(a))),
        over={"a": d, "c": d},
    )
    i, j = s.index("i", T), s.index("j", n)
    return eq(((Q @ G) @ (K @ H.T).T)[i, j], (Q @ K.T)[i, j])


def proof_in_scores(p: Proof) -> None:
    T, n, d, Q, K, G, H, i, j = p["T T_s d Q K G G_inv i j"]
    p.line(((Q @ G) @ (H @ K.T))[i, j], "unfold", "ring")
    p.line((Q @ K.T)[i, j], lemma(THEOREM, m=T, n=n, d=d, A=Q, B=K.T, G=G, G_inv=H, i=i, j=j))


def untransposed(s: Scope) -> Claim:
    T, n, d = s.dimensions("T T_s d")
    Q, K = s.tensor("Q", T, d), s.tensor("K", n, d)
    G, H = s.tensor("G", d, d), s.tensor("G_inv", d, d)
    s.assume(
        "inverse",
        lambda a, c: eq(Sum(d, lambda b: G[a, b] * H[b, c]), ind(c.is_(a))),
        over={"a": d, "c": d},
    )
    i, j = s.index("i", T), s.index("j", n)
    return eq(((Q @ G) @ (K @ H).T)[i, j], (Q @ K.T)[i, j])


def attempt(p: Proof) -> None:
    _d, Q, K, _G, _H, i, j = p["d Q K G G_inv i j"]
    p.line((Q @ K.T)[i, j], "unfold", "sum_scale", "sum_add")


def shear(rng: Random) -> dict[str, Any]:
    x = Fraction(rng.randint(1, 4), rng.randint(1, 2))
    return {"d": 2, "G": [[1, x], [0, 1]], "G_inv": [[1, -x], [0, 1]]}


THEOREM = Theorem(
    id="gauge",
    chapter="values",
    title={"en": "Change of basis inside a head", "ko": "헤드 안의 기저 변환"},
    prose={
        "en": r"Only the products $W_QW_K^\top$ and $W_VW_O$ matter. Multiplying queries by an "
        r"invertible $G$ and keys by $G^{-\top}$ leaves all scores as they are; multiplying "
        r"values by $G$ and $W_O$ by $G^{-1}$ leaves all updates as they are. Single "
        r"coordinates of queries, keys and values therefore have no meaning of their own.",
        "ko": "중요한 것은 곱 $W_QW_K^\\top$와 $W_VW_O$뿐입니다. 쿼리에 가역행렬 $G$를, 키에 "
        "$G^{-\\top}$를 곱해도 점수는 모두 그대로이고, 밸류에 $G$를, $W_O$에 $G^{-1}$를 "
        "곱해도 갱신은 모두 그대로입니다. 따라서 쿼리, 키, 밸류의 좌표 하나하나에는 따로 뜻이 "
        "없습니다.",
    },
    parts=(
        Part(statement, proof, instance=shear),
        Part(
            in_scores,
            proof_in_scores,
            name="scores",
            title={"en": "Queries and keys", "ko": "쿼리와 키"},
            instance=shear,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Keys are multiplied by $G^{-1}$ without the transpose",
                "ko": "키에는 전치하지 않은 $G^{-1}$를 곱한다는 주장",
            },
            statement=untransposed,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=shear,
        ),
    ),
    numbers={
        "en": r"$G=\begin{pmatrix}1&1\\0&1\end{pmatrix}$, $q=(1,2)$, $k=(3,4)$: $qG=(1,3)$, "
        r"$kG^{-\top}=(-1,4)$, and $1\cdot3+2\cdot4=1\cdot(-1)+3\cdot4=11$.",
        "ko": r"$G=\begin{pmatrix}1&1\\0&1\end{pmatrix}$, $q=(1,2)$, $k=(3,4)$이면 $qG=(1,3)$, "
        r"$kG^{-\top}=(-1,4)$이고 $1\cdot3+2\cdot4=1\cdot(-1)+3\cdot4=11$입니다.",
    },
    references=("elhage2021",),
)


if __name__ == "__main__":
    THEOREM.main()
