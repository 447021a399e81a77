"""The value map of a head has rank at most d_v."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, factors, span
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    d_model, d_v = s.dimensions("d_model d_v")
    W_V, W_O = s.tensor("W_V", d_model, d_v), s.tensor("W_O", d_v, d_model)
    i, j = s.index("i", d_model), s.index("j", d_model)
    return factors((W_V @ W_O)[i, j], i, j, through=d_v)


def proof(p: Proof) -> None:
    d_v, W_V, W_O, i, j = p["d_v W_V W_O i j"]
    p.line(Sum(d_v, lambda c: W_V[i, c] * W_O[c, j]), "unfold")


def one_less(s: Scope) -> Claim:
    d_model, d_v = s.dimensions("d_model d_v")
    W_V, W_O = s.tensor("W_V", d_model, d_v), s.tensor("W_O", d_v, d_model)
    i, j = s.index("i", d_model), s.index("j", d_model)
    return factors((W_V @ W_O)[i, j], i, j, through=span(1, d_v - 1))


THEOREM = Theorem(
    id="rank_vo",
    chapter="values",
    title={"en": "Rank of the value map", "ko": "밸류 사상의 계수"},
    prose={
        "en": "$W_VW_O$ is a $d_{\\mathrm{model}}\\times d_{\\mathrm{model}}$ matrix that factors "
        "through $d_v$ dimensions, so its rank is at most $d_v$: splitting the full value map into "
        "$W_V$ and $W_O$ is a low-rank constraint, not just a way to save parameters.",
        "ko": "$W_VW_O$는 $d_{\\mathrm{model}}\\times d_{\\mathrm{model}}$ 행렬이지만 $d_v$차원을 거쳐 "
        "분해되므로 계수(rank)가 $d_v$ 이하입니다. 밸류 사상을 $W_V$와 $W_O$로 나누는 것은 매개변수를 "
        "아끼는 방법일 뿐 아니라 계수를 제한하는 조건이기도 합니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The rank is at most $d_v-1$", "ko": "계수가 $d_v-1$ 이하라는 주장"},
            one_less,
            proof,
            because="the inner size is not the one that is claimed",
        ),
    ),
    numbers={
        "en": r"In the example of GPT-3, $d_{\mathrm{model}}=12288$ and $d_v=128$: a value map of rank "
        r"at most $128$ with $2\cdot12288\cdot128=3\,145\,728$ parameters instead of "
        r"$12288^2=150\,994\,944$.",
        "ko": r"GPT-3의 예에서 $d_{\mathrm{model}}=12288$, $d_v=128$입니다. 밸류 사상의 계수는 $128$ "
        r"이하이고, 매개변수는 $12288^2=150\,994\,944$개 대신 $2\cdot12288\cdot128=3\,145\,728$개입니다.",
    },
    references=("sanderson2024", "elhage2021"),
)


if __name__ == "__main__":
    THEOREM.main()
