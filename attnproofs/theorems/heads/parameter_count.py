"""The projections of a layer have 4 d_model squared parameters, whatever the number of heads."""

from random import Random
from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    ixeq,
    lemma,
    rational_expr,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def declare(s: Scope) -> None:
    H, d_k, d_v, d_model = s.dimensions("H d_k d_v d_model")
    s.assume("keys", (H * d_k).is_(d_model))
    s.assume("values", (H * d_v).is_(d_model))


def count(s: Scope | Proof) -> Expr:
    """Return the number of entries of all W_Q, W_K, W_V and W_O."""
    H, d_k, d_v, d_model = s["H d_k d_v d_model"]

    def entries(rows: Ix, columns: Ix) -> Expr:
        return Sum(rows, lambda i: Sum(columns, lambda j: 1))

    return Sum(
        H,
        lambda h: (
            entries(d_model, d_k)
            + entries(d_model, d_k)
            + entries(d_model, d_v)
            + entries(d_v, d_model)
        ),
    )


def statement(s: Scope) -> Claim:
    declare(s)
    return eq(count(s), 4 * (s["d_model"] * s["d_model"]))


def proof(p: Proof) -> None:
    H, d_k, d_v, d_model = p["H d_k d_v d_model"]
    two = rational_expr(2)
    p.line(
        H * (d_model * d_k + d_model * d_k + d_model * d_v + d_v * d_model),
        lemma(sum_const),
        lemma(sum_const),
        lemma(sum_const),
    )
    p.line(
        two * d_model * (H * d_k) + two * d_model * (H * d_v),
        "ring",
    )
    p.line(two * d_model * d_model + two * d_model * d_model, ixeq)
    p.line(4 * (d_model * d_model), "ring")


def grows(s: Scope) -> Claim:
    declare(s)
    return eq(count(s), 4 * s["H"] * (s["d_model"] * s["d_model"]))


def attempt(p: Proof) -> None:
    H, d_model = p["H d_model"]
    p.line(4 * (d_model * d_model), lemma(THEOREM))
    p.line(4 * H * (d_model * d_model), "ring")


def split_evenly(rng: Random) -> dict[str, Any]:
    H, d = rng.randint(2, 3), rng.randint(1, 2)
    return {"H": H, "d_k": d, "d_v": d, "d_model": H * d}


THEOREM = Theorem(
    id="parameter_count",
    chapter="heads",
    title={"en": "Parameters of a layer", "ko": "한 층의 매개변수 수"},
    prose={
        "en": "When the heads share $d_{\\mathrm{model}}$ evenly, "
        "$Hd_k=Hd_v=d_{\\mathrm{model}}$, the four projections together have "
        "$4d_{\\mathrm{model}}^2$ entries. More heads mean narrower ones, not more parameters.",
        "ko": "헤드들이 $d_{\\mathrm{model}}$을 고르게 나누어 "
        "$Hd_k=Hd_v=d_{\\mathrm{model}}$이면 네 사영의 성분은 모두 "
        "$4d_{\\mathrm{model}}^2$개입니다. 헤드가 많아지면 저마다 좁아질 뿐, 매개변수가 늘지는 "
        "않습니다.",
    },
    parts=(Part(statement, proof, instance=split_evenly),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The count grows with $H$",
                "ko": "매개변수 수가 $H$에 비례하여 늘어난다는 주장",
            },
            statement=grows,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=split_evenly,
        ),
    ),
    numbers={
        "en": r"$d_{\mathrm{model}}=512$: $4\cdot512^2=1\,048\,576$, with 8 heads or with 16.",
        "ko": r"$d_{\mathrm{model}}=512$이면 헤드가 8개이든 16개이든 "
        r"$4\cdot512^2=1\,048\,576$개입니다.",
    },
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
