"""The transpose of a product is the product of the transposes in the other order."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, eq
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    m, d, n = s.dimensions("m d n")
    A, B = s.tensor("A", m, d), s.tensor("B", d, n)
    i, j = s.index("i", n), s.index("j", m)
    return eq((A @ B).T[i, j], (B.T @ A.T)[i, j])


def proof(p: Proof) -> None:
    d, A, B, i, j = p["d A B i j"]
    p.line(Sum(d, lambda a: A[j, a] * B[a, i]), "unfold")
    p.line(Sum(d, lambda a: B[a, i] * A[j, a]), "ring")
    p.line((B.T @ A.T)[i, j], "unfold")


def same_order(s: Scope) -> Claim:
    n = s.dimension("n")
    A, B = s.tensor("A", n, n), s.tensor("B", n, n)
    i, j = s.index("i", n), s.index("j", n)
    return eq((A @ B).T[i, j], (A.T @ B.T)[i, j])


THEOREM = Theorem(
    id="transpose_product",
    chapter="notation",
    title={"en": "Transpose of a product", "ko": "곱의 전치"},
    prose={
        "en": "Papers write attention with tokens as rows or as columns. This identity is all that "
        "is needed to pass from one convention to the other.",
        "ko": "문헌에 따라 토큰을 행으로 두기도 하고 열로 두기도 합니다. 한 표기에서 다른 표기로 "
        "옮겨 가는 데 필요한 것은 이 등식뿐입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The transposes keep their order", "ko": "전치의 순서가 그대로라는 주장"},
            same_order,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"With $A=(1\ 2)$ and $B=(5\ 6)^\top$ both sides are $1\cdot5+2\cdot6=17$.",
        "ko": r"$A=(1\ 2)$, $B=(5\ 6)^\top$이면 양변은 모두 $1\cdot5+2\cdot6=17$입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
