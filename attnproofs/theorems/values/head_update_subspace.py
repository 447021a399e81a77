"""What a head writes lies in the row space of its output projection."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, factors
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T, d_model, d_v = s.dimensions("T d_model d_v")
    O, W_O = s.tensor("O", T, d_v), s.tensor("W_O", d_v, d_model)
    i, m = s.index("i", T), s.index("m", d_model)
    return factors((O @ W_O)[i, m], i, m, through=d_v, right=W_O)


def proof(p: Proof) -> None:
    d_v, O, W_O, i, m = p["d_v O W_O i m"]
    p.line(Sum(d_v, lambda c: O[i, c] * W_O[c, m]), "unfold")


def other_rows(s: Scope) -> Claim:
    T, d_model, d_v = s.dimensions("T d_model d_v")
    O, W_O = s.tensor("O", T, d_v), s.tensor("W_O", d_v, d_model)
    W_V = s.tensor("W_V", d_model, d_v)
    i, m = s.index("i", T), s.index("m", d_model)
    return factors((O @ W_O)[i, m], i, m, through=d_v, right=W_V.T)


THEOREM = Theorem(
    id="head_update_subspace",
    chapter="values",
    title={"en": "A head writes into a subspace", "ko": "헤드는 부분공간에 기록한다"},
    prose={
        "en": "Every row of the update $OW_O$ is a combination of the $d_v$ rows of $W_O$, whatever "
        "the input and the weights are. So a head can change the residual stream only within a "
        "subspace of dimension at most $d_v$ that training has fixed.",
        "ko": "입력과 가중치가 무엇이든, 갱신 $OW_O$의 각 행은 $W_O$의 행 $d_v$개의 일차결합입니다. 따라서 "
        "헤드는 학습으로 정해진 $d_v$차원 이하의 부분공간 안에서만 잔차 연결을 바꿀 수 있습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The updates lie in the column space of $W_V$",
                "ko": "갱신이 $W_V$의 열공간에 있다는 주장",
            },
            other_rows,
            proof,
            because="the right factor is not the one that is claimed",
        ),
    ),
    numbers={
        "en": r"$W_O=(1,2,0)$ ($d_v=1$): every update is a multiple of $(1,2,0)$, for instance "
        r"$3\mapsto(3,6,0)$.",
        "ko": r"$W_O=(1,2,0)$($d_v=1$)이면 모든 갱신은 $(1,2,0)$의 배수입니다. 예를 들어 "
        r"$3\mapsto(3,6,0)$입니다.",
    },
    references=("elhage2021", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
