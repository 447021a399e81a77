"""Values and output projection act as one matrix: the output-value circuit."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Theorem, eq, lemma
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.mm_assoc import THEOREM as mm_assoc


def statement(s: Scope) -> Claim:
    T, S, d_model, d_v = s.dimensions("T S d_model d_v")
    A, X = s.tensor("A", T, S), s.tensor("X", S, d_model)
    W_V, W_O = s.tensor("W_V", d_model, d_v), s.tensor("W_O", d_v, d_model)
    i, m = s.index("i", T), s.index("m", d_model)
    return eq(((A @ (X @ W_V)) @ W_O)[i, m], ((A @ X) @ (W_V @ W_O))[i, m])


def proof(p: Proof) -> None:
    A, X, W_V, W_O, i, m = p["A X W_V W_O i m"]
    p.line((A @ ((X @ W_V) @ W_O))[i, m], lemma(mm_assoc))
    p.line((A @ (X @ (W_V @ W_O)))[i, m], lemma(mm_assoc))
    p.line(((A @ X) @ (W_V @ W_O))[i, m], lemma(mm_assoc, back=True))


def swapped(s: Scope) -> Claim:
    T, d_model = s.dimensions("T d_model")
    A, X = s.tensor("A", T, T), s.tensor("X", T, d_model)
    W_V, W_O = s.tensor("W_V", d_model, d_model), s.tensor("W_O", d_model, d_model)
    i, m = s.index("i", T), s.index("m", d_model)
    return eq(((A @ (X @ W_V)) @ W_O)[i, m], ((A @ X) @ (W_O @ W_V))[i, m])


THEOREM = Theorem(
    id="ov_circuit",
    chapter="values",
    title={"en": "The output-value circuit", "ko": "출력-밸류 회로"},
    prose={
        "en": "What a head writes is $A\\,X\\,(W_VW_O)$: the weights decide from where, and the one "
        "matrix $W_VW_O$ decides what. Only this product matters, not $W_V$ and $W_O$ apart.",
        "ko": "헤드가 기록하는 값은 $A\\,X\\,(W_VW_O)$입니다. 어디에서 가져올지는 가중치가, 무엇을 "
        "가져올지는 하나의 행렬 $W_VW_O$가 정합니다. $W_V$와 $W_O$는 따로따로가 아니라 곱으로만 "
        "작용합니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The circuit is $W_OW_V$", "ko": "회로가 $W_OW_V$라는 주장"},
            swapped,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$d_v=1$, $W_V=(1,0)^\top$, $W_O=(0,2)$: $W_VW_O=\begin{pmatrix}0&2\\0&0\end{pmatrix}$ "
        r"copies twice the first feature into the second; $W_OW_V$ is the number $0$.",
        "ko": r"$d_v=1$, $W_V=(1,0)^\top$, $W_O=(0,2)$이면 "
        r"$W_VW_O=\begin{pmatrix}0&2\\0&0\end{pmatrix}$는 첫째 특징의 두 배를 둘째 특징에 옮깁니다. "
        r"$W_OW_V$는 수 $0$입니다.",
    },
    references=("elhage2021",),
)


if __name__ == "__main__":
    THEOREM.main()
