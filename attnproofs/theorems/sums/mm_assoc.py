"""Matrix multiplication is associative."""

from attnproofs.calculus import Part, Proof, Scope, Sum, Theorem, eq, swap, unfold
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    m, p, q, n = s.dimensions("m p q n")
    A, B, C = s.tensor("A", m, p), s.tensor("B", p, q), s.tensor("C", q, n)
    i, j = s.index("i", m), s.index("j", n)
    return eq(((A @ B) @ C)[i, j], (A @ (B @ C))[i, j])


def proof(p: Proof) -> None:
    inner, middle, A, B, C, i, j = p["p q A B C i j"]
    p.line(
        Sum(middle, lambda b: Sum(inner, lambda a: A[i, a] * B[a, b]) * C[b, j]),
        unfold("matmul"),
    )
    p.line(Sum(middle, lambda b: Sum(inner, lambda a: A[i, a] * B[a, b] * C[b, j])), "sum_scale")
    p.line(Sum(inner, lambda a: Sum(middle, lambda b: A[i, a] * B[a, b] * C[b, j])), swap)
    p.line(Sum(inner, lambda a: A[i, a] * Sum(middle, lambda b: B[a, b] * C[b, j])), "sum_scale")
    p.line((A @ (B @ C))[i, j], "unfold")


THEOREM = Theorem(
    id="mm_assoc",
    chapter="sums",
    title={"en": "Associativity of the matrix product", "ko": "행렬 곱의 결합법칙"},
    prose={
        "en": "A product of three matrices does not depend on where the brackets stand. "
        "It is what lets two weight matrices be read as one.",
        "ko": "세 행렬의 곱은 괄호의 위치와 상관없이 같습니다. 두 가중치 행렬을 하나로 묶어 "
        "읽을 수 있는 근거입니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
