"""A higher score never gets a smaller weight."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    exp,
    hyp,
    le,
    softmax,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i, j = s.index("i", n), s.index("j", n)
    s.assume("ordered", le(x[i], x[j]))
    return le(softmax(x)[i], softmax(x)[j])


def proof(p: Proof) -> None:
    n, x, i, j = p["n s i j"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(exp(x[i]) / Z, "unfold")
    p.le(exp(x[j]) / Z, hyp("ordered"))
    p.line(softmax(x)[j], "unfold")


def reversed_order(s: Scope) -> Claim:
    n = s.dimension("n")
    x = s.tensor("s", n)
    i, j = s.index("i", n), s.index("j", n)
    s.assume("ordered", le(x[i], x[j]))
    return le(softmax(x)[j], softmax(x)[i])


def attempt(p: Proof) -> None:
    n, x, i, j = p["n s i j"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(exp(x[j]) / Z, "unfold")
    p.le(exp(x[i]) / Z, hyp("ordered"))


THEOREM = Theorem(
    id="softmax_order",
    chapter="softmax",
    title={"en": "Softmax keeps the order", "ko": "소프트맥스는 순서를 보존한다"},
    prose={
        "en": "If key $i$ scores no more than key $j$, it gets no more weight. Softmax turns "
        "scores into a distribution without changing their ranking.",
        "ko": "키 $i$의 점수가 키 $j$의 점수 이하이면 키 $i$의 가중치도 키 $j$의 가중치 이하입니다. 소프트맥스는 "
        "순위를 바꾸지 않고 점수를 분포로 바꿉니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "The order is reversed", "ko": "순서가 뒤집힌다는 주장"},
            statement=reversed_order,
            attempt=attempt,
            because="hypothesis ordered does not match this step",
        ),
    ),
    numbers={
        "en": r"$(2,1,0)\mapsto(0.665,0.245,0.090)$: $0\le1\le2$ and $0.090\le0.245\le0.665$.",
        "ko": r"$(2,1,0)\mapsto(0.665,0.245,0.090)$: $0\le1\le2$이고 "
        r"$0.090\le0.245\le0.665$입니다.",
    },
    references=("bridle1990", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
