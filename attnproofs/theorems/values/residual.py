"""What attention adds to the residual stream is O W_O."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    eq,
    hyp,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T, d_model, d_v = s.dimensions("T d_model d_v")
    X, Y = s.tensor("X", T, d_model), s.tensor("X'", T, d_model)
    O, W_O = s.tensor("O", T, d_v), s.tensor("W_O", d_v, d_model)
    i, m = s.index("i", T), s.index("m", d_model)
    s.assume(
        "update", lambda t, f: eq(Y[t, f], X[t, f] + (O @ W_O)[t, f]), over={"t": T, "f": d_model}
    )
    return eq(Y[i, m] - X[i, m], (O @ W_O)[i, m])


def proof(p: Proof) -> None:
    X, O, W_O, i, m = p["X O W_O i m"]
    p.line(X[i, m] + (O @ W_O)[i, m] - X[i, m], hyp("update"))
    p.line((O @ W_O)[i, m], "ring")


def unprojected(s: Scope) -> Claim:
    T, d_model, d_v = s.dimensions("T d_model d_v")
    X, Y = s.tensor("X", T, d_model), s.tensor("X'", T, d_model)
    O, W_O = s.tensor("O", T, d_v), s.tensor("W_O", d_v, d_model)
    i, m = s.index("i", T), s.index("m", d_model)
    s.assume(
        "update", lambda t, f: eq(Y[t, f], X[t, f] + (O @ W_O)[t, f]), over={"t": T, "f": d_model}
    )
    return eq(Y[i, m] - X[i, m], O[i, m])


THEOREM = Theorem(
    id="residual",
    chapter="values",
    title={"en": "The residual update", "ko": "잔차 갱신"},
    prose={
        "en": "The layer returns $X'=X+OW_O$, so that its change is exactly the projected output, of "
        "the shape $T\\times d_{\\mathrm{model}}$ of the stream. The output $O$ itself has another "
        "shape and cannot be added.",
        "ko": "층의 출력은 $X'=X+OW_O$이므로 변화량은 정확히 사영된 출력이며, 모양은 잔차 연결과 같은 "
        "$T\\times d_{\\mathrm{model}}$입니다. 출력 $O$ 자체는 모양이 달라서 더할 수 없습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The update is $O$ without the projection",
                "ko": "사영하지 않은 $O$가 갱신이라는 주장",
            },
            unprojected,
            because="out of range",
        ),
    ),
    numbers={
        "en": r"$x=(1,1)$, $o=3$, $W_O=(0,2)$: $x'=(1,7)$ and $x'-x=(0,6)=3\cdot(0,2)$.",
        "ko": r"$x=(1,1)$, $o=3$, $W_O=(0,2)$이면 $x'=(1,7)$이고 $x'-x=(0,6)=3\cdot(0,2)$입니다.",
    },
    references=("vaswani2017", "elhage2021"),
)


if __name__ == "__main__":
    THEOREM.main()
