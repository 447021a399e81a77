"""Softmax over the columns of the transposed scores is the transposed row-wise softmax."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    column_softmax,
    eq,
    exp,
    softmax,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T, S_ = s.dimension("T"), s.dimension("S")
    scores = s.tensor("Z", T, S_)
    i, j = s.index("i", T), s.index("j", S_)
    return eq(column_softmax(scores.T)[j, i], softmax(scores[i])[j])


def proof(p: Proof) -> None:
    S_, scores, i, j = p["S Z i j"]
    p.line(exp(scores[i, j]) / Sum(S_, lambda l: exp(scores[i, l])), "unfold")
    p.line(softmax(scores[i])[j], "unfold")


def over_rows(s: Scope) -> Claim:
    T = s.dimension("T")
    scores = s.tensor("Z", T, T)
    i, j = s.index("i", T), s.index("j", T)
    return eq(softmax(scores.T[j])[i], softmax(scores[i])[j])


THEOREM = Theorem(
    id="orientation_softmax",
    chapter="notation",
    title={"en": "Rows or columns: softmax", "ko": "행 표기와 열 표기: 소프트맥스"},
    prose={
        "en": "Softmax normalises over the keys. With tokens as rows these lie along a row, with "
        "tokens as columns along a column. So the transposed scores need the column-wise softmax; "
        "a row-wise one would normalise over the queries.",
        "ko": "소프트맥스는 키에 대하여 정규화합니다. 토큰을 행으로 두면 키는 행을 따라 놓이고, 열로 두면 "
        "열을 따라 놓입니다. 그래서 전치한 점수에는 열 방향 소프트맥스를 써야 하며, 행 방향으로 하면 "
        "쿼리에 대하여 정규화하게 됩니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "A row-wise softmax of the transposed scores does the same",
                "ko": "전치한 점수에 행 방향 소프트맥스를 해도 같다는 주장",
            },
            over_rows,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"Scores $\begin{pmatrix}0&\ln 3\\0&0\end{pmatrix}$: the first row gives the weights "
        r"$\tfrac14,\tfrac34$; normalising over the queries instead gives $\tfrac12,\tfrac34$, "
        r"which do not sum to one.",
        "ko": r"점수가 $\begin{pmatrix}0&\ln 3\\0&0\end{pmatrix}$이면 첫 행의 가중치는 "
        r"$\tfrac14,\tfrac34$입니다. 쿼리에 대하여 정규화하면 $\tfrac12,\tfrac34$이 되어 합이 1이 "
        r"아닙니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
