"""An output row is the weighted sum of the value rows."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, eq
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T, S, d_v = s.dimensions("T S d_v")
    A, V = s.tensor("A", T, S), s.tensor("V", S, d_v)
    i, c = s.index("i", T), s.index("c", d_v)
    return eq((A @ V)[i, c], Sum(S, lambda j: A[i, j] * V[j, c]))


def proof(p: Proof) -> None:
    S, A, V, i, c = p["S A V i c"]
    p.line(Sum(S, lambda j: A[i, j] * V[j, c]), "unfold")


def transposed(s: Scope) -> Claim:
    T, d_v = s.dimensions("T d_v")
    A, V = s.tensor("A", T, T), s.tensor("V", T, d_v)
    i, c = s.index("i", T), s.index("c", d_v)
    return eq((A.T @ V)[i, c], Sum(T, lambda j: A[i, j] * V[j, c]))


THEOREM = Theorem(
    id="weighted_sum",
    chapter="values",
    title={"en": "Outputs are weighted sums of values", "ko": "출력은 밸류의 가중합"},
    prose={
        "en": "Row $i$ of $AV$ is the sum of the value rows $v_j$ with the weights $A_{ij}$ of query "
        "$i$. There is nothing more in the matrix product than this.",
        "ko": "$AV$의 $i$행은 밸류의 행 $v_j$를 쿼리 $i$의 가중치 $A_{ij}$로 더한 가중합입니다. 행렬 "
        "곱에 담긴 뜻은 이것이 전부입니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The weights may be transposed", "ko": "가중치를 전치해도 된다는 주장"},
            transposed,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"Weights $(\tfrac14,\tfrac34)$ and values $v_1=(4,0)$, $v_2=(0,8)$ give $(1,6)$.",
        "ko": r"가중치가 $(\tfrac14,\tfrac34)$이고 밸류가 $v_1=(4,0)$, $v_2=(0,8)$이면 출력은 $(1,6)$"
        r"입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
