"""A score is the dot product of a query with a key."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, dot, eq
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T, S, d_k = s.dimensions("T S d_k")
    Q, K = s.tensor("Q", T, d_k), s.tensor("K", S, d_k)
    i, j = s.index("i", T), s.index("j", S)
    return eq((Q @ K.T)[i, j], dot(Q[i], K[j]))


def proof(p: Proof) -> None:
    d_k, Q, K, i, j = p["d_k Q K i j"]
    p.line(Sum(d_k, lambda a: Q[i, a] * K[j, a]), "unfold")
    p.line(dot(Q[i], K[j]), "unfold")


def untransposed(s: Scope) -> Claim:
    T, d_k = s.dimensions("T d_k")
    Q, K = s.tensor("Q", T, d_k), s.tensor("K", T, d_k)
    i, j = s.index("i", T), s.index("j", T)
    return eq((Q @ K)[i, j], dot(Q[i], K[j]))


def untransposed_square(s: Scope) -> Claim:
    T = s.dimension("T")
    Q, K = s.tensor("Q", T, T), s.tensor("K", T, T)
    i, j = s.index("i", T), s.index("j", T)
    return eq((Q @ K)[i, j], dot(Q[i], K[j]))


THEOREM = Theorem(
    id="score_entry",
    chapter="notation",
    title={"en": "Scores are dot products", "ko": "점수는 내적이다"},
    prose={
        "en": r"Row $i$, column $j$ of $QK^\top$ compares query $i$ with key $j$. Queries and "
        r"keys may come from sequences of different lengths $T$ and $S$; only their width $d_k$ "
        r"must agree. Without the transpose the product is defined only when $S=d_k$, and even "
        r"then it is something else.",
        "ko": r"$QK^\top$의 $i$행 $j$열은 쿼리 $i$와 키 $j$를 비교한 값입니다. 쿼리와 키는 서로 "
        r"다른 두 수열(길이 $T$, $S$)에서 올 수 있으며, 폭 $d_k$만 같으면 됩니다. 전치를 "
        r"빠뜨리면 $S=d_k$일 때에만 곱이 정의되며, 그때에도 다른 값이 됩니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The keys are not transposed", "ko": "키를 전치하지 않는다는 주장"},
            untransposed,
            because="out of range",
        ),
        FalseNeighbour(
            {
                "en": "The keys are not transposed, with $S=d_k$",
                "ko": "$S=d_k$일 때 키를 전치하지 않는다는 주장",
            },
            untransposed_square,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$q=(1,2)$ and $k=(3,-1)$ give the score $1\cdot3+2\cdot(-1)=1$.",
        "ko": r"$q=(1,2)$, $k=(3,-1)$이면 점수는 $1\cdot3+2\cdot(-1)=1$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
