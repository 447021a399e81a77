"""An entry of a matrix product is the dot product of a row and a column."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, eq, hyp
from attnproofs.calculus.symbols import rational_expr
from attnproofs.kernel.statement import Claim

LEFT = ((1, 2), (3, 4))
RIGHT = ((5, 7), (6, 8))
PRODUCT = ((17, 23), (39, 53))


def statement(s: Scope) -> Claim:
    m, d, n = s.dimensions("m d n")
    A, B = s.tensor("A", m, d), s.tensor("B", d, n)
    i, j = s.index("i", m), s.index("j", n)
    return eq((A @ B)[i, j], Sum(d, lambda a: A[i, a] * B[a, j]))


def proof(p: Proof) -> None:
    d, A, B, i, j = p["d A B i j"]
    p.line(Sum(d, lambda a: A[i, a] * B[a, j]), "unfold")


def number(row: int, column: int) -> Part:
    """Return the part that computes one entry of the worked example."""

    def stated(s: Scope) -> Claim:
        A, B = s.tensor("A", 2, 2), s.tensor("B", 2, 2)
        for a in (1, 2):
            s.assume(f"A_{row}{a}", eq(A[row, a], LEFT[row - 1][a - 1]))
            s.assume(f"B_{a}{column}", eq(B[a, column], RIGHT[a - 1][column - 1]))
        return eq((A @ B)[row, column], PRODUCT[row - 1][column - 1])

    def proved(p: Proof) -> None:
        A, B = p["A B"]
        p.line(A[row, 1] * B[1, column] + A[row, 2] * B[2, column], "unfold", "sum_literal")
        left, right = LEFT[row - 1], (RIGHT[0][column - 1], RIGHT[1][column - 1])
        written = rational_expr(left[0]) * right[0] + rational_expr(left[1]) * right[1]
        p.line(
            written, *(hyp(f"A_{row}{a}") for a in (1, 2)), *(hyp(f"B_{a}{column}") for a in (1, 2))
        )
        p.line(PRODUCT[row - 1][column - 1], "ring")

    title = {"en": f"Entry ({row}, {column}) in numbers", "ko": f"({row}, {column}) 성분의 수치"}
    return Part(stated, proved, name=f"entry_{row}{column}", title=title)


def entrywise(s: Scope) -> Claim:
    n = s.dimension("n")
    A, B = s.tensor("A", n, n), s.tensor("B", n, n)
    i, j = s.index("i", n), s.index("j", n)
    return eq((A @ B)[i, j], A[i, j] * B[i, j])


def rows_times_rows(s: Scope) -> Claim:
    n = s.dimension("n")
    A, B = s.tensor("A", n, n), s.tensor("B", n, n)
    i, j = s.index("i", n), s.index("j", n)
    return eq((A @ B)[i, j], Sum(n, lambda a: A[i, a] * B[j, a]))


THEOREM = Theorem(
    id="matmul_entry",
    chapter="notation",
    title={"en": "Entries of a matrix product", "ko": "행렬 곱의 성분"},
    prose={
        "en": "Every product in attention (queries, keys, scores, outputs, updates) is a matrix "
        "product, and each of its entries is the dot product of a row of the left matrix with a "
        "column of the right one. The inner sizes must agree; the kernel refuses a product in "
        "which they do not.",
        "ko": "어텐션에 나오는 모든 곱(쿼리, 키, 점수, 출력, 갱신)은 행렬 곱이며, 각 성분은 왼쪽 "
        "행렬의 행과 오른쪽 행렬의 열의 내적입니다. 안쪽 크기는 서로 같아야 하고, 같지 않은 곱은 "
        "커널이 거부합니다.",
    },
    parts=(Part(statement, proof), *(number(i, j) for i in (1, 2) for j in (1, 2))),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The product is taken entry by entry", "ko": "성분끼리 곱한다는 주장"},
            entrywise,
            because="not equal",
        ),
        FalseNeighbour(
            {"en": "Rows are multiplied with rows", "ko": "행과 행을 곱한다는 주장"},
            rows_times_rows,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$\begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}5&7\\6&8\end{pmatrix}"
        r"=\begin{pmatrix}17&23\\39&53\end{pmatrix}$; for instance $3\cdot 5+4\cdot 6=39$.",
        "ko": r"$\begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}5&7\\6&8\end{pmatrix}"
        r"=\begin{pmatrix}17&23\\39&53\end{pmatrix}$입니다. 예를 들어 $3\cdot 5+4\cdot 6=39$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
